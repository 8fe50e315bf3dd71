#include "load.h"

#include <algorithm>
#include <array>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <random>
#include <thread>

#include <fmt/format.h>

#include "harness/interrupt.h"
#include "harness/row_store.h"

namespace cuckooguard::demo {
namespace {

using harness::Interrupt;
using Clock = Interrupt::Clock;

constexpr std::uint64_t kPopular = 500;        // rows
constexpr std::uint64_t kPopularPercent = 90;  // of the look-ups
constexpr std::uint64_t kOrderPercent = 20;
constexpr std::uint64_t kAbsentFirst = 10'000'000;
constexpr std::uint64_t kAbsentLast = 1'000'000'000;
constexpr std::chrono::milliseconds kShowEvery{50};

struct Request {
  Kind kind;
  std::uint64_t number;  // of its kind, in this phase
  Clock::time_point due;
};

// What comes at a steady rate.
class Stream {
 public:
  Stream(Kind kind, double per_second, Clock::time_point begin) : next_{kind, 0, begin} {
    if (per_second <= 0) {
      next_.due = Clock::time_point::max();
    } else {
      pace_ = std::chrono::nanoseconds(static_cast<std::int64_t>(1e9 / per_second));
    }
  }

  Clock::time_point due() const { return next_.due; }
  Request take() {
    const Request request = next_;
    ++next_.number;
    next_.due += pace_;
    return request;
  }

 private:
  Request next_;
  Clock::duration pace_{0};
};

class Queue {
 public:
  // False if it is full.
  bool push(const Request& request) {
    {
      const std::scoped_lock lock(mutex_);
      if (requests_.size() >= Load::kQueueMax) {
        return false;
      }
      requests_.push_back(request);
    }
    has_more_.notify_one();
    return true;
  }
  void end() {
    {
      const std::scoped_lock lock(mutex_);
      has_ended_ = true;
    }
    has_more_.notify_all();
  }
  // Nothing behind the end.
  std::optional<Request> pop() {
    std::unique_lock lock(mutex_);
    has_more_.wait(lock, [this] { return has_ended_ || !requests_.empty(); });
    if (requests_.empty()) {
      return std::nullopt;
    }
    const Request request = requests_.front();
    requests_.pop_front();
    return request;
  }

 private:
  std::mutex mutex_;
  std::condition_variable has_more_;
  std::deque<Request> requests_;
  bool has_ended_ = false;
};

class Run {
 public:
  Run(Load::Shared& load, const Phase& phase, std::uint64_t seed)
      : load_(load), phase_(phase), seed_(seed) {}

  std::vector<Sample> all() {
    std::vector<std::vector<Sample>> samples(load_.mix.clients + 1);
    {
      std::vector<std::jthread> threads;
      threads.reserve(load_.mix.clients + 1);
      for (std::size_t i = 0; i < load_.mix.clients; ++i) {
        threads.emplace_back([this, &into = samples[i]] { guarded([&] { work(into); }); });
      }
      begin_ = Clock::now();
      threads.emplace_back([this, &into = samples.back()] { guarded([&] { generate(into); }); });
      guarded([this] { lead(); });
      is_over_ = true;
    }
    if (trouble_) {
      std::rethrow_exception(trouble_);
    }
    std::vector<Sample> all;
    for (const auto& each : samples) {
      all.insert(all.end(), each.begin(), each.end());
    }
    return all;
  }

 private:
  // The first trouble ends the phase.
  void guarded(const std::function<void()>& what) noexcept {
    try {
      what();
    } catch (...) {
      const std::scoped_lock lock(trouble_mutex_);
      trouble_ = trouble_ ? trouble_ : std::current_exception();
      is_over_ = true;
    }
  }

  void lead() {
    const auto wait_until = [this](Clock::time_point until) {
      while (!is_over_ && Clock::now() < until) {
        Interrupt::require_until(std::min(until, Clock::now() + kShowEvery));
        show("");
      }
    };
    if (!phase_.changes.empty()) {
      wait_until(begin_ + phase_.length / 3);
    }
    for (const Change& change : phase_.changes) {
      show(", " + change.what);
      change.run();
    }
    wait_until(std::max(begin_ + phase_.length,
                        phase_.changes.empty() ? begin_ : Clock::now() + phase_.length / 3));
  }

