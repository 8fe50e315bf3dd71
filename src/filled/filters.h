// All filters that applications fill, by the keys that they are asked for: what every guard has
// that has applied the same operations in the same order.
//
//   apply(operation) ──▶ filters ──▶ directory() ── any thread: may_contain
//
// Every apply() is the same on every guard: it depends on no clock and no setting of theirs; what
// limits there are, the operation says.
//
// Expiry. A filter that is past its time is gone for whoever asks (Named::is_there); it is taken
// out by an operation in the log (expired()), so that every guard loses it at the same place.
//
// Threads:   directory(), totals() and hash() from any; all else from one writer at a time.
// Lifetimes: a directory lives as long as somebody has it, and its filters do.
// Errors:    outcomes; restore() says what is wrong.
// Limits:    an operation's. A directory is copied for each change of which filters there are, and
//            for each that grows. kLoadingMax dumps are loaded at a time; one more ends the oldest.
#pragma once

#include <atomic>
#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
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
  static constexpr std::size_t kLoadingMax = 16;

  struct Totals {
    std::uint64_t filters = 0;
    std::uint64_t items = 0;
    std::uint64_t bytes = 0;  // with what is being loaded
  };

  explicit Filters(const filter::HashSecret& secret);

  // --- any thread ---
  std::shared_ptr<const Directory> directory() const;
  // Changes with directory(), before it.
  std::uint64_t version() const noexcept { return version_.load(std::memory_order_acquire); }
  std::uint64_t hash(std::string_view item) const noexcept { return hash_(item); }
  // Of all: nobody has to go through them. Each is of the last apply(), not all of the same.
  Totals totals() const noexcept;

  // --- the writer ---
  Outcome apply(const Operation& operation);
  // In order; whoever looks sees what is changed when all are done.
  std::vector<Outcome> apply(std::span<const Operation> operations);
  // Operations that take out what is past its time.
  std::vector<Operation> expired(std::uint64_t now) const;
  // What has been applied so far; and it is as if that had been applied here. A sentence: it is not
  // what dump() gives, or was hashed with another secret; then all is as before. `between` is
  // called between two filters: operations may be applied meanwhile, and are in the dump or not.
  std::string dump(const std::function<void()>& between = [] {}) const;
  std::expected<void, std::string> restore(std::string_view dump);
  void clear();

 private:
  struct Loading {  // of a dump that a client loads
    std::uint64_t next = 1;
    std::uint64_t claimed = 0;  // bytes of all
    std::uint64_t number = 0;   // of all that have begun: the oldest one has the least
    std::string bytes;
  };
  using AllLoading = std::unordered_map<std::string, Loading>;

  Outcome do_apply(const Operation& operation);
  Outcome create_filter(const Operation& operation);
  Outcome load_piece(const Operation& operation);
  Outcome begin_loading(const Operation& operation);
  const Named* find(std::string_view name) const;
  // Null: there is none, or `outcome` says why there cannot be one.
  Named* find_or_make(const Operation& operation, Outcome& outcome);
  bool has_room(const Operation& operation, std::uint64_t bytes) const;
  ItemOutcome make_room(const Operation& operation, Named& named);
  ItemOutcome add_item(std::uint64_t hash, const Operation& operation, Named& named);
  void set(const std::string& name, Named named);
  void publish_changes();

  filter::KeyHash hash_;
  // The writer's:
  Directory all_;
  bool has_changed_ = false;  // since it was published
  std::uint64_t items_ = 0;
  std::uint64_t bytes_ = 0;  // of all filters, and of what is being loaded
  std::uint64_t incarnations_ = 0;
  AllLoading loading_;
  mutable std::mutex mutex_;  // for the pointer
  std::shared_ptr<const Directory> published_;
  std::atomic<std::uint64_t> version_{0};
  // As totals() has them:
  std::atomic<std::uint64_t> told_filters_{0};
  std::atomic<std::uint64_t> told_items_{0};
  std::atomic<std::uint64_t> told_bytes_{0};
};

}  // namespace cuckooguard::filled
