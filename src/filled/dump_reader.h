// A dump of a filter (filled/dump.h) that comes in parts: each is verified, hashed for the tag, and
// put in its place, when it comes.
//
// Threads:   one at a time. Lifetimes: the secret outlives it; a part is not needed any more when
// add() returns.
// Errors:    sentences, at the end; std::bad_alloc of add().
// Limits:    filter/filter_file_stream.h's: a filter whose dump has so many bytes; 50 us for each
//            48 KiB. finish() of one that counts its keys takes 30 ns for each, and a stranger's as
//            long as an erase of each besides.
#pragma once

#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "filled/filled_filter.h"
#include "filled/log_entry.h"
#include "filter/filter_file_format.h"
#include "filter/filter_file_stream.h"

namespace cuckooguard::filled {

class DumpReader {
 public:
  // `bytes`: how long the dump is to be.
  DumpReader(const filter::HashSecret& secret,
             std::uint64_t bytes,
             filter::FilterFileOrigin origin);

  void add(std::string_view part);

  // When all has come. Why it is not one that was made with this secret for a client; nothing: it
  // is. Once.
  std::optional<std::string> wrong_tag();
  // Once.
  std::expected<std::unique_ptr<FilledFilter>, std::string> finish();

 private:
  enum class Section : std::uint8_t { front, length, file, sum, over };

  std::uint64_t left_of_section() const;
  void end_section();
  void read_front();
  void take_file(std::string_view bytes);
  void fail(std::string why);

  const filter::HashSecret& secret_;
  std::uint64_t bytes_;
  filter::FilterFileOrigin origin_;
  Section section_ = Section::front;
  std::uint64_t received_ = 0;
  std::string text_;  // of a section that is not a file
  std::optional<Shape> shape_;
  std::uint64_t items_ = 0;
  std::uint64_t erased_ = 0;
  std::uint32_t layers_left_ = 0;
  std::uint64_t file_bytes_ = 0;
  std::unique_ptr<filter::FilterFileStream> file_;
  std::vector<std::unique_ptr<filter::FilterFileStream>> layers_;
  std::optional<std::string> position_;  // in the first layer's file
  filter::FileChecksum sum_;
  Mac mac_;
  std::optional<std::string> error_;
};

}  // namespace cuckooguard::filled
