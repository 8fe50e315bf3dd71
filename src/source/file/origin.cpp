#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <iterator>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/config.h"
#include "config/nearest.h"
#include "file/kind.h"
#include "file/record_reader.h"
#include "source/feeds.h"
#include "source/input_file.h"
#include "text/try.h"

namespace cuckooguard::source {
namespace {

// One reading of a text file from its first record to its last, for every namespace that wants its
// rows.
// Threads: the source's. Lifetimes: the file and the feeds outlive the pass.
// Errors: what is wrong with the text makes the namespaces unsynced; what is wrong with the file is
// returned.

// Which fields of a record the namespace's identity and condition are made of, in their orders.
struct FieldPlaces {
  std::vector<std::size_t> identity;
  std::vector<std::size_t> condition;
};

// One namespace during the pass.
class FeedIntake {
 public:
  FeedIntake(Feed& feed, FieldPlaces places);

  void begin(std::uint64_t rows) { keep(feed_->begin(rows)); }
  void add(RecordReader::Fields fields);
  void refuse(std::string_view why);
  void end();

  bool was_too_small() const { return was_too_small_; }
  Feed* feed() const { return feed_; }

 private:
  void keep(Feed::Intake outcome);

  Feed* feed_;
  FieldPlaces places_;
  std::array<std::optional<std::string_view>, keyspace::kPlaceholdersMax> values_;
  std::vector<std::optional<std::string_view>> asked_;  // by the condition
  bool is_open_ = true;
  bool was_too_small_ = false;
};

class FilePass {
 public:
  static constexpr std::uint64_t kRecordsPerCheck = 1024;

  // `at_check` is for tests: called every kRecordsPerCheck records.
  FilePass(InputFile& file, const config::FileSource& settings, std::function<void()> at_check);

  // Returns the feeds whose filter was too small, for another pass. Ends early when `stop` is
  // requested.
  std::expected<std::vector<Feed*>, std::string> run(std::span<Feed* const> feeds,
                                                     const std::stop_token& stop);

 private:
  using Fields = RecordReader::Fields;

  std::uint64_t count_lines(const std::stop_token& stop);
  std::expected<Fields, std::string> next_record();
  void begin(std::span<Feed* const> feeds, std::uint64_t rows);
  std::expected<void, std::string> read_records(const std::stop_token& stop);
  std::size_t read_file(std::span<char> buffer);

