#include "file/origin.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "file/pass.h"
#include "source/feeds.h"
#include "source/input_file.h"

namespace cuckooguard::source {

FileOrigin::FileOrigin(config::FileSource settings, Clock clock, std::function<void()> at_check)
    : settings_(std::move(settings)),
      file_(settings_.path, std::move(clock)),
      at_check_(std::move(at_check)) {}

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

Snapshot FileOrigin::take(Feeds& feeds, const std::stop_token& stop) {
  const Sighting before = look();
  if (before.kind == Sighting::Kind::lost) {
    return {.kind = Snapshot::Kind::lost, .version = 0, .why = before.why};
  }
  auto file = file_.open();
  if (!file) {
    return file.error();
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
