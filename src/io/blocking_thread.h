// A thread for calls that may block for ever: a write that nobody reads, a file on a mount that
// hangs, a name look-up. Post such a call here and go on. It must not run on a worker (io::Worker),
// on the main thread, or under a lock that one of them takes (docs/design.md, "Calls that may
// block").
//
//   post(call, then) ──▶ [at most waiting_max] ──▶ call() ──▶ then(), unless the owner has gone
//
// Threads: post() and finish() from any, the destructor from the owner's. The thread begins with
// the first call, and blocks all signals.
// Lifetimes: a call that hangs outlives this object, so `call` owns what it uses. `then` may use
// what outlives this object: it is never called once the destructor has returned.
// Errors: post() returns false. What a call throws ends the process (log/last_word.h).
// Limits: waiting_max; the destructor waits for `patience` for what has been posted, then leaves
// the thread behind: the kernel ends it with the process.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>

namespace cuckooguard::io {

class BlockingThread {
 public:
  struct Limits {
    std::size_t waiting_max = 1;  // calls, without the one that runs
    std::chrono::milliseconds patience{0};
    const char* name = "blocking";  // as `top -H` shows it; 15 bytes at most
  };

  explicit BlockingThread(Limits limits);
  BlockingThread(const BlockingThread&) = delete;
  BlockingThread& operator=(const BlockingThread&) = delete;
  ~BlockingThread();

  // Calls run one after the other, in this order; `then` must neither block nor throw. False:
  // waiting_max calls wait already, or no thread can be started; neither will be called.
  [[nodiscard]] bool post(std::function<void()> call, std::function<void()> then = nullptr);

  // Whether all that has been posted is done, waiting for that at most this long.
  bool finish(std::chrono::milliseconds patience);

 private:
  struct Shared;  // with the thread

  Limits limits_;
  std::shared_ptr<Shared> shared_;
};

}  // namespace cuckooguard::io
