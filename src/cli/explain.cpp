#include "cli/explain.h"

#include <algorithm>
#include <optional>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <hiredis/hiredis.h>

#include "cli/keyspace_of.h"
#include "cli/redis_call.h"
#include "guard/mode_names.h"
#include "keyspace/identity.h"
#include "keyspace/keyspace.h"
#include "keyspace/printable.h"

namespace cuckooguard::cli {
namespace {

using keyspace::KeyTemplate;
using keyspace::Lookup;
using keyspace::Placeholder;
using keyspace::printable;
using keyspace::TemplateFit;

class Lines {
 public:
  void add(std::string_view name, std::string_view value) {
    text_ += fmt::format("{}: {}\n", name, value);
  }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

// How far a key goes along with a template, and what the template has there instead.
struct Ceasing {
  std::size_t byte = 0;
  std::string what;
};

std::size_t common_bytes(std::string_view a, std::string_view b) {
  return static_cast<std::size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
}

// Of a key whose shape is not the template's.
Ceasing where_it_ceases(const KeyTemplate& key_template, std::string_view key) {
  const std::string_view prefix = key_template.literal_prefix();
  if (!key.starts_with(prefix)) {
    const std::size_t same = common_bytes(key, prefix);
    return {same, fmt::format("the template has {}", printable(prefix.substr(same)))};
  }
  std::size_t at = prefix.size();
  for (const Placeholder& placeholder : key_template.placeholders()) {
    const std::string_view literal = placeholder.literal_after;
    const bool is_last = &placeholder == &key_template.placeholders().back();
    const std::size_t colon = placeholder.rest ? std::string_view::npos : key.find(':', at);
    const std::size_t end = is_last && literal.empty() ? key.size()
                            : at < key.size()          ? key.find(literal, at + 1)
                                                       : std::string_view::npos;
    if (at >= key.size() || colon == at) {
      return {at, fmt::format("the value of {{{}}} is empty", placeholder.name)};
    }
    if (end == std::string_view::npos || colon < end) {
      const std::size_t stop = std::min(colon, key.size());
      return {stop,
              literal.empty()
                  ? fmt::format("the value of {{{}}} would hold a ':'; {{{}:rest}} may",
                                placeholder.name,
                                placeholder.name)
                  : fmt::format(
                        "the template has {} behind {{{}}}", printable(literal), placeholder.name)};
    }
    at = end + literal.size();
  }
  return {at, "the template ends"};
}

std::string why_uncertain(TemplateFit fit) {
  return fit == TemplateFit::not_an_integer ? "it fits, but a value is no canonical integer, which "
                                              "SQL could take for another one; with strict: "
                                              "true it would be absent"
                                            : "it fits, but where its values end, or what they "
                                              "equal, is not sure: only the database can tell";
}

struct Nearest {
  std::string_view ns;
  const KeyTemplate* key_template = nullptr;
  std::size_t byte = 0;
  std::string what;
};

// The template that the key goes along with the furthest.
Nearest nearest_template(const keyspace::Keyspace& keyspace, std::string_view key) {
  Nearest nearest;
  for (std::uint32_t ns = 0; ns < keyspace.size(); ++ns) {
    for (const KeyTemplate& key_template : keyspace.templates(ns)) {
      keyspace::TemplateValues values;
      const TemplateFit fit = key_template.fit(key, values);
      Ceasing ceasing = fit == TemplateFit::none ? where_it_ceases(key_template, key)
                                                 : Ceasing{key.size(), why_uncertain(fit)};
      if (nearest.key_template == nullptr || ceasing.byte > nearest.byte) {
        nearest = {keyspace.name(ns), &key_template, ceasing.byte, std::move(ceasing.what)};
      }
    }
  }
  return nearest;
}

const KeyTemplate* matching_template(const keyspace::Keyspace& keyspace,
                                     std::uint32_t ns,
                                     std::string_view key) {
  const KeyTemplate* best = nullptr;
  for (const KeyTemplate& key_template : keyspace.templates(ns)) {
    keyspace::TemplateValues values;
    const bool fits = key_template.fit(key, values) != TemplateFit::none;
    if (fits &&
        (best == nullptr || key_template.literal_prefix().size() > best->literal_prefix().size())) {
      best = &key_template;
    }
  }
  return best;
}

void add_namespace(Lines& lines, const config::Namespace& space) {
  lines.add("mode", guard::mode_name(space.mode));
  lines.add("db", fmt::to_string(space.db));
  lines.add(
      "source",
      space.source.tables.empty()
          ? space.source.from
          : fmt::format("{}, table {}", space.source.from, fmt::join(space.source.tables, ", ")));
  if (!space.source.where.columns().empty()) {
    lines.add("where", space.source.where.text());
  }
}

void add_unguarded(Lines& lines, const keyspace::Keyspace& keyspace, std::string_view key) {
  lines.add("namespace", "none: it is forwarded to Redis, and Redis's reply comes back");
  if (key.size() > keyspace::kKeyBytesMax) {
    lines.add("why", fmt::format("it is longer than {} bytes", keyspace::kKeyBytesMax));
    return;
  }
  const Nearest nearest = nearest_template(keyspace, key);
  if (nearest.key_template == nullptr) {
    lines.add("why", "the configuration has no namespaces");
    return;
  }
  lines.add("nearest", fmt::format("{} of namespace {}", nearest.key_template->text(), nearest.ns));
  lines.add("why",
            nearest.byte >= key.size() ? nearest.what
                                       : fmt::format("at byte {}, before {}, {}",
                                                     nearest.byte,
                                                     printable(key.substr(nearest.byte)),
                                                     nearest.what));
}

}  // namespace

std::string explain_key(const config::Config& config, std::string_view key) {
  const keyspace::Keyspace keyspace = keyspace_of(config);
  Lines lines;
  lines.add("key", printable(key));
  keyspace::IdentityBuffer scratch;
  const Lookup found = keyspace.match(key, scratch);
  if (found.kind == Lookup::Kind::unguarded) {
    add_unguarded(lines, keyspace, key);
    return lines.take();
  }
  lines.add("namespace", keyspace.name(found.ns));
  if (const KeyTemplate* const matching = matching_template(keyspace, found.ns, key)) {
    lines.add("template", matching->text());
  }
  if (found.kind == Lookup::Kind::impossible) {
    lines.add("identity", "none: no row can have such a value (strict: true)");
  } else {
    const auto columns = keyspace.identity_columns(found.ns);
    const auto values = keyspace::values_of_identity(found.identity, columns.size());
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const auto& column = config.namespaces[found.ns].source.columns.at(columns[i]);
      lines.add(column, printable(values[i]));
    }
  }
  add_namespace(lines, config.namespaces[found.ns]);
  return lines.take();
}

std::expected<std::string, std::string> explain_key(const AskedGuard& guard, std::string_view key) {
  auto connection = RedisCall::open(guard.address, guard.timeout, guard.tls);
  if (!connection) {
    return std::unexpected(connection.error());
  }
  const auto failed = [&](const redisReply& reply) {
    return std::unexpected(fmt::format(
        "{}: {}",
        guard.address.text(),
        reply.type == REDIS_REPLY_ERROR ? std::string_view(reply.str, reply.len)
                                        : std::string_view("this is not GUARD.EXPLAIN's reply")));
  };
  if (!guard.password.empty()) {
    const auto login = connection->call({"AUTH", guard.password});
    if (!login) {
      return std::unexpected(login.error());
    }
    if ((*login)->type == REDIS_REPLY_ERROR) {
      return failed(**login);
    }
  }
  const auto called = connection->call({"GUARD.EXPLAIN", key});
  if (!called) {
    return std::unexpected(called.error());
  }
  const redisReply& reply = **called;
  if (reply.type != REDIS_REPLY_ARRAY || reply.elements % 2 != 0) {
    return failed(reply);
  }
  Lines lines;
  lines.add("key", printable(key));
  for (std::size_t i = 0; i < reply.elements; i += 2) {
    const redisReply& name = *reply.element[i];
    const redisReply& value = *reply.element[i + 1];
    lines.add(name.str == nullptr ? "" : std::string_view(name.str, name.len),
              value.str == nullptr ? "none" : std::string_view(value.str, value.len));
  }
  return lines.take();
}

}  // namespace cuckooguard::cli
