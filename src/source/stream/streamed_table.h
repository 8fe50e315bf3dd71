// One table of a change stream on its way into its filter.
//
// What is known of it is which rows it has, by their messages' keys, and under which hash each is
// in the filter. The last message of a row counts, so one that comes again changes nothing, and
// nobody need say what a row was before.
//
//   row's key ─▶ digest ─▶ hash of its identity      rows_, from the beginning of a proof on
//                              └─▶ live filter       once it is proven that no row is missing
//
// That no row is missing:
//   since     its rows are known from a moment on, without a gap: from the channels' beginnings, or
//             from when something was not understood. Everything since is taken.
//   begun     a snapshot has begun since: its first row says so, or Debezium does;
//   ended     its last row, or Debezium, says so, and no fewer rows have come than Debezium read;
//   following and all channels have been read to their ends behind that.
// A row is known by the channel, too: if a topic gets more partitions, what an older one says of a
// row does not undo what a newer one says, but stays beside it.
// With several channels, what comes in one of them may be later than what comes in another: begun
// counts only if all had been read to their ends twice since (the first time may have begun
// before), or were read from their beginnings. Without any there is no such table yet. Read whole
// from the beginnings of topics of which the operator says that they have every row, it needs no
// snapshot.
//
// What has gone is erased when all that was committed with it is in the filter, whatever channel it
// came by: of a row that gets another primary key, Debezium tells as of two, and none of its keys
// may be absent in between. That is so when a later commit has come that was written after it: two
// rounds later, in whatever order the channels are read.
//
// Threads: the source's. Lifetimes: the feed outlives it. Errors: doubt(), in words without values;
// then everything passes until there is another proof. Limits: 18 to 37 bytes for each row, beside
// the filter; kErasuresMax hashes that wait to be erased, and with more of them the filter is made
// anew. Two rows are taken for one with a probability of 2^-64 for each pair.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <boost/unordered/unordered_flat_map.hpp>

#include "debezium/decoder.h"
#include "debezium/message.h"
#include "filter/key_hash.h"
#include "source/feeds.h"

namespace cuckooguard::source::stream {

// Which columns are asked for, and what each is for.
struct TablePlan {
  std::uint32_t ns = 0;
  std::string table{};                   // as the configuration has it
  std::size_t topic = 0;                 // of the reader's
  std::size_t wanted = 0;                // of the decoder's tables; namespaces may share one
  std::vector<std::size_t> identity{};   // places in its columns, in identity order
  std::vector<std::size_t> condition{};  // likewise, as condition.columns()
  bool is_whole = false;                 // the operator says that its topic has every row
  std::uint64_t definition = 0;  // of all that makes a message a hash: another one, other hashes
};

// A commit that a message has told of: its time since 1970 by the database's clock, how often
// all channels had been read to their ends before, and when that was.
struct Commit {
  std::chrono::milliseconds at{};
  std::uint64_t round = 0;
  TimePoint heard{};
};

class StreamedTable {
 public:
  using Change = debezium::Change;
  using Row = debezium::Row;

  // Digests are hashes already.
  struct DigestHash {
    using is_avalanching = void;
    std::size_t operator()(std::uint64_t digest) const noexcept { return digest; }
  };
  static constexpr std::size_t kErasuresMax = std::size_t{1} << 20;

  using Rows = boost::unordered_flat_map<std::uint64_t, std::uint64_t, DigestHash>;

  // `wanted` outlives it.
  StreamedTable(Feed& feed,
                TablePlan plan,
                const debezium::Table& wanted,
                const filter::KeyHash& digest)
      : feed_(&feed), plan_(std::move(plan)), wanted_(&wanted), digest_(digest) {}

