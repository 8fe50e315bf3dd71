#include "bloom/file_origin.h"

#include <algorithm>
#include <span>
#include <utility>

#include "bloom/format.h"

namespace cuckooguard::source {
namespace {

constexpr std::size_t kReadBytes = std::size_t{1} << 20U;

BloomReading::Kind kind_of(Snapshot::Kind kind) {
  return kind == Snapshot::Kind::lost ? BloomReading::Kind::lost : BloomReading::Kind::unclear;
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
            .why = settings_.path + ": a filter of more than 16 GiB is not read"};
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
    return {.kind = Kind::unclear, .why = settings_.path + " has changed while it was read"};
  }
  auto filter = read_filter(settings_, std::move(bytes));
  if (!filter) {
    return {.kind = Kind::refused, .why = settings_.path + ": " + filter.error()};
  }
  in_force_ = before.version;
  return {.kind = Kind::taken, .filter = *std::move(filter)};
}

}  // namespace cuckooguard::source
