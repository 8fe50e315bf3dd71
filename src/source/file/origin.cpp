#include "file/origin.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "file/input_file.h"
#include "file/pass.h"
#include "source/feeds.h"

namespace cuckooguard::source {

FileOrigin::FileOrigin(config::FileSource settings, Clock clock, std::function<void()> at_check)
    : settings_(std::move(settings)), clock_(std::move(clock)), at_check_(std::move(at_check)) {}

std::vector<Refusal> FileOrigin::check(std::span<const Target> targets) const {
  if (const auto stamp = stamp_of_path(settings_.path); !stamp) {
    return {{.ns = "", .what = stamp.error()}};
  }
  auto file = InputFile::open(settings_.path);
  if (!file) {
    return {{.ns = "", .what = file.error()}};
  }
  RecordReader records(settings_.format,
                       [&file](std::span<char> buffer) { return file->read(buffer); });
  std::optional<RecordReader::Fields> header;
  if (settings_.format == config::FileFormat::csv) {
    const auto first = records.next();
    if (!first) {
      return {{.ns = "", .what = settings_.path + ": " + first.error()}};
    }
    header = *first;
  }
  std::vector<Refusal> refusals;
  for (const Target& target : targets) {
    if (const auto places = field_places(target, header); !places) {
      refusals.push_back(
          {.ns = target.settings.name, .what = settings_.path + ": " + places.error()});
    }
  }
  return refusals;
}

Sighting FileOrigin::look() {
  const auto stamp = stamp_of_path(settings_.path);
  if (!stamp) {
    stamp_.reset();
    return {.kind = Sighting::Kind::lost, .version = 0, .why = stamp.error()};
  }
  if (stamp_ != *stamp) {
    stamp_ = *stamp;
    stamp_since_ = clock_();
    ++version_;
  }
  return {.kind = Sighting::Kind::seen, .version = version_, .why = ""};
}

Snapshot FileOrigin::take(Feeds& feeds, const std::stop_token& stop) {
  const Sighting before = look();
  if (before.kind == Sighting::Kind::lost) {
    return {.kind = Snapshot::Kind::lost, .version = 0, .why = before.why};
  }
  if (clock_() - stamp_since_ < kSettle) {
    return {.kind = Snapshot::Kind::unclear,
            .version = 0,
            .why = settings_.path + " may still be being written"};
  }
  auto file = InputFile::open(settings_.path);
  if (!file) {
    return {.kind = Snapshot::Kind::lost, .version = 0, .why = file.error()};
  }
  if (file->stamp() != *stamp_) {
    return {.kind = Snapshot::Kind::unclear,
            .version = 0,
            .why = settings_.path + " is being replaced"};
  }
  if (file->is_open_for_writing() && clock_() - stamp_since_ < kSettleWhileOpen) {
    return {
        .kind = Snapshot::Kind::unclear,
        .version = 0,
        .why = settings_.path +
               " is open for writing: it is read once it has stood still for 5 s, or is closed"};
  }
  std::vector<Feed*> wanting;
  std::ranges::transform(feeds, std::back_inserter(wanting), [](Feed& feed) { return &feed; });
  while (!wanting.empty() && !stop.stop_requested()) {
    auto still_wanting = FilePass(*file, settings_, at_check_).run(wanting, stop);
    if (!still_wanting) {
      return {.kind = Snapshot::Kind::lost, .version = 0, .why = still_wanting.error()};
    }
    wanting = *std::move(still_wanting);
  }
  if (stop.stop_requested()) {
    return {.kind = Snapshot::Kind::stopped, .version = 0, .why = ""};
  }
  return {.kind = Snapshot::Kind::taken, .version = before.version, .why = ""};
}

}  // namespace cuckooguard::source
