// Whose changes are finished, for the thread on which they wait for it: a worker's.
//
//   any thread: Change::finish() ─▶ add() ─ the first one: post ─▶ the worker: take() ─▶ each is
//   told
//
// Must: nobody is missed. While there is anybody in the list, one post is on its way: whoever finds
// it empty posts, and so does take() if it leaves somebody.
//
// Threads:   add() from any, all else the worker's. Lifetimes: changes share it with the worker,
//            which close()s it before what it posts to ends.
// Errors:    a post that fails, for want of memory, is tried again until it succeeds.
// Limits:    one entry for each change that is waited for; take() gives kPerTurn, so that others
//            are served in between.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <list>
#include <mutex>
#include <utility>

namespace cuckooguard::filled {

class FinishedChanges {
 public:
  static constexpr std::size_t kPerTurn = 256;
  using Waiters = std::list<void*>;  // names: what is there may have gone

  // `post`: take() is to be called on the worker's thread, soon.
  explicit FinishedChanges(std::function<void()> post) : post_(std::move(post)) {}

  // Takes them out of the list in which they come, which needs no memory.
  void add(Waiters& waiters) noexcept;
  Waiters take();
  void close();  // nothing is posted any more

 private:
  void post(std::unique_lock<std::mutex>& lock);

  std::function<void()> post_;  // null: closed
  std::condition_variable closed_;
  std::mutex mutex_;
  Waiters waiters_;
};

}  // namespace cuckooguard::filled
