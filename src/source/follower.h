// What runs on a source's thread, and where it may have its rows from.
//
// Threads: the source's, where nothing else is said. Errors: values.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <exception>
#include <mutex>
#include <numeric>
#include <optional>
#include <random>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>

#include <boost/core/noncopyable.hpp>

#include "filter/questions.h"
#include "source/feeds.h"
#include "source/source.h"

namespace cuckooguard::source {

// How often something happened in the last hour, to a minute.
//
// Threads: one at a time. Limits: constant size; it moves on only as it is told the time.
class HourlyCount {
 public:
  // `at` never goes back.
  void add(std::uint64_t count, std::chrono::steady_clock::time_point at) {
    const auto minute =
        std::chrono::duration_cast<std::chrono::minutes>(at.time_since_epoch()).count();
    if (minute - minute_ >= kMinutes) {
      counts_.fill(0);
      minute_ = minute;
    }
    while (minute_ < minute) {
      counts_[static_cast<std::size_t>(++minute_ % kMinutes)] = 0;
    }
    counts_[static_cast<std::size_t>(minute_ % kMinutes)] += count;
  }
  std::uint64_t total() const {
    return std::accumulate(counts_.begin(), counts_.end(), std::uint64_t{0});
  }

 private:
  static constexpr std::int64_t kMinutes = 60;

  std::array<std::uint64_t, kMinutes> counts_{};  // by minute
  std::int64_t minute_ = 0;                       // the last one
};

// How far a source is, as other threads may ask: its last proof, state and why; and of one that
// follows a log, the position (LogStatus).
//
//   source's thread, probe ── moved_to, proven, … ─▶ mutex ◀── read(), reached() ── any thread
//
// Must: reached(p) is yes only after every filter of the source has been given all that p covers,
// or its namespace passes (it is being read again). moved_to() is called after the filters have
// been changed, and the mutex hands that on: whoever has heard yes sees those changes, and so does
// every other thread that looks later, for the filters' words are atomic and memory is coherent.
// (tests/source/follow_status_test.cpp)
//
// Not after a server's log has begun anew (RESET MASTER, a server that was set back): then old
// numbers count until that is noticed, max_lag / 4.
//
// Threads: any; nobody holds the mutex for longer than a position is copied or compared. Limits:
// moved_to() copies into the room that the last position had, 0.1 us per transaction; a MySQL set
// of many intervals costs as much as it is long.
class FollowStatus {
 public:
  // --- the follower ---
  void proven(TimePoint at);
  void following() { set_state(filter::SourceState::following, ""); }
  // While it follows: what is not as it should be all the same; empty: nothing.
  void remark(std::string_view what);
  void loading(std::string_view why) { set_state(filter::SourceState::loading, why); }
  void lost(std::string_view why) { set_state(filter::SourceState::down, why); }
  void refused(std::string_view why) { set_state(filter::SourceState::refused, why); }
  // So far it has been read, in words: nobody can wait for such a position.
  void at(std::string place);
  // The server keeps so much of its log for us.
  void retains(std::uint64_t bytes);
  // It has had the server number so many transactions since it was said last.
  void took_transactions(std::uint64_t count, TimePoint at);

  // --- any thread ---
  SourceStatus read() const {
    const std::scoped_lock lock(mutex_);
    return status_;
  }

 protected:
  mutable std::mutex mutex_;
  SourceStatus status_;

 private:
  void set_state(filter::SourceState state, std::string_view why);

  HourlyCount transactions_per_hour_;
};

// Of a source that follows a log. A Position has text(), covers(Position), its flavor(), and
// parse(text, flavor), which gives nothing if the text is not a position of that flavor of log; of
// any, if none is known yet.
template <typename Position>
class LogStatus : public FollowStatus {
 public:
  // --- the follower ---
  void moved_to(const Position& position) {
    const std::scoped_lock lock(mutex_);
    position_ = position;
    flavor_ = position.flavor();
  }
  void has_no_position() {  // all is read anew
    const std::scoped_lock lock(mutex_);
    position_.reset();
  }