  InputFile& file_;
  const config::FileSource& settings_;
  std::function<void()> at_check_;
  RecordReader records_;
  std::size_t columns_ = 1;
  std::vector<FeedIntake> intakes_;
  std::optional<std::string> unreadable_;  // why the file itself could not be read
};

std::expected<std::size_t, std::string> place_of(RecordReader::Fields header,
                                                 const std::string& wanted) {
  const auto place = std::ranges::find(header, wanted);
  if (place == header.end()) {
    return std::unexpected("the header line has no column \"" + wanted + "\"" +
                           config::suggestion(wanted, header));
  }
  return static_cast<std::size_t>(place - header.begin());
}

// An empty field is NULL.
std::optional<std::string_view> value_of(std::string_view field) {
  return field.empty() ? std::nullopt : std::optional(field);
}

// Or why there are none. `header`: a CSV's first record; nullopt for lines.
std::expected<FieldPlaces, std::string> field_places(const Target& target,
                                                     std::optional<RecordReader::Fields> header) {
  const auto placeholders = target.keyspace.identity_columns(target.ns);
  const config::SourceTable& settings = target.settings.source;
  if (!header) {
    if (placeholders.size() != 1) {
      return std::unexpected(
          "the keys have several placeholders, but a line has only one value; use format: csv");
    }
    if (!settings.where.columns().empty()) {
      return std::unexpected("where: a line has no columns; use format: csv");
    }
    return FieldPlaces{.identity = {0}, .condition = {}};
  }
  FieldPlaces places;
  for (const std::string& placeholder : placeholders) {
    places.identity.push_back(TRY(place_of(*header, settings.column_of(placeholder))));
  }
  for (const std::string& column : settings.where.columns()) {
    const auto place = place_of(*header, column);
    if (!place) {
      return std::unexpected("where: " + place.error());
    }
    places.condition.push_back(*place);
  }
  return places;
}

FeedIntake::FeedIntake(Feed& feed, FieldPlaces places)
    : feed_(&feed), places_(std::move(places)), asked_(places_.condition.size()) {}

void FeedIntake::add(RecordReader::Fields fields) {
  if (!is_open_) {
    return;
  }
  const auto value = [&fields](std::size_t place) { return value_of(fields[place]); };
  std::ranges::transform(places_.condition, asked_.begin(), value);
  if (!feed_->target().settings.source.where.holds(asked_)) {
    return;
  }
  std::ranges::transform(places_.identity, values_.begin(), value);
  keep(feed_->add(std::span(values_).first(places_.identity.size())));
}

void FeedIntake::refuse(std::string_view why) {
  if (is_open_) {
    feed_->refuse(filter::State::unsynced, why);
    is_open_ = false;
  }
}

void FeedIntake::end() {
  if (is_open_) {
    keep(feed_->complete());
  }
}

void FeedIntake::keep(Feed::Intake outcome) {
  is_open_ = outcome == Feed::Intake::taken;
  was_too_small_ = outcome == Feed::Intake::too_small;
}

FilePass::FilePass(InputFile& file,
                   const config::FileSource& settings,
                   std::function<void()> at_check)
    : file_(file),
      settings_(settings),
      at_check_(std::move(at_check)),
      records_(settings.format, [this](std::span<char> buffer) { return read_file(buffer); }) {}

std::expected<std::vector<Feed*>, std::string> FilePass::run(std::span<Feed* const> feeds,
                                                             const std::stop_token& stop) {
  begin(feeds, count_lines(stop));
  const auto read_all = read_records(stop);
  if (unreadable_) {
    return std::unexpected(*unreadable_);
  }
  std::vector<Feed*> too_small;
  for (FeedIntake& intake : intakes_) {
    if (!read_all) {
      intake.refuse(settings_.path + ": " + read_all.error());
    } else if (!stop.stop_requested()) {
      intake.end();
    }
    if (intake.was_too_small()) {
      too_small.push_back(intake.feed());
    }
  }
  return too_small;
}

// At least as many as there are records, unless the file grows meanwhile.
std::uint64_t FilePass::count_lines(const std::stop_token& stop) {
  file_.rewind();
  std::vector<char> buffer(RecordReader::kChunkBytes);
  std::uint64_t lines = 1;
  for (;;) {
    const std::size_t bytes = read_file(buffer);
    if (bytes == 0 || stop.stop_requested()) {
      file_.rewind();
      return lines;
    }
    lines += static_cast<std::uint64_t>(std::ranges::count(std::span(buffer).first(bytes), '\n'));
  }
}

void FilePass::begin(std::span<Feed* const> feeds, std::uint64_t rows) {
  std::expected<Fields, std::string> header = Fields{};
  const bool has_header = settings_.format == config::FileFormat::csv;
  if (has_header) {
    header = records_.next();
    columns_ = header ? header->size() : 0;
    --rows;
  }
  for (Feed* feed : feeds) {
    const auto places =
        header ? field_places(feed->target(), has_header ? std::optional(*header) : std::nullopt)
               : std::unexpected(header.error());
    if (!places) {
      feed->refuse(filter::State::refused, settings_.path + ": " + places.error());
      continue;
    }
    intakes_.emplace_back(*feed, *places).begin(rows);
  }
}

std::expected<void, std::string> FilePass::read_records(const std::stop_token& stop) {
  for (std::uint64_t count = 1; !stop.stop_requested(); ++count) {
    const auto record = TRY(next_record());
    if (record.empty()) {
      return {};
    }
    for (FeedIntake& intake : intakes_) {
      intake.add(record);
    }
    if (count % kRecordsPerCheck == 0 && at_check_) {
      at_check_();
    }
  }
  return {};
}

std::expected<RecordReader::Fields, std::string> FilePass::next_record() {
  auto record = records_.next();
  if (record && !record->empty() && record->size() != columns_) {
    return std::unexpected("line " + std::to_string(records_.line()) + " has " +
                           std::to_string(record->size()) + " fields, the header has " +
                           std::to_string(columns_));
  }
  return record;
}

// 0 at the end of the file, and when it cannot be read: run() then says so.
std::size_t FilePass::read_file(std::span<char> buffer) {
  const auto bytes = file_.read(buffer);
  if (!bytes) {
    unreadable_ = bytes.error();
  }
  return bytes.value_or(0);
}

}  // namespace

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
