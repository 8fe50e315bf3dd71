// What is known of a namespace's traffic: its most frequent keys and clients, over the last
// minutes, and which of its keys are to expire. A guest (app/guests.h).
//
//   GUARD.TOP namespace [absent | read | clients]     commands.cpp
//   /status, /metrics, the page                       facts.cpp
//
// Each worker has sketches of its own, which are added up when somebody asks. A sample that comes
// while somebody does is dropped, so that no worker waits. All counts are halved every kHalfLife.
//
// Threads: any; of one worker one at a time. Limits: 33 KiB for each worker that has seen a read of
// the namespace, and Expiries; whatever clients send.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "filter/key_hash.h"
#include "guard/traffic.h"
#include "traffic/expiries.h"
#include "traffic/pattern.h"
#include "traffic/top.h"

namespace cuckooguard::traffic {

// One of the most frequent keys, or clients.
struct Row {
  KeyText key{};         // of keys
  text::Network from{};  // of clients
  double per_second = 0;
  double share = 0;  // of all such reads
};

struct Ranking {
  double per_second = 0;  // reads of this kind, all of them
  std::vector<Row> rows{};

  // Of all rows.
  double share() const;
};

class Sketches final : public guard::Traffic {
 public:
  static constexpr std::chrono::seconds kHalfLife{60};
  static constexpr std::size_t kRows = 10;
  static constexpr std::size_t kRecent = 64;  // absent reads of a worker, for their pattern

  enum class Kind : std::uint8_t { read, absent };
  static constexpr std::size_t kKinds = 2;

  explicit Sketches(std::size_t workers, const filter::HashSecret& secret = filter::random_secret())
      : hash_(secret), workers_(workers) {}

  void saw(const Read& read, std::size_t worker, TimePoint now) override;
  void expires(TimePoint at, TimePoint now) override;

  Ranking keys(Kind kind, TimePoint now) const;
  Ranking clients(Kind kind, TimePoint now) const;
  // `prefix`: pattern_of().
  Pattern pattern(std::size_t prefix, TimePoint now) const;
  // As if all writes had been seen.
  std::optional<Expiries::Peak> expiring(TimePoint now) const;
  std::uint64_t expiring_total() const {
    return kEveryExpiry * expiring_.load(std::memory_order_relaxed);
  }

 private:
  struct Counted {
    double weight = 0;  // samples, halved with the others
    Top<KeyText> keys;
    Top<text::Network> clients;
  };
  // Of one worker.
  struct Sketch {
    explicit Sketch(TimePoint now) : aged_at(now) {}

    void age(TimePoint now);
    // For how long it has counted, if what has been halved is half of its time.
    double seconds(TimePoint now) const;

    TimePoint aged_at;
    double seconds_before = 0;
    std::array<Counted, kKinds> kinds;
    std::array<AbsentRead, kRecent> recent;
    std::size_t next = 0;
  };
  struct alignas(64) Worker {
    std::mutex mutex;
    std::unique_ptr<Sketch> sketch;  // null: it has seen nothing
  };

  template <class RowOf, class TopOf>
  Ranking ranking(Kind kind, TimePoint now, TopOf top_of, RowOf row_of) const;

  filter::KeyHash hash_;
  mutable std::vector<Worker> workers_;
  Expiries expiries_;
  std::atomic<std::uint64_t> expiring_{0};
};

}  // namespace cuckooguard::traffic