  // --- any thread ---
  SourceStatus read() const {
    const std::scoped_lock lock(mutex_);
    SourceStatus status = status_;
    status.position = position_ ? position_->text() : "";
    return status;
  }
  Reached reached(std::string_view text) const {
    const std::optional<Position> wanted = Position::parse(text, flavor());
    if (!wanted) {
      return Reached::not_a_position;
    }
    const std::scoped_lock lock(mutex_);
    return position_ && position_->covers(*wanted) ? Reached::yes : Reached::not_yet;
  }

 private:
  std::optional<typename Position::Flavor> flavor() const {
    const std::scoped_lock lock(mutex_);
    return flavor_;
  }

  std::optional<Position> position_;
  std::optional<typename Position::Flavor> flavor_;  // once it is known
};

// How readers ask a source (filter/questions.h), and how often it lets itself be asked.
//
// Threads: begin() from the one that asks the database, the rest from any. Lifetimes: the questions
// outlive it; it is copied at will. Without questions nobody wants any.
class Asking {
 public:
  Asking() = default;
  // `pace`: no question on demand is closer to the one before it.
  Asking(filter::Questions* questions, std::chrono::nanoseconds pace)
      : questions_(questions), pace_(pace) {}

  filter::Questions* questions() const { return questions_; }  // may be null
  std::chrono::nanoseconds pace() const { return pace_; }
  // Before the time of a question is read. True: a reader wants it.
  bool begin() const { return questions_ != nullptr && questions_->begin(); }
  // For readers whose question has found no answer.
  void want() const {
    if (questions_ != nullptr) {
      questions_->want();
    }
  }
  // After feeds have been proven.
  void proven() const {
    if (questions_ != nullptr) {
      questions_->proven();
    }
  }
  bool must_serve_strict() const {
    return questions_ != nullptr && questions_->must_serve_strict();
  }
  void serves_strict(bool serves) const {
    if (questions_ != nullptr) {
      questions_->set_serves_strict(serves);
    }
  }
  filter::Trial* trial() const { return questions_ == nullptr ? nullptr : &questions_->trial(); }
  void shared_by(std::uint32_t guards) const {
    if (questions_ != nullptr) {
      questions_->set_sharers(guards);
    }
  }
  void refuses_strict(bool refuses) const {
    if (questions_ != nullptr) {
      questions_->set_refuses_strict(refuses);
    }
  }

 private:
  filter::Questions* questions_ = nullptr;
  std::chrono::nanoseconds pace_{};
};

// How long to wait before the next attempt, after one that failed: twice as long each time, up
// to a limit.
//
// Threads: the source's. Limits: `most`.
class Backoff {
 public:
  using Duration = std::chrono::nanoseconds;

  // For a server that cannot be reached: an attempt costs it nothing, or as much as one of the
  // connections that each guard opens every second while it can be reached (ServerWatch).
  static constexpr std::chrono::milliseconds kUnreachedMax{500};

  Backoff(Duration least, Duration most) : least_(least), most_(most) {}

  // Somewhere in the upper half, so that many guards of one database do not come back together.
  Duration next() {
    const Duration longest = std::min(least_ * (1 << std::min(failures_, kDoublingsMax)), most_);
    ++failures_;
    return longest / 2 + Duration(std::uniform_int_distribution<Duration::rep>(
                             0, (longest / 2).count())(jitter_));
  }
  void succeeded() { failures_ = 0; }

 private:
  static constexpr int kDoublingsMax = 20;

  Duration least_;
  Duration most_;
  int failures_ = 0;  // in a row
  std::minstd_rand jitter_{std::random_device{}()};
};

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

class Origin : boost::noncopyable {
 public:
  virtual ~Origin() = default;

  virtual Sighting look() = 0;
  // Of each namespace all tables there are at the snapshot's moment (Feeds::set_tables). Ends early
  // when `stop` is requested.
  virtual Snapshot take(Feeds& feeds, const std::stop_token& stop) = 0;
};

// One step at a time, so that a test can take the steps itself.
class Follower : boost::noncopyable {
 public:
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
  void finish() override { feeds_.each(&Feed::expire); }
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
