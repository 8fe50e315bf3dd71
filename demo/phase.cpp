#include "phase.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <memory>
#include <mutex>
#include <span>
#include <stdexcept>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "cache.h"
#include "cache_aside.h"
#include "harness/interrupt.h"
#include "users_database.h"

namespace cuckooguard::demo {
namespace {

using harness::Interrupt;
using Clock = Interrupt::Clock;

constexpr std::uint64_t kHotUsers = 10'000;  // those whose keys are asked for
constexpr std::uint64_t kAbsentFirst = 10'000'000;
constexpr std::uint64_t kAbsentLast = 1'000'000'000;
constexpr std::chrono::milliseconds kWatchEvery{10};

// What the clients and the main thread share.
struct Course {
  std::atomic<std::uint64_t> next = 0;  // look-up that nobody has begun
  std::atomic<std::uint64_t> done = 0;
  std::atomic<bool> is_calm = false;  // a burst is on
  std::atomic<bool> is_over = false;  // something went wrong, or the user wants no more
  std::atomic<unsigned> running = 0;
};

// The i-th look-up of a phase, whoever makes it: splitmix64 (Steele, Lea, Flood, OOPSLA 2014).
class Dice {
 public:
  Dice(std::uint64_t seed, std::uint64_t lookup) : state_((seed << 40U) + lookup * 16) {}

  std::uint64_t roll(std::uint64_t sides) {
    state_ += 0x9e3779b97f4a7c15U;
    std::uint64_t mixed = (state_ ^ (state_ >> 30U)) * 0xbf58476d1ce4e5b9U;
    mixed = (mixed ^ (mixed >> 27U)) * 0x94d049bb133111ebU;
    return (mixed ^ (mixed >> 31U)) % sides;
  }

 private:
  std::uint64_t state_;
};

class Client {
 public:
  Client(const Stage& stage, const Mix& mix)
      : application_(stage.cache, stage.database), mix_(mix) {
    times_.reserve(mix.lookups / mix.clients);
  }

  void run(Course& course) noexcept {
    try {
      while (!course.is_over) {
        const std::uint64_t lookup = course.next++;
        if (lookup >= mix_.lookups) {
          break;
        }
        look_up(lookup, course);
      }
    } catch (...) {  // for the main thread to rethrow
      trouble_ = std::current_exception();
      course.is_over = true;
    }
    --course.running;
  }

  const Tally& tally() const { return tally_; }
  Detours detours() const { return application_.detours(); }
  std::span<const std::chrono::nanoseconds> times() const { return times_; }
  void rethrow() const {
    if (trouble_) {
      std::rethrow_exception(trouble_);
    }
  }

 private:
  void look_up(std::uint64_t lookup, Course& course) {
    Dice dice(mix_.seed, lookup);
    const bool exists = dice.roll(100) < mix_.existing_percent;
    const std::uint64_t id = exists ? 1 + dice.roll(kHotUsers) * (mix_.users / kHotUsers)
                                    : kAbsentFirst + dice.roll(kAbsentLast - kAbsentFirst);
    const bool is_calm = course.is_calm;
    const auto begin = Clock::now();
    try {
      tally_.count(exists, application_.look_up(id));
    } catch (const CacheUnavailable&) {
      ++tally_.errors;
    }
    const auto end = Clock::now();
    ++course.done;
    if (is_calm) {
      Interrupt::wait_until(end + kCalmPace);
    } else if (!course.is_calm) {
      times_.push_back(end - begin);
    }
  }

  CacheAside application_;
  const Mix& mix_;
  Tally tally_;
  std::vector<std::chrono::nanoseconds> times_;
  std::exception_ptr trouble_;
};

class PhaseRun {
 public:
  PhaseRun(const Stage& stage, const Mix& mix, ProgressLine& progress)
      : stage_(stage),
        mix_(mix),
        progress_(progress),
        application_(stage.cache, stage.database),
        redis_(open_cache(stage.redis)),
        writer_(stage.database.writer()) {
    for (unsigned number = 0; number < mix.clients; ++number) {
      clients_.push_back(std::make_unique<Client>(stage, mix));
    }
  }

  PhaseResult run() {
    redis_->start_over();
    course_.running = mix_.clients;
    began_at_ = Clock::now();
    {
      std::vector<std::jthread> threads;
      threads.reserve(clients_.size());
      for (auto& client : clients_) {
        threads.emplace_back([this, &client] { client->run(course_); });
      }
      lead();
    }
    const auto attacking = Clock::now() - began_at_ - calm_;
    for (const auto& client : clients_) {
      client->rethrow();
    }
    if (Interrupt::requested()) {
      throw harness::Interrupted();
    }
    return result(redis_->gets(), attacking);
  }

