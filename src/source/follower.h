// What runs on a source's thread, and where it may have its rows from.
//
// Threads: the source's, where nothing else is said. Errors: values.
#pragma once

#include <chrono>
#include <cstdint>
#include <exception>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>

#include "source/asking.h"
#include "source/backoff.h"
#include "source/feeds.h"
#include "source/follow_status.h"
#include "source/source.h"

namespace cuckooguard::source {

// Where the rows of a source come from, seen from the one that follows it (source_kind.h):
// something that can be looked at (has it changed?) and read as one consistent snapshot.
//
// Must: a version stands for one content. If look() gives the version of a snapshot, then no change
// that was complete before that look() began came after the snapshot.
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

// One step at a time, so that a test can take the steps itself.
class Follower {
 public:
  Follower() = default;
  Follower(const Follower&) = delete;
  Follower& operator=(const Follower&) = delete;
  virtual ~Follower() = default;

  // Does what is next (a look, a load) and returns how long to wait before the next step. A long
  // step ends early when `stop` is requested.
  virtual std::chrono::nanoseconds step(const std::stop_token& stop) = 0;
  // The next step would answer readers' questions, which may cut the wait for it short, but no
  // steps are closer than this. Nothing: it would not, as of what answers on a thread of its own,
  // or is waiting for what it has lost.
  virtual std::optional<std::chrono::nanoseconds> question_pace() const { return std::nullopt; }
  // After the last step: makes the namespaces pass.
  virtual void finish() = 0;
  // See Source. Any thread, before finish().
  virtual void let_go() {}

  // Any thread: see Source.
  virtual SourceStatus status() const { return {}; }
  virtual Reached reached(std::string_view /*position*/) const { return Reached::not_followed; }
};

// One that looks at what it follows, and reads it as a whole when it has changed.
class LookingFollower : public Follower {
 public:
  using Duration = std::chrono::nanoseconds;

  Duration step(const std::stop_token& stop) final {
    try {
      return next(stop);
    } catch (const std::exception& trouble) {  // no memory: pass, say why, try again later
      return lose(trouble.what());
    }
  }
  void finish() final {
    for (Feed& feed : feeds_) {
      feed.expire();
    }
  }
  SourceStatus status() const final { return status_.read(); }

 protected:
  LookingFollower(Feeds feeds, Clock clock, Asking asking, Backoff backoff)
      : feeds_(std::move(feeds)), clock_(std::move(clock)), asking_(asking), backoff_(backoff) {}

  virtual Duration next(const std::stop_token& stop) = 0;
  virtual Duration lose(std::string_view why) = 0;
  bool is_rebuild_asked() {
    bool is_asked = false;
    for (Feed& feed : feeds_) {
      is_asked = feed.live().take_rebuild_request() || is_asked;
    }
    return is_asked;
  }

  Feeds feeds_;
  Clock clock_;
  Asking asking_;
  FollowStatus status_;
  Backoff backoff_;  // of attempts that find nothing to read
};

}  // namespace cuckooguard::source
