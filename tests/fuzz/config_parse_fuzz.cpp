// A configuration of arbitrary bytes is either read, and then what it says holds together, or
// refused with places; never a crash or a hang. No error shows what a variable holds.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "config/config_file.h"
#include "formats/formats.h"

namespace {

using namespace cuckooguard;

void require(bool holds) {
  if (!holds) {
    std::abort();
  }
}

constexpr std::string_view kSecret = "hunter2-hunter2";

void check_config(const config::Config& config) {
  require(keyspace::Keyspace::build(config::namespace_templates(config)).has_value());
  for (const config::Namespace& space : config.namespaces) {
    require(!space.keys.empty() && !space.source.from.empty());
    require(space.mode != config::Mode::enforce || space.absent_reply.has_value());
    for (const keyspace::Placeholder& placeholder : space.keys[0].placeholders()) {
      require(placeholder.wildcard || space.source.columns.contains(placeholder.name));
    }
  }
  for (const config::Source& source : config.sources) {
    const auto* const sqlite = std::get_if<config::SqliteSource>(&source.kind);
    require(sqlite == nullptr ||
            (sqlite->poll_every.count() > 0 && sqlite->poll_every <= source.max_lag / 2));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(bytes), size);
  const auto parsed = config::parse_config(
      text,
      "f",
      [](std::string_view name) -> std::optional<std::string> {
        return name.starts_with('S') ? std::optional(std::string(kSecret)) : std::nullopt;
      },
      {.formats = foreign::all_formats()});
  if (parsed) {
    check_config(*parsed);
    return 0;
  }
  require(!parsed.error().empty());
  const bool has_secret_itself = text.find(kSecret) != std::string_view::npos;
  for (const config::Diagnostic& diagnostic : parsed.error()) {
    require(diagnostic.line >= 0 && diagnostic.column >= 0 && !diagnostic.what.empty());
    require(has_secret_itself || diagnostic.text().find(kSecret) == std::string::npos);
  }
  return 0;
}