  // All of its channels are read from their beginnings.
  void begin_anew(std::size_t channels, std::string_view why);
  // But something had been taken out in front.
  void lacks_beginning();
  // `channel`: which of its own. An error: what it is to doubt().
  std::expected<void, std::string> take(const Change& change, std::size_t channel);
  // As Debezium's notifications say, of this one and then of all. `id`: an incremental snapshot's.
  bool snapshot_begins(std::string_view id);  // false: too early to count
  // `rows`: so many were read.
  void scan_ends(std::string_view id, std::uint64_t rows);
  void snapshot_ends(std::string_view id, std::int64_t ms);
  void forget_scan() { notified_.scan.reset(); }  // notifications are missing
  // Everything passes until a snapshot comes. The first reason is told.
  void doubt(std::string_view why);
  // The stream goes back in time, and on from there: so does the table, until a snapshot ends.
  void go_back(std::string_view why);
  // All channels have been read to their ends. `is_replaying`: but one of its own is behind what it
  // has had before.
  void caught_up(bool is_replaying);

  bool is_following() const { return is_following_; }
  bool is_in_doubt() const { return is_in_doubt_; }
  // Everything passes until one has ended, perhaps one that has begun.
  bool needs_snapshot() const { return !is_following_ && !is_from_beginning_; }
  // All that was committed before `covered` is in the filter.
  void prove(TimePoint at, const Commit& covered);
  Feed& feed() { return *feed_; }
  const TablePlan& plan() const { return plan_; }
  const debezium::Table& wanted() const { return *wanted_; }

  // For checkpoints, of one that is followed.
  const Rows& rows() const { return rows_; }
  const filter::IsolatedRows& isolated() const { return feed_->live().writable_isolated(); }
  // Rows of commits up to this one may have gone, and what came with them not be there yet.
  std::chrono::milliseconds torn_until() const;
  void restore(std::size_t channels,
               Rows rows,
               filter::IsolatedRows isolated,
               std::chrono::milliseconds torn_until);

 private:
  enum class Ended : std::uint8_t { no, just_now, before };  // the last time of caught_up()
  using Values = std::span<const std::optional<std::string_view>>;
  using Hash = std::optional<std::uint64_t>;  // nothing: no such row, or none that has a key
  // What notifications have said of a snapshot.
  struct Notified {
    std::optional<std::string> scan{};       // has ended: of the snapshot with this id
    std::optional<std::int64_t> ended_ms{};  // the snapshot, by Debezium's clock
    std::uint64_t rows_needed = 0;           // to follow the table
  };

  // In the order of the columns; until the next.
  std::expected<Values, std::string> values_of(Row row, std::span<const std::size_t> columns);
  std::expected<Hash, std::string> hash_of(Row row);
  std::expected<void, std::string> change_row(const Change& change, std::size_t channel);
  std::expected<std::optional<std::string_view>, std::string> value_of(Row row, std::size_t column);
  void note_snapshot(const Change& change);
  bool has_caught_up() const { return caught_up_ > 1 || is_from_beginning_; }
  void end();
  void forget_rows();
  std::expected<void, std::string> truncate();
  void set_row(std::uint64_t digest, Hash now, std::string_view committed_ms);
  void erase_later(std::uint64_t hash, std::string_view committed_ms);
  void erase_what_is_due(const Commit& covered);
  bool publish(std::uint64_t room);

  Feed* feed_;
  TablePlan plan_;
  const debezium::Table* wanted_;
  filter::KeyHash digest_;
  Rows rows_{};
  std::size_t channels_ = 1;
  bool is_from_beginning_ = false;
  std::uint8_t caught_up_ = 0;  // how often since, up to 2: the first time may have begun before
  bool has_begun_ = false;
  std::string begun_id_{};
  std::uint64_t snapshot_rows_ = 0;  // since
  Notified notified_{};
  std::int64_t first_row_ms_ = 0;  // by Debezium's clock, of what is in rows_
  Ended ended_ = Ended::no;
  // Rows of one may have come, and its last has not: else that is its only one.
  bool is_within_snapshot_ = false;
  std::uint64_t rounds_ = 0;  // of caught_up()
  bool is_following_ = false;
  bool is_in_doubt_ = false;  // and nothing has begun since
  struct Erasure {
    Commit by;
    std::uint64_t hash = 0;
  };
  std::deque<Erasure> erasures_{};
  std::chrono::milliseconds torn_until_{};  // before it was restored
  bool has_too_much_ = false;               // the filter: hashes that nobody will erase
  std::vector<std::optional<std::string_view>> values_{};
};

}  // namespace cuckooguard::source::stream
