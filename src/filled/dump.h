// A filter as bytes: for BF.SCANDUMP and CF.SCANDUMP, between runs, and for other guards.
//
//   u64 bytes of all, "CGFILTER", shape, u64 items, u64 erased, u32 layers,
//   for each u64 bytes and a filter file (filter/filter_file.h); u64 checksum of all before it
//
// A client's copy has a tag: the first kDumpTagBytes of an HMAC-SHA-256 of everything but the
// checksum, with the secret that items are hashed with. It is stored as the source position of the
// first layer's file, which is empty while the tag is computed: a reader that does not know of tags
// skips it.
//
// Threads: any; dump_of() and DumpImage, with its destructor, on the filter's writer's. Errors: a
// sentence; std::bad_alloc. Limits: filter/filter_file_stream.h's. Source: RFC 2104.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "filled/filled_filter.h"
#include "filled/log_entry.h"
#include "filled/operation.h"
#include "filter/filter_file.h"
#include "filter/filter_file_format.h"
#include "filter/filter_file_stream.h"

namespace cuckooguard::filled {

inline constexpr std::size_t kDumpTagBytes = 16;
inline constexpr std::string_view kDumpMagic = "CGFILTER";
inline constexpr std::size_t kDumpFrontBytes = 66;  // all before the first layer
inline constexpr std::string_view kNoDump = "it is not a dump of a filter, or it is damaged";

// For a filter that is not unsure.
std::string dump_of(const FilledFilter& filter);
// The same as of now, in steps between which the filter may be changed.
class DumpImage {
 public:
  explicit DumpImage(const FilledFilter& filter);

  // How long it is; of a filter, how long it would be now.
  std::uint64_t bytes() const { return bytes_; }
  static std::uint64_t bytes_of(const FilledFilter& filter);

  // Appends what comes next, perhaps nothing yet. False: that was all.
  bool step(std::string& out);
  // There was no memory for what has changed meanwhile: what step() gives is no dump.
  bool is_lost() const;
  void lose() { is_lost_ = true; }

 private:
  std::string front_;
  std::uint64_t bytes_;
  std::vector<std::unique_ptr<filter::FilterFileImage>> layers_;
  std::size_t next_ = 0;  // of them
  bool has_begun_ = false;
  bool is_in_layer_ = false;
  bool is_lost_ = false;
  filter::FileChecksum sum_;
};
// For an outcome that has an image: all at once, on the writer's thread.
void make_blob(Outcome& outcome);
Outcome no_memory_for_dump();
// The form that a client gets. It takes about as long to make, and needs only the dump, not the
// filter.
std::string tagged(std::string dump, const filter::HashSecret& secret);
// How long a dump is that begins like this; nothing: it is none.
std::optional<std::uint64_t> bytes_of_dump(std::string_view front);

// Facts of a dump's filter, before the filter is made.
struct DumpFacts {
  Shape shape;
  std::uint64_t bytes = 0;  // that the filter takes
};
// Nothing is damaged, and it has this secret: any further error in it was made on purpose.
std::expected<DumpFacts, std::string> facts_of_dump(std::string_view dump,
                                                    const filter::HashSecret& secret);
// To which all is added that a tag is of.
Mac begin_dump_tag(const filter::HashSecret& secret);
// Why it is not one that was made with this secret for a client; nothing: it is.
std::optional<std::string> wrong_tag(std::string_view dump, const filter::HashSecret& secret);

// A stranger's dump is checked for everything a filter must be. In parts: filled/dump_reader.h.
std::expected<std::unique_ptr<FilledFilter>, std::string> read_dump(
    std::string_view dump,
    const filter::HashSecret& secret,
    filter::FilterFileOrigin origin = filter::FilterFileOrigin::own);

}  // namespace cuckooguard::filled