 private:
  // Ends when all clients have, or with course_.is_over set.
  void lead() {
    try {
      int bursts = 0;
      bool is_changed = stage_.changes.empty();
      while (course_.running > 0) {
        if (!Interrupt::wait_until(Clock::now() + kWatchEvery)) {
          course_.is_over = true;
          return;
        }
        show("");
        const std::uint64_t due = mix_.lookups * static_cast<unsigned>(bursts + 1) / (kBursts + 1);
        if (bursts < kBursts && course_.done >= due) {
          ++bursts;
          burst();
        }
        if (!is_changed && course_.done >= mix_.lookups / 2) {
          is_changed = true;
          change();
        }
      }
    } catch (...) {
      course_.is_over = true;
      throw;
    }
  }

  void burst() {
    show(", new rows are inserted and read at once");
    calmly([this] {
      const Count count = [this](bool exists, Answer answer) { tally_.count(exists, answer); };
      const BurstResult one = run_burst(*writer_, application_, stage_.is_guarded(), count);
      bursts_.hidden_existing += one.hidden_existing;
      bursts_.hidden_in_window += one.hidden_in_window;
      bursts_.probes_passed += one.probes_passed;
    });
  }

  void change() {
    for (const Change& change : stage_.changes) {
      show(", " + change.what);
      redis_->gets();  // before a node is killed, which then has nothing to tell
      calmly([&] {
        change.run();
        wait_for_guard();
      });
    }
  }

  // It has to hear of what has changed.
  void wait_for_guard() {
    const auto begin = Clock::now();
    const Count count = [this](bool exists, Answer answer) { tally_.count(exists, answer); };
    for (int i = 0; stage_.is_guarded() && i < kProbesMax; ++i) {
      if (declares_absent(application_, count)) {
        break;
      }
      Interrupt::require_until(Clock::now() + kProbePace);
    }
    unguarded_ += std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - begin);
  }

  void calmly(const std::function<void()>& what) {
    const auto begin = Clock::now();
    const std::uint64_t done_before = course_.done;
    course_.is_calm = true;
    what();
    course_.is_calm = false;
    calm_ += Clock::now() - begin;
    done_calmly_ += course_.done - done_before;
  }

  void show(std::string_view more) {
    const std::uint64_t done = course_.done;
    const double seconds = std::chrono::duration<double>(Clock::now() - began_at_).count();
    progress_.show(
        fmt::format("  {}: {:.0f} % of {} look-ups, {:.0f} per second{}",
                    stage_.name,
                    100.0 * static_cast<double>(done) / static_cast<double>(mix_.lookups),
                    mix_.lookups,
                    static_cast<double>(done) / seconds,
                    more));
  }

  PhaseResult result(std::uint64_t redis_gets, Clock::duration attacking) const {
    PhaseResult result{
        .tally = tally_, .bursts = bursts_, .redis_gets = redis_gets, .unguarded = unguarded_};
    std::vector<std::chrono::nanoseconds> times;
    for (const auto& client : clients_) {
      result.tally.add(client->tally());
      result.detours.redirects += client->detours().redirects;
      result.detours.retries += client->detours().retries;
      times.insert(times.end(), client->times().begin(), client->times().end());
    }
    result.lookups_per_second = static_cast<double>(mix_.lookups - done_calmly_) /
                                std::chrono::duration<double>(attacking).count();
    if (!times.empty()) {
      const auto p99 = times.begin() + static_cast<std::ptrdiff_t>(times.size() * 99 / 100);
      std::ranges::nth_element(times, p99);
      result.p99 = *p99;
    }
    return result;
  }

  const Stage& stage_;
  const Mix& mix_;
  ProgressLine& progress_;
  CacheAside application_;        // the main thread's
  std::unique_ptr<Cache> redis_;  // for its counters
  std::unique_ptr<UserWriter> writer_;
  std::vector<std::unique_ptr<Client>> clients_;
  Course course_;
  Tally tally_;  // of the bursts
  BurstResult bursts_;
  Clock::time_point began_at_;
  Clock::duration calm_{0};
  std::uint64_t done_calmly_ = 0;
  std::chrono::milliseconds unguarded_{0};
};

}  // namespace

void Tally::count(bool exists, Answer answer) {
  const bool asked_database = answer == Answer::in_database || answer == Answer::not_in_database;
  ++lookups;
  absent_lookups += exists ? 0 : 1;
  database_queries += asked_database ? 1 : 0;
  absent_database_queries += asked_database && !exists ? 1 : 0;
  existing_answered_absent += exists && is_absent(answer) ? 1 : 0;
}

void Tally::add(const Tally& other) {
  lookups += other.lookups;
  absent_lookups += other.absent_lookups;
  database_queries += other.database_queries;
  absent_database_queries += other.absent_database_queries;
  existing_answered_absent += other.existing_answered_absent;
  errors += other.errors;
}

std::uint64_t PhaseResult::absent_gets() const {
  // One GET for each look-up of an existing key, unless it was answered absent.
  const std::uint64_t existing =
      tally.lookups - tally.absent_lookups - tally.existing_answered_absent;
  return redis_gets - std::min(redis_gets, existing);
}

PhaseResult run_phase(const Stage& stage, const Mix& mix, ProgressLine& progress) {
  return PhaseRun(stage, mix, progress).run();
}

}  // namespace cuckooguard::demo
