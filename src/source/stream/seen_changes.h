// Which changes of a channel are new, and which come again.
//
// A channel (a Redis stream, a partition of a topic) has the changes of a log in the log's order,
// at least once: after a restart the connector goes back, and on from there without a gap.
//
//   1 2 3 4 5 | 3 4 5 6 7 | 5 6 7 8        new: 1 … 8, each once
//
// So a change behind all others is new, and one that is not has been seen. That is not believed
// but looked up among the last changes: a server of the same name that was set up anew, or a log
// that was reset, has positions that compare and mean nothing (debezium/position.h). What is
// neither new nor seen is unknown, and its tables are to be read again.
//
// Must: a change is taken for one that comes again only if one with this position, time, row and
// kind was told to be new. (tests/source/stream/seen_changes_test.cpp)
//
// Threads: one. Limits: 8 bytes for each change, of the last `most`; one that comes again from
// further back is unknown. Two changes are taken for one another with a probability of 2^-64 for
// each pair.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>

#include "debezium/message.h"
#include "filter/key_hash.h"
#include "text/little_endian.h"

namespace cuckooguard::source::stream {

class SeenChanges {
 public:
  static constexpr std::size_t kKeptMax = std::size_t{1} << 20;

  enum class Kind : std::uint8_t { fresh, again, unknown };

  // Digests that are kept in a checkpoint are compared by who has the same `digest` again.
  SeenChanges(std::size_t most, const filter::KeyHash& digest) : most_(most), hash_(digest) {}

  // `change` has an origin and a position, and is of the log: no row of a snapshot.
  Kind add(const debezium::Change& change);
  // A snapshot has begun: what comes behind it is not further back than this. False: it is itself
  // further back than what was seen, as one of a replica; what was seen comes again then, and
  // counts.
  bool snapshot_at(const debezium::Change& row);
  // The log is another one: nothing was seen of it.
  void forget();

  // Changes come again, and more of them will.
  bool is_replaying() const { return next_ < digests_.size(); }
  const std::optional<debezium::Place>& last() const { return last_; }
  // For a checkpoint: where it is and the last kKeptMax changes. False: these are no such bytes.
  void put(std::string& out) const;
  bool take(text::LittleEndianCursor& from);

 private:
  std::uint64_t digest_of(const debezium::Change& change, const debezium::Position& position);
  bool was_seen(std::uint64_t digest);

  std::size_t most_;
  std::optional<debezium::Place> last_;  // the furthest in the log
  std::deque<std::uint64_t> digests_;    // in the order in which they were new
  // PostgreSQL: the LSN of the last snapshot, whose rows have no commit before them. What was
  // written before it, behind a commit before it, is not new.
  std::uint64_t snapshot_lsn_ = 0;
  std::size_t of_place_ = 0;  // of these, those of the last one's place
  std::size_t next_ = 0;      // while changes come again: the one to come, likely
  filter::KeyHash hash_;
  std::string bytes_;
};

}  // namespace cuckooguard::source::stream