  void show(std::string_view more) {
    load_.progress.show(fmt::format("  {}: {:.1f} s, {} requests answered{}",
                                    phase_.name,
                                    std::chrono::duration<double>(Clock::now() - begin_).count(),
                                    answered_.load(),
                                    more));
  }

  void generate(std::vector<Sample>& refused) {
    std::array<Stream, 3> streams{Stream(Kind::lookup, load_.mix.lookups, begin_),
                                  Stream(Kind::new_row, load_.mix.new_rows, begin_),
                                  Stream(Kind::attack, phase_.attack, begin_)};
    while (!is_over_) {
      Stream& next = *std::ranges::min_element(streams, {}, &Stream::due);
      if (next.due() > Clock::now() && !Interrupt::wait_until(next.due())) {
        break;
      }
      const Request request = next.take();
      if (!queue_.push(request)) {
        refused.push_back(sample(request, Outcome::failed));
      }
    }
    queue_.end();
  }

  Sample sample(const Request& request, Outcome outcome) const {
    const auto now = Clock::now();
    return {.kind = request.kind,
            .outcome = outcome,
            .answered_at = std::chrono::duration<float>(now - load_.began_at).count(),
            .took_ms = std::chrono::duration<float, std::milli>(now - request.due).count()};
  }

  void work(std::vector<Sample>& samples) {
    Application application(phase_.cache, load_.pool);
    while (const auto request = queue_.pop()) {
      const std::uint64_t queries = application.queries();
      Answer answer = Answer::absent;
      auto outcome = Outcome::failed;
      try {
        answer = answer_to(*request, application);
        const bool is_there = request->kind != Kind::attack;
        outcome = is_there && answer != Answer::found ? Outcome::hidden : Outcome::good;
      } catch (const Unavailable&) {  // NOLINT(bugprone-empty-catch): it has failed
      }
      Sample one = sample(*request, outcome);
      one.queries = static_cast<std::uint8_t>(application.queries() - queries);
      one.queries_in_vain = answer == Answer::absent_in_database ? 1 : 0;
      samples.push_back(one);
      ++answered_;
    }
  }

  Answer answer_to(const Request& request, Application& application) {
    // Of the request, whichever thread has it.
    std::mt19937_64 random(seed_ * 4 + static_cast<std::uint64_t>(request.kind) +
                           (request.number << 32U));
    Item item{.is_order = random() % 100 < kOrderPercent, .id = {}};
    switch (request.kind) {
      case Kind::lookup: {
        if (load_.mix.rows > 0) {
          item = {.is_order = false, .id = std::to_string(1 + random() % load_.mix.rows)};
          break;
        }
        const std::uint64_t rows = item.is_order ? kOrders : load_.mix.users;
        const bool is_popular = random() % 100 < kPopularPercent;
        const std::uint64_t number =
            1 + (is_popular ? random() % kPopular * (rows / kPopular) : random() % rows);
        item.id = item.is_order ? uuid_of(number) : std::to_string(number);
        break;
      }
      case Kind::new_row:
        item.is_order = request.number % 2 == 0;
        item.id =
            item.is_order ? harness::random_uuid(random) : std::to_string(++load_.largest_user);
        application.create(item);
        break;
      case Kind::attack:
        item.id = item.is_order
                      ? harness::random_uuid(random)
                      : std::to_string(kAbsentFirst + random() % (kAbsentLast - kAbsentFirst));
        break;
    }
    return application.look_up(item);
  }

  Load::Shared& load_;
  const Phase& phase_;
  const std::uint64_t seed_;
  Clock::time_point begin_{};
  Queue queue_;
  std::atomic<bool> is_over_ = false;
  std::atomic<std::uint64_t> answered_ = 0;
  std::mutex trouble_mutex_;
  std::exception_ptr trouble_;
};

}  // namespace

Load::Load(const ShopDatabase& database, const Mix& mix, ProgressLine& progress)
    : shared_{.mix = mix,
              .progress = progress,
              .pool = ConnectionPool(database, mix.query_time),
              .largest_user = database.largest_user()} {}

std::vector<Sample> Load::run(const Phase& phase) {
  if (phases_ == 0) {
    shared_.began_at = Clock::now();
  }
  // Another one for each phase, and if the demo runs again, so that no id is created twice.
  const std::uint64_t seed = (shared_.mix.seed + shared_.largest_user) * 1'000 + phases_++;
  return Run(shared_, phase, seed).all();
}

}  // namespace cuckooguard::demo
