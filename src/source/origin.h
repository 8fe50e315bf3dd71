// Where the rows of a source come from, seen from the one that follows it (source_kind.h):
// something that can be looked at (has it changed?) and read as one consistent snapshot.
//
// Must: a version stands for one content. If look() gives the version of a snapshot, then no change
// that was complete
//       before that look() began came after the snapshot.
// Threads: the source's. Errors: values.
#pragma once

#include <cstdint>
#include <stop_token>
#include <string>

namespace cuckooguard::source {

class Feeds;

using Version = std::uint64_t;

struct Sighting {
  enum class Kind : std::uint8_t {
    seen,     // `version` is the content's, now
    unclear,  // could not be looked at just now, and will be soon: a writer holds it
    lost,     // is not there, or cannot be read
  };
  Kind kind = Kind::unclear;
  Version version = 0;
  std::string why;  // unless seen
};

struct Snapshot {
  enum class Kind : std::uint8_t {
    taken,    // every feed has been given its rows, or a refusal
    unclear,  // not now, soon
    lost,
    stopped,
  };
  Kind kind = Kind::unclear;
  Version version = 0;  // if taken
  std::string why;      // if unclear or lost
};

class Origin {
 public:
  Origin() = default;
  Origin(const Origin&) = delete;
  Origin& operator=(const Origin&) = delete;
  virtual ~Origin() = default;

  virtual Sighting look() = 0;
  // Of each namespace all tables there are at the snapshot's moment (Feeds::set_tables). Ends early
  // when `stop` is requested.
  virtual Snapshot take(Feeds& feeds, const std::stop_token& stop) = 0;
};

}  // namespace cuckooguard::source
