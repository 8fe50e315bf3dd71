#include "bloom/kind.h"

#include <chrono>
#include <utility>
#include <variant>

#include "bloom/file_origin.h"
#include "bloom/follower.h"
#include "bloom/key_origin.h"
#include "source/input_file.h"

namespace cuckooguard::source {
namespace {

// A look is one CLIENT INFO, some 20 us of Redis's one thread.
constexpr std::chrono::milliseconds kAskRedisPace{10};

const config::BloomSource& own(const config::Source& settings) {
  return std::get<config::BloomSource>(settings.kind);
}

// Of a file whether it is there. Which filter Redis has is nothing that a start depends on: its
// state says what is wrong with it.
std::vector<Refusal> check(const config::Source& settings,
                           std::span<const Target> /*targets*/,
                           const Clock& /*clock*/) {
  const config::BloomSource& bloom = own(settings);
  if (bloom.path.empty()) {
    return {};
  }
  const auto file = InputFile::open(bloom.path);
  return file ? std::vector<Refusal>{} : std::vector<Refusal>{{.what = file.error()}};
}

std::expected<SourceParts, std::vector<Refusal>> make(const SourceSettings& making) {
  const config::BloomSource& bloom = own(making.settings);
  std::unique_ptr<BloomOrigin> origin;
  if (bloom.path.empty()) {
    origin = std::make_unique<BloomKeyOrigin>(bloom, making.redis);
  } else {
    origin = std::make_unique<BloomFileOrigin>(bloom, making.clock);
  }
  return SourceParts{.follower = std::make_unique<BloomFollower>(
                         std::move(origin),
                         making.feeds(),
                         making.clock,
                         BloomTiming{.max_lag = making.settings.max_lag, .reload = bloom.reload},
                         making.asking(bloom.path.empty() ? kAskRedisPace : kLookPace))};
}

// What is known of it without Redis: of a filter that tells its size only there, nothing.
std::expected<std::vector<TableSize>, std::string> count_rows(const config::Source& settings,
                                                              const Target& /*target*/) {
  const config::BloomSource& bloom = own(settings);
  if (!bloom.path.empty()) {
    const auto stamp = stamp_of_path(bloom.path);
    if (!stamp) {
      return std::unexpected(stamp.error());
    }
    return std::vector{TableSize{.table = "", .bytes = stamp->bytes}};
  }
  // A filter of RedisBloom's says itself how large it is.
  return std::vector{
      TableSize{.table = "", .bytes = (bloom.bits + 7) / 8, .is_size_unknown = bloom.bits == 0}};
}

std::expected<std::vector<KeyedTable>, std::string> list_tables(const config::Source& settings) {
  if (auto refusals = check(settings, {}, {}); !refusals.empty()) {
    return std::unexpected(std::move(refusals.front().what));
  }
  return {};
}

}  // namespace

constexpr SourceKind kBloom{.name = "bloom",
                            .is = is_of<config::BloomSource>,
                            .is_server = false,
                            .check = check,
                            .make = make,
                            .count_rows = count_rows,
                            .list_tables = list_tables};

}  // namespace cuckooguard::source
