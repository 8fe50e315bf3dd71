// A Source that is one thread taking a Follower's steps until it is told to stop. A pause between
// two of them ends early when a reader wants a question that the next step would answer.
//
// Threads: the follower's steps run on the thread alone, look_up_row() on its caller's; stop()
// wakes it from its pause and joins it. Lifetimes: the questions outlive it.
#pragma once

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <stop_token>
#include <thread>

#include "filter/questions.h"
#include "source/follower.h"
#include "source/row_lookup.h"
#include "source/source.h"

namespace cuckooguard::source {

class SourceThread final : public Source {
 public:
  // `rows` and `questions` may be null.
  SourceThread(std::unique_ptr<Follower> follower,
               std::unique_ptr<RowLookup> rows,
               filter::Questions* questions = nullptr);
  SourceThread(const SourceThread&) = delete;
  SourceThread& operator=(const SourceThread&) = delete;
  ~SourceThread() override;

  void start() override;
  void stop() override;
  void let_go() override { follower_->let_go(); }
  SourceStatus status() const override { return follower_->status(); }
  // Who waits for a position wants to hear soon how far the log is.
  Reached reached(std::string_view position) const override {
    const Reached reached = follower_->reached(position);
    if (reached == Reached::not_yet && questions_ != nullptr) {
      questions_->want();
    }
    return reached;
  }
  RowAnswer look_up_row(std::uint32_t ns,
                        std::string_view identity,
                        const std::stop_token& stop) override {
    return rows_ ? rows_->ask(ns, identity, stop) : Source::look_up_row(ns, identity, stop);
  }

 private:
  void run(const std::stop_token& stop);
  void pause(std::chrono::nanoseconds most, const std::stop_token& stop);

  std::unique_ptr<Follower> follower_;
  std::unique_ptr<RowLookup> rows_;
  filter::Questions* questions_;
  std::mutex mutex_;  // for the pause alone
  std::condition_variable_any woken_;
  std::jthread thread_;
};

}  // namespace cuckooguard::source
