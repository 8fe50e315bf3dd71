// Follows what a builder publishes in Redis (fleet/layout.h), one round after the other:
//
//   read the log, and apply it ─▶ is there an answer? then all is proven as of the question
//                              └▶ load what is not here, some pieces each round
//
// The questions are asked aside (asker.h).
//
// Its filters stay as they are while nothing comes, and pass once the last proof is too old. What
// is loaded is loaded beside them: from Redis, from its builder (builder_client.h), or from a file
// of a former run, if that is the snapshot that is signed by now. Only a log that does not go on
// from what is here has all of it read again: after a pause, so that not all followers come at
// once.
//
// Threads: a source's (source/follower.h); Asker's; files are synced on others.
// Lifetimes: what Settings refer to and the feeds' targets outlive it.
// Errors:  a state that says why; what nobody does by accident is told to the observer.
// Limits:  kPiecesAtOnce of 1 MiB for each round; a snapshot is in memory while it is loaded.
#pragma once

#include <chrono>
#include <cstdint>
#include <expected>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "fleet/layout.h"
#include "fleet/replica.h"
#include "follower/asker.h"
#include "follower/builder_client.h"
#include "source/feeds.h"
#include "source/follower.h"
#include "source/source_kind.h"
#include "source/storage_directory.h"

namespace cuckooguard::fleet {

class Follower final : public source::Follower {
 public:
  using Duration = std::chrono::nanoseconds;

  static constexpr std::chrono::milliseconds kReadWait{100};
  // The log is read no more often, unless a reader waits: what others wait for is in it as well.
  static constexpr std::chrono::milliseconds kReadEvery{80};
  static constexpr std::chrono::seconds kCompareEvery{1};
  static constexpr std::chrono::seconds kCountEvery{10};
  static constexpr std::chrono::milliseconds kManifestEvery{500};
  static constexpr std::chrono::milliseconds kFirstLoadWithin{1000};
  static constexpr std::chrono::seconds kRenewsWithin{30};
  static constexpr int kPiecesAtOnce = 4;

  struct Settings {
    std::string source;  // its name here,
    std::string fleet;   // and the builder's for it
    std::string prefix;
    VerifyingKeys keys;
    source::OpenRedis redis;
    source::Observer& observer;
    source::Asking asking;
    std::span<const source::SourceKind* const> kinds;
    const source::StorageDirectory* storage = nullptr;  // null: nothing is kept between runs
    std::shared_ptr<const BuilderClient> builder{};     // null: none is known
  };

  Follower(Settings settings, source::Feeds feeds, source::Clock clock);

  Duration step(const std::stop_token& stop) override;
  void finish() override {
    asker_.reset();  // before what it reaches Redis by
    feeds_.each(&source::Feed::expire);
  }
  source::SourceStatus status() const override;
  source::Reached reached(std::string_view position) const override;

 private:
  using Redis = source::RedisSession;
  using TimePoint = source::TimePoint;
  using Done = std::expected<void, std::string>;

  // What there is of a table.
  struct Here {
    std::string snapshot{};               // the name of the one that it comes from
    std::optional<TimePoint> renew_at{};  // its filter is nearly full, or wastes room
  };
  struct Load {
    Snapshot snapshot;
    std::uint64_t pieces = 0;
    std::string bytes{};
    std::string hashes{};
    bool is_kept = false;  // it comes from a file, and from nobody else
    std::unique_ptr<PieceFetch> fetch{};
    TimePoint fetch_at{};  // not before
    int failures = 0;      // in a row

    void add(std::string_view piece);
  };

  // Of the log, as it has been applied.
  struct Shown {
    std::string position;
    std::string builder{};
    std::uint64_t epoch = 0;
    std::uint64_t seq = 0;
    std::string digest{};
    std::uint64_t loaded = 0;  // tables
  };

  Duration lose(const std::string& why);
  std::expected<Duration, std::string> round(const std::stop_token& stop);
  std::expected<Duration, std::string> begin();
  void start_asking();
  void say_how_far();
  std::string why_behind(TimePoint now);  // empty: it is not
  void show();
  std::chrono::milliseconds log_wait() const;
  Done read_log(const std::stop_token& stop);
  Done count_followers();
  Done compare();
  Done read_answer_to_own();
  void leave(const Break& why);
  void list_tables();
  source::Feed* feed_of(TableId table);
  void apply(const Entry& entry);
  using HashList = std::vector<std::uint64_t>;
  void insert(const TableChange& change, const HashList& hashes, source::Feed& feed);
  void erase(const TableChange& change, const HashList& hashes, source::Feed& feed);
  void drop(TableId table, source::Feed& feed, const std::string& why);
  Done load_more(const std::stop_token& stop);
  bool has(TableId table) const { return replica_->has(table); }
  bool is_for_others(const TableState& table) const;
  const filter::Trial* trial_that_is_on() const;  // null: there is none
  void set_trial();
  Done choose_load();
  std::string path_of(TableId table);
  std::optional<Load> kept(const Snapshot& snapshot);
  std::optional<Load> load_of(const Snapshot& snapshot);
  void keep(const Load& load);
  bool must_renew(TableId table);
  void report_unless_here(TableId table, const std::string& why);
  Done read_pieces(Load& load);
  void fetch_pieces(Load& load);
  void give_up_load(TableId lacks);
  Done finish_load(const std::stop_token& stop);
  // Why the snapshot is of no use; empty: it is now as the log says. An error is Redis's.
  std::expected<std::string, std::string> replay(const Snapshot& snapshot,
                                                 filter::CuckooFilter& filter,
                                                 std::string& isolated,
                                                 const std::stop_token& stop);
  void prove(TimePoint at);
  void report_all(filter::State state, const std::string& why);

  Settings settings_;
  Keys keys_;
  source::Feeds feeds_;
  source::Clock clock_;
  source::Backoff backoff_{std::chrono::milliseconds(100), source::Backoff::kUnreachedMax};
  source::Backoff begin_backoff_{std::chrono::milliseconds(200), std::chrono::seconds(10)};
  source::Backoff fetch_backoff_{std::chrono::milliseconds(500), std::chrono::seconds(10)};
  std::string name_;
  OwnQuestions questions_;
  std::unique_ptr<Redis> redis_;
  std::unique_ptr<Replica> replica_;
  std::map<TableId, source::Feed*> numbered_;
  std::map<TableId, Here> here_;
  std::optional<Load> load_;
  TimePoint read_at_{};  // something
  TimePoint compared_at_{};
  TimePoint counted_at_{};
  TimePoint manifest_read_at_{};
  TimePoint load_at_{};   // not before
  TimePoint begin_at_{};  // likewise
  bool may_be_answered_ = false;
  TableId lacks_ = 0;  // to be told
  bool serves_strict_ = false;
  std::string why_no_piece_;  // of its builder's, that came last; empty: it came
  source::FollowStatus status_;
  mutable std::mutex mutex_;
  Shown shown_;
  std::string kind_;  // of positions
  std::future<void> keeping_;
  std::unique_ptr<Asker> asker_;
};

}  // namespace cuckooguard::fleet
