// Follows tables by messages that somebody else asks the database for.
//
//   read all channels to their ends ─▶ decode ─▶ SeenChanges ─▶ StreamedTable ─▶ prove ─▶ pause ─┐
//     └─────────────────────────────────────────────────────────────────────────────────────────┘
//
// The proof, as far as there is one. Debezium tells nobody that nothing has changed, and nobody who
// reads its stream can ask it. What a message says is when its change was committed, by the
// database's clock. With `freshness: trust_lag` that is believed, and the operator answers for the
// clocks: a change committed then is in the filter, and so is all that was before it in the log,
// once every channel has been read to its end behind it. In quiet times only Debezium's
// heartbeat.action.query brings such a message. Without that setting there is no such follower.
//
// With `signal_key` it asks Debezium itself for an incremental snapshot of the tables that need it,
// all in one signal. Other guards may need the same one, and see it: each waits for a random time.
// None asks while a snapshot goes on, since Debezium would give the rest of it the new signal's id.
// Nor does any while Debezium sends nothing: it would find all signals later.
//
// Between runs it keeps what is known of all tables and where all channels were read to, in one
// file (kept_streams.h), and goes on there if nothing is missing.
//
// Threads: the source's. Errors: none; what is wrong is reported by on_state, and passes. Limits:
// kSeenMax changes are remembered, of all channels together. While the file is written nothing is
// proven: some second for 10 million rows.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "debezium/decoder.h"
#include "source/follower.h"
#include "stream/kept_streams.h"
#include "stream/reader.h"
#include "stream/seen_changes.h"
#include "stream/streamed_table.h"

namespace cuckooguard::source::stream {

struct FollowerSettings {
  debezium::Connector connector = debezium::Connector::mysql;
  std::string server;               // topic.prefix
  std::vector<std::string> topics;  // the reader's; that of notifications before the tables'
  debezium::Wanted wanted;          // all tables
  std::vector<TablePlan> plans;     // of each feed one
  std::chrono::nanoseconds poll_every;
  std::function<std::chrono::system_clock::time_point()> wall_clock;
  std::string file;  // for what is kept; empty: nothing is
  std::chrono::nanoseconds keep_every;
  Asking asking{};
  std::string signal_key{};  // topic.prefix; empty: no signals are sent
};

class StreamFollower final : public LookingFollower {
 public:
  static constexpr std::size_t kSeenMax = std::size_t{8} << 20;
  static constexpr Duration kBackoffMin = std::chrono::milliseconds(50);
  static constexpr Duration kBackoffMax = std::chrono::seconds(5);
  // Of an incremental snapshot of whole tables, begun for the guard: its signal's id begins so.
  static constexpr std::string_view kSignalPrefix = "cuckooguard";
  // A table waits so long, and a random time more, before the guard asks for a snapshot of it.
  static constexpr Duration kAskAfter = std::chrono::seconds(5);
  static constexpr Duration kAskWithin = std::chrono::seconds(30);
  // It asks again for the same table at the earliest; and so long after the last notification of an
  // incremental snapshot that has not ended, it takes it for broken off.
  static constexpr Duration kAskEvery = std::chrono::minutes(10);

  // Without patterns for tables. The observer outlives it.
  StreamFollower(std::unique_ptr<Reader> reader,
                 FollowerSettings settings,
                 Feeds feeds,
                 Clock clock,
                 Observer& observer);

  void finish() override;

 private:
  using Change = debezium::Change;

  struct Channel {
    std::size_t topic = 0;
    std::size_t number = 0;  // of the topic's
    SeenChanges seen;
    std::vector<StreamedTable*> tables{};
    bool is_at_end = false;
    bool is_torn = false;            // messages are missing: what it begins with is not all
    bool skips_to_end = false;       // what there is was told before, or with a gap
    bool may_lack_messages = false;  // of a compacted topic, until it was read to its end
  };

  Duration next(const std::stop_token& stop) override;
  Duration lose(std::string_view why) override;
  Duration take_step(const std::stop_token& stop);
  void arrange(Reader::Channels numbers);
  bool read(std::size_t number);
  void take(Channel& channel, const Entry& entry);
  void take(Channel& channel, const Change& change);
  void note_place(const Change& change);
  void take_row(Channel& channel, const Change& change);
  std::optional<bool> is_again(Channel& channel, const Change& change);
  void take(const debezium::Notification& notification);
  void doubt(const Channel& channel, const debezium::Refusal& refusal);
  void doubt(const Channel& channel, StreamedTable& table, std::string_view why);
  void note_commit(const Change& change);
  void forget_commits();
  std::vector<std::size_t> tables_to_ask_for(TimePoint now);
  void ask_for_snapshots(TimePoint now);
  std::string collection_of(const debezium::Table& table) const;
  void prove(TimePoint began);
  void begin_anew(std::string_view why);
  void report_trouble(std::string_view what);
  void keep_if_due(TimePoint now);
  void keep();
  void restore();
  bool go_on(KeptStreams& kept);
  bool leave_whole_tables(std::vector<const KeptStreams::Channel*>& channels,
                          std::vector<KeptStreams::Table*>& tables) const;

  std::unique_ptr<Reader> reader_;
  FollowerSettings settings_;
  debezium::Decoder decoder_;
  Observer& observer_;
  filter::KeyHash digest_;
  std::vector<StreamedTable> tables_{};
  // For a snapshot that is asked for by a signal: of each table. Nothing is due: none is needed.
  struct Wait {
    std::optional<TimePoint> due{};
    TimePoint not_before{};
  };
  std::vector<Wait> waits_{};
  TimePoint snapshot_until_{};  // an incremental one goes on, if nothing else is heard
  bool is_streaming_ = false;   // Debezium, since the last signal: changes of the log have come
  std::string database_{};      // of the last one
  Reader::Channels numbers_{};  // of each topic
  std::vector<Channel> channels_{};
  // The operator says that all of them have every row: they can always be read again.
  bool has_whole_topics() const {
    return std::ranges::all_of(settings_.plans, &TablePlan::is_whole);
  }
  bool must_begin_anew_ = false;
  bool is_within_step_ = false;  // or something was thrown in one
  bool may_restore_ = true;
  std::string trouble_{};     // why a channel could not be read
  bool has_changed_ = false;  // since it was kept
  TimePoint kept_at_{};
  // Commits by their own time, since 1970: what was told of, and what all channels have been read
  // behind. If the stream goes back in time only what is told of later counts: behind the ends that
  // the channels had then.
  bool counts_commits_ = false;
  std::uint64_t rounds_ = 0;               // in which all channels were read to their ends
  std::optional<debezium::Place> last_{};  // that was read, for people
  std::optional<Commit> committed_{};
  std::optional<Commit> covered_{};
};

}  // namespace cuckooguard::source::stream
