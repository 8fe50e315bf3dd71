#include "follower/kind.h"

#include <utility>
#include <variant>

#include "follower/builder_client.h"
#include "follower/follower.h"
#include "text/try.h"

namespace cuckooguard::fleet {
namespace {

using source::Refusal;

const config::FleetSource& own(const config::Source& settings) {
  return std::get<config::FleetSource>(settings.kind);
}

std::vector<Refusal> check(const config::Source& settings,
                           std::span<const source::Target> /*targets*/,
                           const source::Clock& /*clock*/) {
  if (auto keys = VerifyingKeys::load(own(settings).fleet.public_key_files); !keys) {
    return {{.what = "fleet.public_key_files: " + keys.error()}};
  }
  const std::string& token = own(settings).builder_token_file;
  if (const auto word = http::BearerToken(token).read(); !token.empty() && !word) {
    return {{.what = "builder_token_file " + token + ": " + word.error()}};
  }
  return {};
}

std::shared_ptr<const BuilderClient> client_of(const config::FleetSource& settings) {
  return settings.builder.empty()
             ? nullptr
             : std::make_shared<const BuilderClient>(settings.builder, settings.builder_token_file);
}

std::expected<source::SourceParts, std::vector<Refusal>> make(
    const source::SourceSettings& making) {
  const config::FleetSource& settings = own(making.settings);
  auto keys = VerifyingKeys::load(settings.fleet.public_key_files);
  if (!keys) {
    return std::unexpected(std::vector{Refusal{.what = "fleet.public_key_files: " + keys.error()}});
  }
  const auto builder = client_of(settings);
  return source::SourceParts{
      .follower =
          std::make_unique<Follower>(Follower::Settings{.source = making.settings.name,
                                                        .fleet = settings.name,
                                                        .prefix = settings.fleet.prefix,
                                                        .keys = *std::move(keys),
                                                        .redis = making.redis,
                                                        .observer = making.observer,
                                                        .asking = making.asking(Asker::kPace),
                                                        .kinds = making.kinds,
                                                        .storage = making.storage.directory,
                                                        .builder = builder},
                                     making.feeds(),
                                     making.clock),
      .rows = builder == nullptr ? nullptr
                                 : std::make_unique<BuilderRows>(builder, making.copied_targets())};
}

constexpr const char* kIsBuilders =
    "a fleet source has no tables of its own: check them on the builder";

std::expected<std::vector<source::TableSize>, std::string> count_rows(
    const config::Source& /*source*/, const source::Target& /*target*/) {
  return std::unexpected(kIsBuilders);
}

std::expected<std::vector<source::KeyedTable>, std::string> list_tables(
    const config::Source& /*source*/) {
  return std::unexpected(kIsBuilders);
}

}  // namespace

constexpr source::SourceKind kFollowerKind{.name = "fleet",
                                           .is = source::is_of<config::FleetSource>,
                                           .is_server = true,
                                           .check = check,
                                           .make = make,
                                           .count_rows = count_rows,
                                           .list_tables = list_tables};

}  // namespace cuckooguard::fleet
