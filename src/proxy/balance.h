// When a worker gives one of its clients to another, and which one. New clients go to the worker
// with the fewest, as nobody knows yet how busy they will be; a pool opens all of its connections
// before it sends the first command. So what counts is what happens later:
//
//   busy    900 ├──────────────────┤      per mille of a core, the mean of some seconds; the
//           300 ├──────┤                  difference is 600
//   a client with a third of the work of the first moves
//   busy    600 ├────────────┤            `best`, per mille of that worker's work: half of the
//           600 ├────────────┤            difference
//
// A client with more than 3/4 of the difference stays, as moving it would only swap the two: one
// that fills a worker stays there, and others leave it.
//
// Threads: one. Limits: one move per kSettle looks; kMovesAtOnce moves, then one per kMoveEvery
// looks: clients whose load comes and goes cannot keep others moving.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace cuckooguard::proxy {

class Balance {
 public:
  static constexpr std::chrono::milliseconds kLookEvery{500};
  static constexpr unsigned kSettle = 4;  // until the loads show the last move
  static constexpr unsigned kMovesAtOnce = 16;
  static constexpr unsigned kMoveEvery = 20;
  // A worker that is less busy gives none, and none goes to one that is not so much less busy.
  static constexpr unsigned kBusy = 500;
  static constexpr unsigned kDifference = 250;
  static constexpr unsigned kShareLeast = 10;  // of a client that is worth moving

  struct Move {
    std::size_t from = 0;
    std::size_t to = 0;
    unsigned best = 0;
  };

  // `worked`: the CPU time of each worker so far; `passed` since the last look; `moves` so far.
  std::optional<Move> look(std::span<const std::chrono::nanoseconds> worked,
                           std::chrono::nanoseconds passed,
                           std::uint64_t moves);

  // How well a client with so much of its worker's work, per mille, does for a move; the smaller,
  // the better. Nothing: it stays.
  static std::optional<unsigned> distance(unsigned share, unsigned best);

 private:
  struct Worker {
    std::chrono::nanoseconds worked{};
    unsigned busy = 0;
  };

  std::vector<Worker> workers_;
  std::uint64_t moves_ = 0;
  unsigned budget_ = kMovesAtOnce;
  unsigned settles_ = 0;
  unsigned looks_ = 0;  // since the budget was raised
};

}  // namespace cuckooguard::proxy
