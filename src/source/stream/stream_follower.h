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
// Threads: the source's. Errors: none; what is wrong is reported by on_state, and passes. Limits:
// kSeenMax changes are remembered, of all channels together.
#pragma once

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
#include "stream/reader.h"
#include "stream/seen_changes.h"
#include "stream/streamed_table.h"

namespace cuckooguard::source::stream {

struct FollowerSettings {
  debezium::Connector connector = debezium::Connector::mysql;
  std::vector<TablePlan> tables;      // of each feed
  std::vector<std::size_t> channels;  // of each: where its messages are
  std::chrono::nanoseconds poll_every;
  std::function<std::chrono::system_clock::time_point()> wall_clock;
};

class StreamFollower final : public LookingFollower {
 public:
  static constexpr std::size_t kSeenMax = std::size_t{8} << 20;
  static constexpr Duration kBackoffMin = std::chrono::milliseconds(50);
  static constexpr Duration kBackoffMax = std::chrono::seconds(5);

  // Without patterns for tables.
  StreamFollower(std::unique_ptr<Reader> reader,
                 FollowerSettings settings,
                 Feeds feeds,
                 Clock clock,
                 Asking asking = {});

 private:
  using Change = debezium::Change;

  struct Channel {
    SeenChanges seen;
    std::vector<StreamedTable*> tables{};
    bool is_at_end = false;
    bool is_whole = false;
    std::uint64_t left = 0;
  };

  Duration next(const std::stop_token& stop) override;
  Duration lose(std::string_view why) override;
  bool read(std::size_t number);
  void take(Channel& channel, const Entry& entry);
  void take(Channel& channel, const Change& change);
  static void doubt(const Channel& channel, std::string_view why);
  void note_commit(const Change& change);
  void prove(TimePoint began);
  void begin_anew(std::size_t number, std::string_view why);

  std::unique_ptr<Reader> reader_;
  FollowerSettings settings_;
  debezium::Decoder decoder_;
  std::vector<StreamedTable> tables_;
  std::vector<Channel> channels_;
  std::string trouble_;  // why a channel could not be read
  // Commits by their own time, since 1970: what was told of, and what all channels have been read
  // behind.
  std::optional<std::chrono::milliseconds> committed_;
  std::optional<std::chrono::milliseconds> covered_;
};

}  // namespace cuckooguard::source::stream
