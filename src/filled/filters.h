// All filters that applications fill, by the keys that they are asked for: what every guard has
// that has applied the same operations in the same order.
//
//   apply(operation) ──▶ filters ──▶ directory() ── any thread: may_contain
//
// Every apply() is the same on every guard: it depends on no clock, no limit and no setting of one
// of them. What must be refused for such a reason is refused before it is in the log.
//
// Expiry. A filter that is past its time is gone for whoever asks (Named::is_there); it is taken
// out by an operation in the log (expired()), so that every guard loses it at the same place.
//
// Threads:   directory() and hash() from any; all else from one writer at a time.
// Lifetimes: a directory lives as long as somebody has it, and its filters do.
// Errors:    outcomes; restore() says what is wrong.
// Limits:    none of its own: who lets operations in has them (guard/filled_commands.h).
#pragma once

#include <atomic>
#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "filled/filled_filter.h"
#include "filled/operation.h"
#include "filter/key_hash.h"

namespace cuckooguard::filled {

struct Named {
  std::shared_ptr<FilledFilter> filter;
  std::uint64_t incarnation = 0;  // tells it from others of its name; never 0
  std::uint64_t until = 0;        // milliseconds since 1970; 0: no end

  bool is_there(std::uint64_t now) const { return until == 0 || now < until; }
};

struct TextHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const {
    return std::hash<std::string_view>()(text);
  }
};
using Directory = std::unordered_map<std::string, Named, TextHash, std::equal_to<>>;

class Filters {
 public:
  explicit Filters(const filter::HashSecret& secret);

  // --- any thread ---
  std::shared_ptr<const Directory> directory() const;
  // Changes with directory(), before it.
  std::uint64_t version() const noexcept { return version_.load(std::memory_order_acquire); }
  std::uint64_t hash(std::string_view item) const noexcept { return hash_(item); }

  // --- the writer ---
  Outcome apply(const Operation& operation);
  // Operations that take out what is past its time.
  std::vector<Operation> expired(std::uint64_t now) const;
  // What has been applied so far; and it is as if that had been applied here. A sentence: it is not
  // what dump() gives, or was hashed with another secret; then all is as before.
  std::string dump() const;
  std::expected<void, std::string> restore(std::string_view dump);
  void clear();

 private:
  struct Loading {  // of a dump that a client loads
    std::uint64_t next = 1;
    std::string bytes;
  };

  Outcome create_filter(const Operation& operation);
  Outcome load_piece(const Operation& operation);
  const Named* find(std::string_view name) const;
  Named* find_or_make(const Operation& operation);
  bool make_room(Named& named);
  ItemOutcome add_item(std::uint64_t hash, bool only_if_new, Named& named);
  void set(const std::string& name, Named named);
  void publish();

  filter::KeyHash hash_;
  Directory all_;  // the writer's
  std::uint64_t incarnations_ = 0;
  std::unordered_map<std::string, Loading> loading_;
  mutable std::mutex mutex_;  // for the pointer
  std::shared_ptr<const Directory> published_;
  std::atomic<std::uint64_t> version_{0};
};

}  // namespace cuckooguard::filled
