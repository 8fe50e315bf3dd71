// A source's publication (source/publication.h) in a fleet's log.
//
//   the source's threads ── inserted … mark, proven ─▶ Publisher ◀── the builder's thread ─▶ Redis
//
// Each tick the builder reads followers' questions, asks for a proof that is newer, and appends
// what has come since. A follower whose reader waits wakes it: then it reads and appends at once.
// While another builder publishes it follows the log instead; if nothing comes for kTakesOverAfter
// it goes on there, or begins a new log if it cannot.
//
// Threads:   the publication's calls as there; its own, from start() to stop(), and WakeListener's.
// Lifetimes: what Settings refer to outlives it.
// Errors:    on_trouble(). While Redis cannot be reached it tries again; what has happened since is
//            appended then.
// Limits:    Publisher's and Uploads'. kAsksMax followers are answered.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <expected>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "builder/asks.h"
#include "builder/snapshot_files.h"
#include "builder/uploads.h"
#include "builder/wake_listener.h"
#include "fleet/layout.h"
#include "fleet/publisher.h"
#include "fleet/replica.h"
#include "source/publication.h"
#include "source/source_kind.h"

namespace cuckooguard::app {
struct Publishing;
}  // namespace cuckooguard::app

namespace cuckooguard::fleet {

class Builder final : public source::Publication {
 public:
  static constexpr std::chrono::milliseconds kTick{100};
  // Questions are read no more often; and less often where many wait, since each of them reads each
  // entry, or where many are to be read.
  static constexpr std::chrono::milliseconds kWokenTick{20};
  static constexpr std::chrono::microseconds kTickForEachWaiting{100};
  static constexpr std::chrono::microseconds kTickForEachAsk{20};
  static constexpr std::chrono::milliseconds kHeartbeat{500};
  static constexpr std::chrono::seconds kTakesOverAfter{3};
  // Who has had no proof for so long does not publish: another one's database may answer.
  static constexpr std::chrono::seconds kProvesWithin{3};
  // For another builder, which may be able to go on where this one cannot.
  static constexpr std::chrono::seconds kBeginsAnewAfter{8};
  static constexpr std::chrono::seconds kManifestEvery{10};
  // Entries that no manifest needs any more, for followers that are behind.
  static constexpr std::chrono::seconds kLogStays{30};
  static constexpr std::size_t kAsksMax = 20'000;
  static constexpr std::size_t kBehindShownMax = 20;          // followers
  static constexpr std::chrono::seconds kCutsAgainEvery{60};  // each table
  // A table has a new snapshot when its changes since the last one are more than that, or a quarter
  // of it.
  static constexpr std::uint64_t kTailBytesMin = std::uint64_t{4} << 20U;

  struct Settings {
    std::string name;    // of the source
    std::string prefix;  // of Redis's keys
    std::string kind;    // of the source
    SigningKey key;
    VerifyingKeys keys;  // by which other builders are known
    source::OpenRedis redis;
    const source::StorageDirectory* snapshots = nullptr;  // where they are kept; null: in Redis
    source::Clock clock;
    // For so long some followers only compare what is defined otherwise than before.
    std::chrono::nanoseconds canary{};
    std::function<void()> want_proof;
    std::function<bool()> serves_strict;  // what is proven, as of then
    std::function<void(const std::string& what)> on_trouble;
    std::function<void(const std::string& what)> on_change;  // who publishes, and why
  };

  explicit Builder(Settings settings);
  Builder(const Builder&) = delete;
  Builder& operator=(const Builder&) = delete;
  ~Builder() override = default;

  void start();
  void stop() override {
    wakes_.reset();
    thread_ = {};
  }

  void set_tables(const source::Target& target, std::span<const std::string> tables) override;
  void set_doubt(bool is_in_doubt) override;
  void inserted(Table table, Hashes hashes) override;
  void deleted(Table table, std::uint64_t hash) override;
  void erased(Table table, std::uint64_t hash) override;
  void anew(Table table, std::uint64_t definition) override;
  void lost(Table table) override;
  void rebuilt(Table table) override;
  void set_facts(Table table, const source::PublishedFacts& facts) override;
  void set_isolated(Table table, const filter::IsolatedRows& rows) override;
  void mark(const std::string& position, const std::string& end) override;
  void proven(source::TimePoint at) override;
  void show(std::vector<filter::SourceFact>& facts) const override;
  bool wants_cut(Table table) const override;
  void cut(Table table, const filter::Digest& digest) override;
  void kept(Table table, const std::string& path) override;
  std::optional<std::string> piece(std::string_view snapshot, std::uint32_t number) const override {
    return files_ ? files_->piece(snapshot, number) : std::nullopt;
  }

