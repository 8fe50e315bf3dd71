// Rows of which followers of a fleet want to know whether the database has them: asked for on the
// admin server's thread, answered by Verification between its own questions.
//
//   ask(question) ─▶ [waiting, kWaitingMax at most] ─▶ serve() ─▶ the answer, for the next ask()
//
// Who asks no more leaves its question behind: it is answered, and forgotten after kWithin.
//
// Threads: ask() any, serve() one. Errors: `unknown`, and why: too many wait, or kWithin is over,
// by which a look-up that still goes on is told to stop.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <list>
#include <mutex>
#include <optional>
#include <stop_token>

#include "guard/process.h"
#include "io/clock.h"
#include "source/source.h"

namespace cuckooguard::app {

class RowDesk final : public guard::RowQuestions {
 public:
  static constexpr std::size_t kWaitingMax = 16;
  static constexpr std::chrono::milliseconds kWithin{1500};

  using LookUp =
      std::function<source::RowAnswer(const guard::RowQuestion&, const std::stop_token& stop)>;

  explicit RowDesk(source::Clock clock = io::now_since_boot) : clock_(std::move(clock)) {}

  std::optional<source::RowAnswer> ask(const guard::RowQuestion& question) override;
  // Answers one question, for which it waits for so long.
  void serve(const LookUp& look_up, std::chrono::nanoseconds wait, const std::stop_token& stop);

 private:
  struct Asked {
    guard::RowQuestion question;
    std::stop_source stop{};
    std::optional<source::RowAnswer> answer{};
  };
  using All = std::list<Asked>;

  All::iterator find(const guard::RowQuestion& question);
  void forget_late();

  source::Clock clock_;
  std::mutex mutex_;
  std::condition_variable_any asked_;
  All all_;
};

}  // namespace cuckooguard::app
