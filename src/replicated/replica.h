// What is here of the log that guards share: a state machine without I/O. FilterLog asks Redis,
// passes on its replies, and does what this answers.
//
//   begin(), restore() ──▶ open() ─▶ take() ... ─▶ close()    a round: what Redis has of the log
//        ▲                   └─────────┴─────────────┘
//        └── Failure, and not is_loaded(): all is to be read again
//
// Between two rounds it says what the log needs: a digest, a snapshot of what is here, or one of a
// guard that has more room.
//
// Numbers alone do not tell whether a log is the one that was here: others may have written entries
// in place of those that were lost, with ids before the one that was read last here if the clock of
// this Redis is behind. So tags are compared, too.
//
// Threads:   one. Lifetimes: filters, key and settings outlive it.
// Errors:    Failure. What throws for want of memory has forget() called: the filters may lack what
//            was to be added. Limits: filled::LogReader's.
#pragma once

#include <chrono>
#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "filled/filters.h"
#include "filled/log_entry.h"
#include "filled/log_reader.h"
#include "filled/store.h"

namespace cuckooguard::replicated {

struct LogSettings {
  std::string prefix = "cuckooguard:filters";  // without '{' and '}'
  std::string key;                             // the same for all guards; 16 bytes at least
  // How long what was proven to be here may be believed.
  std::chrono::milliseconds max_lag{1000};
  std::chrono::milliseconds change_wait{5000};
  std::size_t waiting_max = 65536;  // changes
  std::size_t waiting_bytes_max = std::size_t{64} << 20U;
  // A snapshot is due after so many entries, or bytes of them, and begun no sooner than
  // `snapshot_every` after the last try.
  std::uint64_t snapshot_entries = 100'000;
  std::uint64_t snapshot_bytes = std::uint64_t{64} << 20U;
  std::chrono::milliseconds snapshot_every{10'000};
  // After so many entries, or so much time if there were any, a guard says what it has applied.
  std::uint64_t digest_entries = 10'000;
  std::chrono::milliseconds digest_every{10'000};
};

struct Failure {
  filled::LogState state = filled::LogState::lost;
  std::string why;
  bool has_begun_anew = false;  // the log: an empty one is soon read
  bool is_trouble = false;      // nothing that happens by itself
};
using Done = std::expected<void, Failure>;

// The line in {P}:meta that names a snapshot: what was applied up to one entry of the log.
//
//   line      u64 seq, text id of that entry in the stream, u64 bytes, tag
//   content   state of the LogReader, then the image of the filters; in pieces of kPieceBytes
//   tag       HMAC of generation, seq, id, bytes and content
struct SnapshotLine {
  static constexpr std::uint64_t kPiecesMax = 65536;
  static constexpr std::size_t kPieceBytes = std::size_t{1} << 20U;

  std::uint64_t seq = 0;
  std::string id;
  std::uint64_t bytes = 0;
  std::string tag{};

  std::uint64_t pieces() const { return (bytes + kPieceBytes - 1) / kPieceBytes; }
  std::string text() const;
  static std::optional<SnapshotLine> read(std::string_view text);
  // To which the content is added, piece by piece.
  filled::Mac begin_tag(const filled::LogKey& key, std::string_view generation) const;
};

class Replica {
 public:
  using TimePoint = filled::TimePoint;
  using Outcomes = std::vector<filled::Outcome>;

  struct Meta {  // of {P}:meta, as a round finds it
    std::string generation;
    std::uint64_t seq = 0;
    std::string tag;
    std::uint64_t snapshot_seq = 0;
    std::string set;  // of the snapshot that stands; empty: none does
    bool wants_snapshot = false;
  };

  Replica(filled::Filters& filters,
          const filled::LogKey& key,
          const LogSettings& settings,
          std::function<void(const std::string& what)> on_trouble)
      : filters_(filters), key_(key), settings_(settings), on_trouble_(std::move(on_trouble)) {}

  // A guard with another key, or another secret for its hashes, has another one: it would take all
  // entries for forged ones, or for other items.
  std::string proof_of(std::string_view generation) const;

  // What is here will be what the Redis at hand has.
  void begin(const std::string& generation);
  // `tag` is that of the content, by line.begin_tag().
  Done restore(const std::string& generation,
               const SnapshotLine& line,
               std::string_view content,
               std::string_view tag);
  bool is_loaded() const { return reader_ != nullptr; }
  void forget() { reader_.reset(); }
  // It may be another Redis by the next round.
  void doubt() { is_history_proven_ = is_ready_ = false; }

  // --- a round ---
  const std::string& position() const { return position_; }  // entries behind it are wanted
  // And what Redis has with this id; empty: that needs not to be asked.
  std::string id_to_prove() const { return is_history_proven_ ? std::string() : applied_id_; }
  // `last_tag`: of the entry of id_to_prove(); empty: it is not there.
  Done open(const Meta& meta, std::string_view last_tag);
  // `on_outcomes`: the entry is this guard's; else it is null.
  Done take(const std::string& id,
            const filled::Entry& entry,
            TimePoint now,
            const std::function<void(Outcomes&)>& on_outcomes);
  // Whether all is here that Redis had at `asked_at`; else there is more to read. `is_all`: Redis
  // has given all that it has.
  std::expected<bool, Failure> close(TimePoint asked_at, bool is_all);

  // --- what the log needs ---
  // The body of an entry. `spread`: 0 to 255, so that not all guards say it at once.
  std::optional<std::string> digest_due(TimePoint now, unsigned char spread);
  bool is_snapshot_due() const;
  // One was not written: perhaps Redis has lost the entry behind which it would stand, and has one
  // with the next digest.
  void miss_snapshot() { is_digest_due_ = is_digest_due_ || meta_.wants_snapshot; }
  // There is what only a guard with more room knows.
  bool is_unsure() const;
  // By a snapshot of a guard that has all, when there is room for it. If none comes, and no filter
  // is unsure any more, nobody knows more than this guard. True: one is to be asked for.
  std::expected<bool, Failure> become_sure(TimePoint now);

  const filled::LogReader& reader() const { return *reader_; }  // of what is loaded
  const std::string& applied_id() const { return applied_id_; }
  const Meta& meta() const { return meta_; }       // of the last round
  TimePoint asked_at() const { return meta_at_; }  // when it was asked for
  void fill(filled::LogStatus& status) const;

 private:
  std::unexpected<Failure> reread(const std::string& why, bool is_trouble = true);
  Done apply(const filled::Entry& entry,
             TimePoint now,
             const std::function<void(Outcomes&)>& on_outcomes);
  void compare();

  filled::Filters& filters_;
  const filled::LogKey& key_;
  const LogSettings& settings_;
  std::function<void(const std::string& what)> on_trouble_;
  std::unique_ptr<filled::LogReader> reader_;  // null: all is to be read
  std::string position_;                       // id of the entry that was read last
  std::string applied_id_;                     // and of the one that was applied last
  bool is_history_proven_ = false;             // that one is the one in this Redis
  bool is_ready_ = false;                      // it was current
  std::uint64_t skipped_ = 0;
  std::uint64_t rereads_ = 0;
  // Of the round at hand.
  Meta round_;
  std::optional<bool> is_same_;  // Redis's last entry is the one that is here
  // Of the last one.
  Meta meta_;
  TimePoint meta_at_{};
  std::optional<TimePoint> snapshot_at_;
  // Since the last snapshot, and the last digest.
  std::uint64_t entries_ = 0;  // those that do not count included
  std::uint64_t bytes_ = 0;
  std::uint64_t undigested_ = 0;
  TimePoint digest_at_{};
  bool is_digest_due_ = false;
  TimePoint differed_at_{};
  // To become sure by a snapshot.
  std::uint64_t unsure_told_ = 0;  // filters
  TimePoint sure_asked_at_{};
  std::chrono::milliseconds sure_wait_{0};  // until it is asked for again; 0: it was not
  std::uint64_t sure_newer_than_ = 0;       // seq of the one that was there
};

}  // namespace cuckooguard::replicated
