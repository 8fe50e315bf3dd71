// The rows of one table that a transaction has changed, netted: what each was before it and is
// after it, however often it was changed in between.
//
//   INSERT 7; UPDATE 7 SET id = 8; DELETE 9; INSERT 9      rows by primary key
//     7: nothing -> nothing     8: nothing -> b     9: c -> d
//   apply():  insert b, insert d, then erase c
//
// Inserts come first, so that no look-up sees a row gone that has only moved; and what has not
// changed is not touched, so that the filter is never asked to delete what another row's equal
// identity needs.
//
// A row is named by 128 bits of its primary key's hash, under a secret of this process: two rows of
// one transaction are taken for one another with probability 2^-128 per pair.
//
// Rows are found by an index, but not before one is needed: while all changes are inserts of rows
// with a key for them, as of a bulk load, they only stand in a row.
//
// Threads: the source's. Errors: add() is false if the change begins with another row than the last
// one left, or there are too many rows: the log was not understood, and the table must be read
// again. A row that is inserted twice, which no log should say, is noticed only once there is an
// index. Limits: rows_max rows, of at most 62 bytes each, inserts alone or sealed some 42; when the
// index grows, both are there for a moment. What a large transaction took is given back after it.
// Source: notes on change following, 4.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

namespace cuckooguard::source {

struct RowName {
  std::uint64_t low = 0;
  std::uint64_t high = 0;

  bool operator==(const RowName&) const = default;
};

class Transaction {
 public:
  // The filter's hash of the row's identity; nothing if there is no row, or no key for it.
  using Image = std::optional<std::uint64_t>;

  explicit Transaction(std::size_t rows_max) : rows_max_(rows_max) {}

  // One change of the row: an insert has nothing before it, a delete nothing behind it. A change of
  // the primary key is a delete and an insert.
  [[nodiscard]] bool add(const RowName& row, Image before, Image after);

  std::size_t rows() const { return rows_.size(); }

  // There is no more to come: what only add() needs is given back. add() is false from then on.
  void seal() {
    std::vector<Slot>().swap(slots_);
    is_sealed_ = true;
  }
  // On the heap, roughly.
  std::size_t bytes() const;

  // Calls insert(hash) for all that came.
  template <class Insert>
  void for_each_insert(const Insert& insert) const {
    for (const Row& row : rows_) {
      if (row.is_there_after && !row.is_unchanged()) {
        insert(row.after);
      }
    }
  }
  // Calls erase(hash) for all that went: behind the inserts.
  template <class Erase>
  void for_each_erase(const Erase& erase) const {
    for (const Row& row : rows_) {
      if (row.was_there_before && !row.is_unchanged()) {
        erase(row.before);
      }
    }
  }

  // Calls touched(name, after) for every row that was touched.
  template <class Touched>
  void for_each(const Touched& touched) const {
    for (const Row& row : rows_) {
      touched(row.name, row.image_after());
    }
  }

  // Ready for the next one.
  void clear();

 private:
  struct Row {
    RowName name;
    std::uint64_t before = 0;
    std::uint64_t after = 0;
    bool was_there_before = false;
    bool is_there_after = false;

    bool is_unchanged() const {
      return was_there_before == is_there_after && (!is_there_after || before == after);
    }
    Image image_after() const { return is_there_after ? Image(after) : Image(); }
  };
  static_assert(sizeof(Row) == 40);

  // Where a row is. Small, so that a large transaction misses the cache once per row.
  struct Slot {
    std::uint32_t number = 0;  // of rows_, from 1 on; 0: free
    std::uint32_t tag = 0;     // of its name
  };

  std::size_t place_of(std::uint32_t tag) const;
  Slot& find(const RowName& name);
  bool append(const RowName& row, Image before, Image after);
  bool make_index();
  void grow();

  std::size_t rows_max_;
  std::deque<Row> rows_;  // in the order in which they were touched first
  // The index: open addressing, a power of two of them; none while all that was added are inserts.
  std::vector<Slot> slots_;
  bool is_sealed_ = false;
};

}  // namespace cuckooguard::source