 private:
  using Redis = source::RedisSession;
  using Done = std::expected<void, std::string>;

  struct Listed {
    bool has_patterns = false;
    TableList::Namespace names;
  };
  // The last cut of a table, and how much was appended by then.
  struct TakenCut {
    Publisher::Cut cut;
    Digest digest;
    bool is_wanted = false;  // its file is to go into Redis
  };
  struct Kept {
    Snapshot snapshot;
    std::ifstream file;
  };

  void run(const std::stop_token& stop);
  void rest_until_due(const std::stop_token& stop);
  Done tick(Redis& redis);
  std::expected<Meta, std::string> run_script(Redis& redis,
                                              std::string_view script,
                                              std::initializer_list<std::string_view> keys,
                                              std::initializer_list<std::string_view> words);
  std::expected<Meta, std::string> meta(Redis& redis);
  Done publish(Redis& redis);
  Done append(Redis& redis, const Publisher::Draft& draft);
  Done answer(Redis& redis, const Publisher::Draft& draft);
  Done read_asks(Redis& redis);
  Done tend_snapshots(Redis& redis);
  std::optional<Manifest> make_manifest();
  void show_uploads();
  void cut_again(TableId table);
  Done forget_lost(Redis& redis, Manifest& manifest);
  Done see_policy(Redis& redis);
  Done renew_manifest(Redis& redis);
  Done tidy_files(Redis& redis);
  void give_up_publishing();
  Done follow(Redis& redis);
  Done read_log(Redis& redis);
  Done take_over(Redis& redis, const Meta& seen);
  Done begin_anew(Redis& redis, const Meta& seen);
  void list_tables();
  bool is_tail_long(TableId table) const;
  void become(const std::string& what);
  bool is_proving() const;
  bool is_publishing() const;
  void forget_all(Redis& redis);

  Settings settings_;
  Keys keys_;
  std::string name_;  // of this process

  mutable std::mutex mutex_;
  std::condition_variable_any woken_;
  Publisher publisher_;
  std::map<std::string, Listed> listed_;
  bool is_in_doubt_ = false;
  bool serves_strict_ = false;
  bool is_woken_ = false;    // by a follower whose question is not read,
  bool is_awaited_ = false;  // or is not answered
  std::map<TableId, TakenCut> cuts_;
  std::map<TableId, std::uint64_t> tails_;  // how much was appended by its standing snapshot
  std::set<TableId> rebuilt_;               // since that
  std::vector<Kept> kept_;                  // for uploads_
  std::set<TableId> on_the_way_;            // as of uploads_,
  std::map<TableId, Snapshot> standing_;    // likewise
  std::uint64_t appended_bytes_ = 0;
  std::string state_;
  Asks asks_;

  // The thread's.
  std::unique_ptr<SnapshotFiles> files_;  // null: they are in Redis
  Uploads uploads_;
  std::unique_ptr<Chain> chain_;  // while another one publishes
  Meta seen_;
  source::TimePoint seen_at_{};
  source::TimePoint said_at_{};
  source::TimePoint tended_at_{};
  source::TimePoint asks_read_at_{};
  std::chrono::nanoseconds woken_tick_ = kWokenTick;
  source::TimePoint manifest_at_{};
  source::TimePoint tidied_at_{};
  std::map<TableId, source::TimePoint> cut_again_at_;
  Trials trials_;
  // The oldest entries that manifests of the last kLogStays needed; and of those before.
  std::deque<std::pair<source::TimePoint, std::uint64_t>> oldest_;
  std::uint64_t trims_to_ = 0;
  std::string eviction_policy_;
  std::jthread thread_;
  std::unique_ptr<WakeListener> wakes_;
};

// Of a source that is published, started (app/guests.h).
std::expected<std::unique_ptr<source::Publication>, std::string> make_publication(
    const app::Publishing& made);

}  // namespace cuckooguard::fleet
