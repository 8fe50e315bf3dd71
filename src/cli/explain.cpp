#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/options.h"
#include "cli/output.h"
#include "cli/redis_call.h"
#include "config/config.h"
#include "config/config_file.h"
#include "keyspace/identity.h"
#include "keyspace/keyspace.h"
#include "keyspace/misfit.h"
#include "text/printable.h"
#include "text/try.h"

namespace cuckooguard::cli {
namespace {

using keyspace::Lookup;
using text::printable;

class Lines {
 public:
  void add(std::string_view name, std::string_view value) {
    text_ += fmt::format("{}: {}\n", name, value);
  }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

void add_namespace(Lines& lines, const config::Namespace& space) {
  lines.add("mode", config::name_of(space.mode));
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
  lines.add("namespace", "none: reads of this key are forwarded to Redis");
  const keyspace::Misfit misfit = keyspace::misfit_of(keyspace, key);
  if (!misfit.nearest.empty()) {
    lines.add("nearest", misfit.nearest);
  }
  lines.add("why", misfit.why);
}

// The other namespaces of which rows can have the key.
std::string sharers_of(const keyspace::Keyspace& keyspace,
                       const Lookup& found,
                       std::string_view key) {
  std::string names;
  std::uint32_t last = found.ns;
  for (const std::uint32_t maker : keyspace.makers_of(found)) {
    const std::uint32_t ns = keyspace.namespace_of(maker);
    if (ns != found.ns && ns != last && keyspace.template_at(maker).may_have_made(key)) {
      names += (names.empty() ? "" : ", ") + keyspace.name(ns);
      last = ns;
    }
  }
  return names;
}

}  // namespace

Parser Explain::add(Parser app) {
  Parser command = app.add_subcommand("explain",
                                      "Show how the guard interprets a Redis key: its namespace "
                                      "and identity, or why no namespace matches");
  // Not `key`, which is too like `--key` for CLI11 2.4.
  command.add_option("redis-key", key, "KEY", "The Redis key").required();
  const Option config = command.add_option(
      "--config", config_path, "FILE", "Explain the key by the templates in this configuration");
  const Option guard = command.add_option(
      "--address",
      into(address, config::parse_address),
      "ADDRESS",
      "Ask the guard running at this address what it would answer now, and why (GUARD.EXPLAIN)");
  guard.excludes(config);
  for (const Option option :
       login.add(command, "Log in as this Redis user, which must be allowed to GET the key")) {
    option.needs(guard);
  }
  tls.add(command).needs(guard);
  command.require("--config or --address", [this] { return !config_path.empty() || address; });
  return command;
}

int Explain::run(const app::Guests& guests) const {
  if (address) {
    return print(explain_key(
        AskedGuard{.address = *address, .login = login.with_environment(), .tls = tls.chosen()},
        key));
  }
  const auto config =
      config::load_config(config_path, config::process_environment(), {}, guests.built);
  return config ? print(explain_key(*config, key)) : report(config.error());
}

std::string explain_key(const config::Config& config, std::string_view key) {
  const keyspace::Keyspace keyspace = config::keyspace_of(config);
  Lines lines;
  lines.add("key", printable(key));
  keyspace::IdentityBuffer scratch;
  const Lookup found = keyspace.match(key, scratch);
  if (found.kind == Lookup::Kind::unguarded) {
    add_unguarded(lines, keyspace, key);
    return lines.take();
  }
  lines.add("namespace", keyspace.name(found.ns));
  lines.add("template", keyspace.template_at(found.template_index).text());
  const std::string sharers = sharers_of(keyspace, found, key);
  if (!sharers.empty()) {
    lines.add("shared", "rows of " + sharers + " can have this key as well");
  }
  if (found.kind == Lookup::Kind::impossible) {
    lines.add("identity", "none: no row can have this value (canonical_keys: true)");
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
  auto connection = TRY(RedisCall::open(guard.address, guard.timeout, guard.tls, guard.login));
  const auto reply = TRY(connection.ask({"GUARD.EXPLAIN", key}));
  if (reply.kind != resp::Value::Kind::list || reply.list.size() % 2 != 0) {
    return std::unexpected(guard.address.text() +
                           ": the reply is not a GUARD.EXPLAIN reply; is this a guard?");
  }
  Lines lines;
  lines.add("key", printable(key));
  for (std::size_t i = 0; i < reply.list.size(); i += 2) {
    const resp::Value& value = reply.list[i + 1];
    lines.add(reply.list[i].text, value.kind == resp::Value::Kind::text ? value.text : "none");
  }
  return lines.take();
}

}  // namespace cuckooguard::cli
