// Replies that are not known yet, such as that of a change which goes by way of a log.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include <boost/core/noncopyable.hpp>

namespace cuckooguard::guard {

// Promised replies that are known by now, on their way to the worker whose clients wait for them.
//
//   any thread: add() ─ the first one: post ─▶ the worker: take() ─▶ tells each
//
// Must: none is missed. While the list is not empty, one post is on its way: an add() that
//   finds it empty posts, and so does a take() that leaves entries in it.
//
// Threads:   add() from any, all else the worker's. Lifetimes: whoever adds shares it with the
//            worker, which close()s it before what it posts to ends.
// Errors:    a post that fails, for want of memory, is tried again until it succeeds.
// Limits:    one entry for each reply that is waited for; take() returns kPerTurn, so that others
//            are served in between.
class KnownReplies {
 public:
  static constexpr std::size_t kPerTurn = 256;
  using Waiters = std::list<void*>;  // names: what is there may have gone

  // `post`: take() is to be called on the worker's thread, soon.
  explicit KnownReplies(std::function<void()> post) : post_(std::move(post)) {}

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

// Threads: its worker's. Lifetimes: it owns what it is told by. Errors: whatever becomes of it is a
// reply. Limits: it is known at some time.
class PromisedReply : boost::noncopyable {
 public:
  virtual ~PromisedReply() = default;

  // What it takes until it is known.
  virtual std::size_t bytes() const = 0;
  // Once: `waiter` is added to `known` when it is, also if it is already.
  virtual void await(std::shared_ptr<KnownReplies> known, void* waiter) = 0;
  virtual bool is_known() const noexcept = 0;
  // If is_known(); once.
  virtual void append_to(std::string& out) const = 0;
};

// Makes the client's reply of what Redis replies to something else, kAskedBytes of it at most: it
// is written to `out`, or promised. Called once at most: an error of Redis's is relayed instead,
// unless `takes_errors`, and a connection that is lost replies nothing.
struct AskedReply {
  static constexpr std::size_t kAskedBytes = 1024;

  std::function<std::unique_ptr<PromisedReply>(std::string_view redis, std::string& out)> reply;
  bool takes_errors = false;
};

}  // namespace cuckooguard::guard
