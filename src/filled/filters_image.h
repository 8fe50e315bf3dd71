// All filters (filled/filters.h) as they were at one moment, as bytes that Filters::restore()
// takes, read in steps while operations go on between them.
//
// The cost of beginning does not depend on the size of the filters. A filter's old state is kept
// when the first operation that changes it comes, or when its turn has come: keep() does that.
//
// Threads:   the writer's of the filters, also the destructor.
// Lifetimes: filters that are dropped meanwhile live as long as this.
// Errors:    std::bad_alloc at the beginning; later is_lost(), and what step() gives is nothing.
// Limits:    filter/filter_file_stream.h's; some 5 KiB for each filter that is kept.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "filled/directory.h"
#include "filled/dump.h"

namespace cuckooguard::filled {

class FiltersImage {
 public:
  // A text that may be longer than is written at once.
  using Pieces = std::vector<std::shared_ptr<const std::string>>;

  // `front` and what it is followed by come before the filters.
  FiltersImage(Pieces front, std::shared_ptr<const Directory> directory);

  std::uint64_t bytes() const { return bytes_; }
  // Appends what comes next, perhaps nothing yet. False: that was all.
  bool step(std::string& out);
  bool is_lost() const { return is_lost_; }
  void lose() { is_lost_ = true; }

  // Before the filter of this name is changed.
  void keep(std::string_view name, const FilledFilter& filter) noexcept;

 private:
  void begin_filter(std::string& out);

  Pieces front_;
  std::shared_ptr<const Directory> directory_;
  std::uint64_t bytes_ = 0;
  std::vector<const Directory::value_type*> filters_;  // by name
  std::size_t front_given_ = 0;
  std::size_t next_ = 0;  // of the filters
  std::unique_ptr<DumpImage> current_;
  std::unordered_map<const FilledFilter*, std::unique_ptr<DumpImage>> kept_;
  bool is_lost_ = false;
};

// For how long the writer of filters may read an image of them before it does something else.
inline constexpr std::chrono::microseconds kImageTurn{1000};

// Steps of a FiltersImage, or of a DumpImage, for a turn. False: that was all.
template <class Image>
bool step_for_turn(Image& image, std::string& out) {
  const auto until = std::chrono::steady_clock::now() + kImageTurn;
  bool is_more = image.step(out);
  while (is_more && std::chrono::steady_clock::now() < until) {
    is_more = image.step(out);
  }
  return is_more;
}

}  // namespace cuckooguard::filled
