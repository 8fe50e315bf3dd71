#include "bloom/kind.h"

#include <algorithm>
#include <chrono>
#include <span>
#include <utility>
#include <variant>

#include "bloom/follower.h"
#include "bloom/key_origin.h"
#include "text/try.h"

namespace cuckooguard::source {
namespace {

constexpr std::size_t kReadBytes = std::size_t{1} << 20U;

BloomReading::Kind kind_of(Snapshot::Kind kind) {
  return kind == Snapshot::Kind::lost ? BloomReading::Kind::lost : BloomReading::Kind::unclear;
}

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
    const auto stamp = TRY(stamp_of_path(bloom.path));
    return std::vector{TableSize{.table = "", .bytes = stamp.bytes}};
  }
  // A filter of RedisBloom's says itself how large it is.
  return std::vector{TableSize{
      .table = "",
      .bytes = (bloom.bits + 7) / 8,
      .why_unknown = bloom.bits == 0 ? "filters that are in Redis, which knows their size" : ""}};
}

std::expected<std::vector<KeyedTable>, std::string> list_tables(const config::Source& settings) {
  if (auto refusals = check(settings, {}, {}); !refusals.empty()) {
    return std::unexpected(std::move(refusals.front().what));
  }
  return {};
}

}  // namespace

BloomFileOrigin::BloomFileOrigin(config::BloomSource settings, const Clock& clock)
    : settings_(std::move(settings)), file_(settings_.path, clock) {}

BloomLook BloomFileOrigin::look() {
  Sighting sighting = file_.look();
  if (sighting.kind == Sighting::Kind::lost) {
    return {.kind = BloomLook::Kind::lost, .why = std::move(sighting.why)};
  }
  return {.kind = sighting.version == in_force_ ? BloomLook::Kind::unchanged
                                                : BloomLook::Kind::changed};
}

BloomReading BloomFileOrigin::read(const std::stop_token& stop) {
  using Kind = BloomReading::Kind;
  Sighting before = file_.look();
  if (before.kind == Sighting::Kind::lost) {
    return {.kind = Kind::lost, .why = std::move(before.why)};
  }
  auto file = file_.open();
  if (!file) {
    return {.kind = kind_of(file.error().kind), .why = std::move(file.error().why)};
  }
  const auto stamp = file->stamp();
  if (!stamp) {
    return {.kind = Kind::lost, .why = stamp.error()};
  }
  const auto size = static_cast<std::uint64_t>(stamp->bytes);
  if (size > kFileBytesMax) {
    return {.kind = Kind::refused,
            .why = settings_.path + ": the filter is larger than 16 GiB, the maximum"};
  }
  std::string bytes(size, '\0');
  std::span<char> left(bytes);
  while (!left.empty()) {
    if (stop.stop_requested()) {
      return {.kind = Kind::stopped};
    }
    const auto taken = file->read(left.first(std::min(left.size(), kReadBytes)));
    if (!taken) {
      return {.kind = Kind::lost, .why = taken.error()};
    }
    if (*taken == 0) {
      break;
    }
    left = left.subspan(*taken);
  }
  if (!left.empty() || file_.look().version != before.version) {
    return {.kind = Kind::unclear, .why = settings_.path + " changed while it was being read"};
  }
  auto filter = settings_.format->read(std::move(bytes), settings_.stated());
  if (!filter) {
    return {.kind = Kind::refused, .why = settings_.path + ": " + filter.error()};
  }
  in_force_ = before.version;
  return {.kind = Kind::taken, .filter = *std::move(filter)};
}

constexpr SourceKind kBloom{.name = "bloom",
                            .is = is_of<config::BloomSource>,
                            .check = check,
                            .make = make,
                            .count_rows = count_rows,
                            .list_tables = list_tables};

}  // namespace cuckooguard::source
