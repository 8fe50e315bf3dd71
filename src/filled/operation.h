// What one command of a client does to a filter, on every guard that shares it, in the order of the
// log. Items are hashes: no log and no other guard ever sees the items themselves.
//
// Threads: plain values. Errors: nothing, if bytes are no operation. Limits: kBlobBytesMax.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "filled/filled_filter.h"
#include "text/little_endian.h"

namespace cuckooguard::filled {

class DumpImage;   // filled/dump.h
struct WholeDump;  // filled/filters.h

struct Operation {
  enum class Kind : std::uint8_t {
    create,      // by `shape`; a filter that is there stays
    add,         // each of `hashes`
    add_if_new,  // those that may not be there yet
    erase,
    count,   // asks, in its turn, and changes nothing
    dump,    // the same
    drop,    // the filter is gone; if `incarnation` is not 0, only that one
    expire,  // at `until`, milliseconds since 1970; 0: never
    load,    // `blob` is a piece of a dump
  };
  // If there is no such filter.
  enum class Missing : std::uint8_t { is_an_error, is_made };

  Kind kind = Kind::count;
  std::string filter;
  Missing missing = Missing::is_an_error;
  Shape shape{};  // of what is made
  std::vector<std::uint64_t> hashes{};
  std::uint64_t until = 0;
  std::uint64_t piece = 0;  // of load, from 1 on
  std::uint64_t incarnation = 0;
  std::string blob{};
  // For load: a guard must have made the dump (filled/dump.h). Guards from before tags existed do
  // not require it, nor do guards that apply an operation of theirs.
  bool must_be_tagged = false;
  // How many filters and bytes there may be after this operation: the limits of the guard that puts
  // it into the log, and so the same for all that apply it.
  std::uint64_t filters_max = kItemsMax;
  std::uint64_t bytes_max = kItemsMax;

  // Beside the object itself.
  std::size_t bytes() const {
    return filter.size() + blob.size() + hashes.size() * sizeof(std::uint64_t);
  }
  // It changes nothing, on whichever guard.
  bool is_question() const { return kind == Kind::count || kind == Kind::dump; }
  bool operator==(const Operation&) const = default;
};

inline constexpr std::size_t kBlobBytesMax = std::size_t{60} * 1024;

// Of one item.
enum class ItemOutcome : std::uint8_t {
  done,
  not_done,
  full,     // and does not grow
  no_room,  // `bytes_max` does not let it grow
};

struct Outcome {
  enum class Status : std::uint8_t {
    done,
    no_filter,
    exists,      // create, load
    no_room,     // `filters_max` or `bytes_max`
    wrong_kind,  // it is a filter, of other commands
    bad_dump,    // load
    not_in_log,  // it was not done: the log does not take it
    unknown,     // it may have been done, or not
  };

  Status status = Status::done;
  std::vector<ItemOutcome> items{};     // add, add_if_new, erase
  std::vector<std::uint64_t> counts{};  // count
  std::string blob{};                   // dump; without a tag
  std::shared_ptr<DumpImage> image{};   // dump: the blob is yet to be made, from this
  std::shared_ptr<WholeDump> whole{};   // load: it is yet to be checked, and taken in
  // Of bad_dump, not_in_log, unknown, for people; empty: it is no dump of a guard.
  std::string why{};

  bool operator==(const Outcome&) const = default;
};

using text::put;
void put(std::string& out, const Shape& shape);
std::optional<Shape> take_shape(text::LittleEndianCursor& from);

void put(std::string& out, const Operation& operation);
std::optional<Operation> take_operation(text::LittleEndianCursor& from);

}  // namespace cuckooguard::filled
