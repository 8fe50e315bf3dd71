#include <array>
#include <chrono>
#include <utility>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "cli/output.h"
#include "filter/filter_file.h"
#include "filter/isolated_rows.h"
#include "filter/key_hash.h"
#include "filter_tool/commands.h"
#include "keyspace/keyspace.h"
#include "text/printable.h"
#include "text/try.h"

namespace cuckooguard::cli {
namespace {

std::string_view name_of(filter::DeleteMode mode) {
  static constexpr std::array<std::string_view, 3> kNames{"trusted", "deferred", "exact"};
  return kNames.at(static_cast<std::size_t>(mode));
}

std::expected<keyspace::Keyspace, std::string> keyspace_of(const std::string& key_template) {
  auto parsed = keyspace::KeyTemplate::parse(key_template);
  if (!parsed) {
    return std::unexpected(fmt::format(
        "--template {}: at byte {}: {}", key_template, parsed.error().offset, parsed.error().what));
  }
  auto built = keyspace::Keyspace::build({{.name = "query", .templates = {std::move(*parsed)}}});
  if (!built) {
    return std::unexpected(
        fmt::format("--template {}: {}", key_template, built.error().front().what));
  }
  return std::move(*built);
}

}  // namespace

void add_filter_commands(Parser app, Commands& commands) {
  Parser filter = app.add_subcommand(
      "filter",
      "Inspect and query filter files; create, fill, import and export filters of other libraries",
      true);
  commands.add(filter, InspectFilter{});
  commands.add(filter, QueryFilter{});
  commands.add(filter, CreateFilter{});
  commands.add(filter, AddToFilter{});
  commands.add(filter, ImportFilter{});
  commands.add(filter, ExportFilter{});
}

Parser InspectFilter::add(Parser filter) {
  Parser command = filter.add_subcommand("inspect", "Verify a filter file and print its metadata");
  command.add_option("file", path, "FILE", "The filter file").required();
  foreign.add(command);
  return command;
}

int InspectFilter::run() const {
  return print(inspect_filter(*this));
}

Parser QueryFilter::add(Parser filter) {
  Parser command = filter.add_subcommand(
      "query",
      "Look up Redis keys in a filter file: prints one line per key, `absent` or `may exist`");
  command.add_option("file", path, "FILE", "The filter file").required();
  const Option secret =
      command.add_option("--secret",
                         secret_path,
                         "FILE",
                         "File with the secret that the filter's keys were hashed with");
  const Option of_namespace =
      command.add_option("--template",
                         key_template,
                         "TEMPLATE",
                         "Key template of the namespace, such as user:{id:uint64}");
  secret.needs(of_namespace);
  of_namespace.needs(secret);
  foreign.add(command);
  command.add_option("keys", keys, "KEY", "Redis keys; with --format, items of the filter")
      .required();
  return command;
}

int QueryFilter::run() const {
  return print(query_filter(*this));
}

std::expected<std::string, std::string> inspect_filter(const InspectFilter& options) {
  if (options.foreign.is_given()) {
    return inspect_foreign(options.foreign, options.path);
  }
  const auto facts = filter::inspect_filter_file(options.path);
  if (!facts) {
    return std::unexpected(facts.error().what);
  }
  const filter::LayoutShape shape = filter::shape_of(facts->sizing.layout);
  const double load =
      static_cast<double>(facts->fingerprints) / static_cast<double>(facts->sizing.slots());
  const std::chrono::sys_seconds created{
      std::chrono::seconds(static_cast<std::int64_t>(facts->label.created))};
  std::string text;
  const auto line = [&text]<typename Value>(std::string_view name, const Value& value) {
    text += fmt::format("{}: {}\n", name, value);
  };
  line("file", options.path);
  line("bytes", facts->file_bytes);
  line("version", facts->version);
  line("created", fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", created));
  line("layout", fmt::format("{} ({} x {} bits)", shape.name, shape.slots, shape.bits));
  line("deletes", name_of(facts->sizing.deletes));
  line("buckets", facts->sizing.buckets);
  line("items", facts->items);
  line("capacity", facts->sizing.capacity());
  line("load", fmt::format("{:.4f}", load));
  line("stashed", facts->stashed);
  line("stale", facts->stale);
  line("full", facts->full ? "yes: it answers `may exist` to everything" : "no");
  line("secret_id", fmt::format("{:016x}", facts->secret_id));
  line("definition", fmt::format("{:016x}", facts->label.definition_hash));
  line("position", text::printable(facts->label.source_position, filter::kSourcePositionMax));
  line("checksums", "verified");
  return text;
}

std::expected<std::string, std::string> query_filter(const QueryFilter& options) {
  if (options.foreign.is_given()) {
    return query_foreign(options.foreign, options.path, options.keys);
  }
  if (options.secret_path.empty() || options.key_template.empty()) {
    return std::unexpected(
        "specify --secret and --template, or --format for a filter of another library");
  }
  const auto keys = TRY(keyspace_of(options.key_template));
  const auto secret = TRY(filter::read_secret(options.secret_path));
  const auto file = filter::read_filter_file(options.path, secret);
  if (!file) {
    return std::unexpected(file.error().what);
  }
  const auto isolated = filter::IsolatedRows::parse(file->label.attachment);
  if (!isolated) {
    return std::unexpected(options.path + ": cannot read its isolated rows");
  }
  std::string text;
  keyspace::IdentityBuffer scratch;
  for (const std::string& key : options.keys) {
    const keyspace::Lookup found = keys.match(key, scratch);
    std::string_view verdict = "unguarded";
    if (found.kind == keyspace::Lookup::Kind::guarded) {
      const filter::Filter& filter = *file->filter;
      const bool may_exist = filter.may_contain(filter.hash(found.identity)) ||
                             isolated->may_be(found.identity, filter);
      verdict = may_exist ? "may exist" : "absent";
    }
    text += fmt::format("{:<9} {}\n", verdict, key);
  }
  return text;
}

}  // namespace cuckooguard::cli
