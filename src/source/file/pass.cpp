#include "file/pass.h"

#include <algorithm>
#include <utility>

#include "config/nearest.h"

namespace cuckooguard::source {

namespace {

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

}  // namespace

std::expected<FieldPlaces, std::string> field_places(const Target& target,
                                                     std::optional<RecordReader::Fields> header) {
  const auto placeholders = target.keyspace.identity_columns(target.ns);
  const config::SourceTable& settings = target.settings.source;
  if (!header) {
    if (placeholders.size() != 1) {
      return std::unexpected(
          "the keys have several placeholders and a line holds one value; use format: csv");
    }
    if (!settings.where.columns().empty()) {
      return std::unexpected("where: a line has no columns to choose by; use format: csv");
    }
    return FieldPlaces{.identity = {0}, .condition = {}};
  }
  FieldPlaces places;
  for (const std::string& placeholder : placeholders) {
    const auto renamed = settings.columns.find(placeholder);
    const auto place =
        place_of(*header, renamed == settings.columns.end() ? placeholder : renamed->second);
    if (!place) {
      return std::unexpected(place.error());
    }
    places.identity.push_back(*place);
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
    const auto record = next_record();
    if (!record) {
      return std::unexpected(record.error());
    }
    if (record->empty()) {
      return {};
    }
    for (FeedIntake& intake : intakes_) {
      intake.add(*record);
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

}  // namespace cuckooguard::source
