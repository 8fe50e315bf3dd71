// One reading of a text file from its first record to its last, for every namespace that wants its
// rows.
//
// Threads: the source's. Lifetimes: the file and the feeds outlive the pass.
// Errors: what is wrong with the text makes the namespaces unsynced; what is wrong with the file is
// returned.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"
#include "file/record_reader.h"
#include "source/feed.h"
#include "source/input_file.h"

namespace cuckooguard::source {

// Which fields of a record the namespace's identity and condition are made of, in their orders.
struct FieldPlaces {
  std::vector<std::size_t> identity;
  std::vector<std::size_t> condition;
};

// Or why there are none. `header`: a CSV's first record; nullopt for lines.
std::expected<FieldPlaces, std::string> field_places(const Target& target,
                                                     std::optional<RecordReader::Fields> header);

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

}  // namespace cuckooguard::source
