// Asks over and over, by a new connection each time, which server an address leads to: a name, a
// virtual IP or a balancer may have moved on to another one while the one that is followed lives on
// and answers.
//
// A connection that is open proves nothing of that, and neither does the resolver's answer: an
// address that is missing from it may still be the same server's, and one that has moved does not
// show there. So the identity of whoever answers is compared. Who cannot be reached has said
// nothing (the server may be full, the resolver ill): the server is followed on. Who refuses us may
// be another one: it has ended.
//
// Costs the server one connection per kEveryMin, or per max_lag if that is longer.
//
// Threads: its own; construction starts it, destruction ends it, and waits for what is being asked.
// Errors: it ends, and says why.
#pragma once

#include <algorithm>
#include <chrono>
#include <expected>
#include <functional>
#include <stop_token>
#include <string>
#include <utility>

#include "follow/ending_thread.h"
#include "follow/pause.h"

namespace cuckooguard::source {

class ServerWatch final : public EndingThread {
 public:
  static constexpr std::chrono::seconds kEveryMin{1};
  // Of each connection and answer, so that nobody waits long for its end.
  static constexpr std::chrono::seconds kTimeout{2};
  // An error: another server than is followed answers, or may.
  using Ask = std::function<std::expected<void, std::string>()>;

  // `on_end`: on its thread, once; whoever is to look may be waiting for something else.
  ServerWatch(Ask ask, std::chrono::nanoseconds max_lag, std::function<void()> on_end)
      : EndingThread(
            [ask = std::move(ask), every = std::max<std::chrono::nanoseconds>(max_lag, kEveryMin)](
                const std::stop_token& stop) {
              std::expected<void, std::string> asked;
              while (asked && pause_for(every, stop)) {
                asked = ask();
              }
              return asked ? std::string() : std::move(asked.error());
            },
            std::move(on_end)) {}
};

}  // namespace cuckooguard::source
