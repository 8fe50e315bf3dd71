// All filters that applications fill, by their keys. Guards that have applied the same operations
// in the same order have the same filters.
//
//   apply(operation) ──▶ filters ──▶ directory() ── any thread: may_contain
//
// apply() has the same result on every guard: it depends on no clock and no local setting. The
// operation itself carries the limits that apply, and what is wrong with a dump.
//
// Memory. This process may lack room that others have (Room). If other guards apply the operation,
// the filter without room becomes unsure here: any item may be in it, the outcome of its operations
// is unknown here, and everything else goes on. It recovers with a restore() of another guard's
// filters, or is gone when it is dropped. Limits are judged without what an unsure filter may have
// grown by. If no other guard has it, nothing is made or grown: `no_room`.
//
// Expiry. A filter past its time is gone for every reader (Named::is_there); an operation in the
// log removes it (expired()), so that every guard loses it at the same place.
//
// Threads:   directory(), totals() and hash() from any; all else from one writer at a time.
// Lifetimes: a directory lives as long as somebody has it, and its filters do.
// Errors:    outcomes; restore() says what is wrong. std::bad_alloc where not even a little memory
//            is left.
// Limits:    an operation's. The directory is copied for each change of which filters there are,
//            and for each filter that grows. kLoadingMax dumps are loaded at a time; one more ends
//            the oldest that is not being checked.
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

#include "filled/directory.h"
#include "filled/dump_reader.h"
#include "filled/filled_filter.h"
#include "filled/filters_image.h"
#include "filled/operation.h"
#include "filter/key_hash.h"

namespace cuckooguard::filled {

// A dump whose pieces have all come (Outcome::whole). Checking it takes time in proportion to its
// size, needs nothing else, and may be done by any thread.
struct WholeDump {
  void check() noexcept;

  Operation operation;       // the last one, without its piece
  std::uint64_t number = 0;  // of the loading
  std::unique_ptr<DumpReader> reader{};
  // Then one of these, or there was no memory for it:
  std::shared_ptr<FilledFilter> filter{};
  std::string why_bad{};
};

class Filters {
 public:
  static constexpr std::size_t kLoadingMax = 16;

  struct Totals {
    std::uint64_t filters = 0;
    std::uint64_t items = 0;
    std::uint64_t bytes = 0;   // with what is being loaded, and with what unsure ones would take
    std::uint64_t unsure = 0;  // filters, and dumps that are being loaded
    std::uint64_t unsure_bytes = 0;
  };

  // This process's room, whatever operations allow.
  struct Room {
    std::uint64_t bytes_max = std::uint64_t{1} << 62U;
    bool is_one_of_several = false;
  };

  explicit Filters(const filter::HashSecret& secret) : Filters(secret, Room()) {}
  Filters(const filter::HashSecret& secret, Room room);

  // --- any thread ---
  std::shared_ptr<const Directory> directory() const;
  // Changes with directory(), before it.
  std::uint64_t version() const noexcept { return version_.load(std::memory_order_acquire); }
  std::uint64_t hash(std::string_view item) const noexcept { return hash_(item); }
  const filter::HashSecret& secret() const noexcept { return hash_.secret(); }
  // Of all filters, without a walk through them. As of the last apply().
  Totals totals() const;

  // --- the writer ---
  Outcome apply(const Operation& operation);
  // In order; readers see the changes when all are done. Dumps are then still to be made
  // (Outcome::image), but for an operation that comes alone. A loaded dump is checked in its turn,
  // or by the caller, which then calls take_in(): Outcome::whole.
  enum class Check : std::uint8_t { in_turn, aside };
  std::vector<Outcome> apply(std::span<const Operation> operations, Check check = Check::in_turn);
  Outcome take_in(const WholeDump& whole);
  // Operations that take out what is past its time.
  std::vector<Operation> expired(std::uint64_t now) const;
  // Why a filter is unsure, in a sentence with its name; empty: none is.
  std::string why_unsure() const;
  // Whether the unsure filters would find room now.
  bool has_room_for_unsure() const;
  // Everything applied so far, to be read while further operations are applied, none of which is in
  // it. Ends the previous image. No filter may be unsure then.
  std::shared_ptr<FiltersImage> image();
  // The same at once.
  std::string dump() const;
  // As if what the dump has had been applied here. A sentence: it does not come from dump(), or was
  // hashed with another secret; then everything is as before. A filter that has no room here, or
  // that cannot exist, becomes unsure.
  std::expected<void, std::string> restore(std::string_view dump);
  void clear();
  // By no operation: where no other guard has them.
  void drop_all();

 private:
  static constexpr std::string_view kNoRoomHere =
      "it does not fit into filters.max_memory of this guard, or into the memory of its machine";

  struct Loading {  // of a dump that a client loads
    std::uint64_t next = 1;
    std::uint64_t claimed = 0;   // bytes of all
    std::uint64_t number = 0;    // of all that have begun: the oldest one has the least
    std::uint64_t received = 0;  // bytes
    // Those, for images, and what they have come to; none if it is unsure.
    FiltersImage::Pieces pieces{};
    std::unique_ptr<DumpReader> reader{};
    bool is_unsure = false;  // it has no room here
    bool is_whole = false;   // it is checked
  };
  using AllLoading = std::unordered_map<std::string, Loading>;

  static Outcome unknown_here(const std::string& why);
  FiltersImage::Pieces front_of_dump() const;
  Outcome do_apply(const Operation& operation);
  Outcome create_filter(const Operation& operation);
  Outcome load_piece(const Operation& operation);
  Outcome begin_loading(const Operation& operation);
  void end_loading(AllLoading::iterator loading);
  void receive(Loading& loading, std::string_view piece);
  static void keep_piece(FiltersImage::Pieces& pieces, std::string_view piece);
  bool read_piece(Loading& loading, std::string_view piece) const;
  Outcome load_whole(const WholeDump& whole);
  Outcome load_unsure(const Operation& operation, std::uint64_t claimed);
  const Named* find(std::string_view name) const;
  // Null: there is none, or `outcome` says why there cannot be one.
  const Named* find_or_make(const Operation& operation, Outcome& outcome);
  bool has_room(const Operation& operation, std::uint64_t bytes) const;
  bool has_room_here(std::uint64_t bytes) const;
  // Made by `make`, or an unsure one if there is no room here; null: nobody else has it.
  std::shared_ptr<FilledFilter> made_here(
      const Shape& shape,
      std::uint64_t bytes,
      std::uint64_t more,
      const std::function<std::shared_ptr<FilledFilter>()>& make) const;
  Outcome change_items(const Operation& operation, const Named& before);
  ItemOutcome make_room(const Operation& operation, Named& named);
  ItemOutcome add_item(std::uint64_t hash, const Operation& operation, Named& named);
  // In the totals, but for its items.
  void come(std::uint64_t bytes, bool is_unsure);
  void go(std::uint64_t bytes, bool is_unsure);
  void set(const std::string& name, Named named);
  void take_out(const std::string& name);
  void publish_changes();

  filter::KeyHash hash_;
  Room room_;
  // The writer's:
  Directory all_;
  bool has_changed_ = false;  // since it was published
  Totals now_;
  std::uint64_t incarnations_ = 0;
  AllLoading loading_;
  std::weak_ptr<FiltersImage> image_;
  mutable std::mutex mutex_;  // for what follows
  std::shared_ptr<const Directory> published_;
  Totals told_;
  std::atomic<std::uint64_t> version_{0};
};

}  // namespace cuckooguard::filled
