// One end of a non-blocking byte stream: a socket in the product, a pipe with faults in the
// simulation.
//
// Threads: its loop's. Lifetimes: destroy a transport only between batches (hand its owner to
//   Loop::dispose()), since the loop may still hold its readiness in the current batch; close() is
//   immediate and may be called at any time.
// Errors: values. After `closed` or `failed` from read() there is nothing more to read; write() may
//   still work after a read's `closed` (the peer has only said that it will send no more).
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <boost/core/noncopyable.hpp>

namespace cuckooguard::io {

enum class Interest : std::uint8_t { none = 0, read = 1, write = 2, both = 3 };

struct Readiness {
  bool readable = false;
  bool writable = false;
  bool hung_up = false;  // both directions are dead; unread bytes may still be waiting
  // The peer sends no more; unread bytes are still waiting. Told once, with an interest of `none`:
  // else reading tells.
  bool has_finished = false;
};

enum class Status : std::uint8_t { ok, would_block, closed, failed };

struct Transfer {
  Status status = Status::ok;
  std::size_t bytes = 0;
};

class Watcher {
 public:
  virtual void on_ready(Readiness readiness) = 0;

 protected:
  ~Watcher() = default;
};

class Transport : boost::noncopyable {
 public:
  virtual ~Transport() = default;

  // Whom to tell of readiness; must outlive the transport. Called once, before anything else.
  virtual void bind(Watcher& watcher) = 0;

  // What to be told of, level-triggered. Costs a system call only when it changes. With `none`, the
  // end of both directions, and of the peer's alone, are still reported, once.
  virtual void watch(Interest interest) = 0;

  virtual Transfer read(std::span<char> into) = 0;
  // At most kPiecesMax pieces are looked at. After `would_block` the next one begins with the same
  // bytes.
  virtual Transfer write(std::span<const std::string_view> pieces) = 0;
  static constexpr std::size_t kPiecesMax = 64;

  // Tells the peer that nothing more will be sent; reading goes on.
  virtual void finish_writing() = 0;

  virtual void close() = 0;
  virtual bool is_open() const = 0;

  // The socket, for a transport of another loop: this one is closed without a word, and nothing of
  // what comes is lost. Not within a batch that may hold its readiness. -1: it cannot be had.
  virtual int release() { return -1; }
  virtual bool may_be_released() const { return false; }

  // Why no bytes come (any more), in words, asked before close(): the connection could not be made,
  // or has ended, or is not up yet although its owner's patience is at an end.
  virtual std::string why_ended() const { return {}; }

  // For how long the peer's kernel has been silent although it has not acknowledged everything that
  // was sent to it. Nothing: it has; or it currently takes no more and says so (its reader does not
  // read); or there is no network in between.
  virtual std::optional<std::chrono::milliseconds> unheard_for() const { return std::nullopt; }
};

}  // namespace cuckooguard::io
