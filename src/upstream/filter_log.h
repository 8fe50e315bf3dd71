// The log that all guards in front of one Redis share: a stream in which every change of a filter
// has its place, so that all guards have the same filters, and a restart finds them again.
//
//   submit ─▶ queue ─▶ append (a script) ─▶ {P}:log ─▶ XREAD ─▶ Filters::apply ─▶ Change::finish
//
// A change is done when its entry comes back, in order with everybody's: which guard was first is
// what the stream says. The script assigns the numbers of entries, which are dense; what an entry
// must be to count is filled/log_reader.h's. Beside the stream there are
//
//   {P}:meta              generation, number of the last entry, which snapshot stands
//   {P}:snapshot:<0|1>:<i>  its pieces; the other set is what the next one is written to
//   {P}:lock              who writes the next one
//
// of which a cluster has all in one slot. Which Redis that is, FindRedis says: when it is another
// one (a failover, or the slot has moved), nothing that the one before says counts any more, and
// the log goes on there. Redis is the truth. What it has lost is lost: after a crash that is what
// `appendfsync` allows, after a failover what the replica had not yet got. Whoever was connected
// anew compares the last entry that was applied here with the one in Redis, so that an end that is
// lost is noticed, whatever came in its place; then all is read again. A Redis that must not be
// written to tells nothing: it may be a master of before. A Redis without {P}:meta (FLUSHALL, an
// empty one) begins a new generation, in which there is no filter. The guards' clocks should agree:
// a filter expires when one of them says so. Scripts are sent as they are, by EVAL: by EVALSHA,
// what is sent again after SCRIPT FLUSH would come behind what was sent after it.
//
// Who may write to this Redis can make guards forget, as anyone who may delete can, and keep them
// from being current; he cannot have them do what no guard has asked for, or anything twice.
//
// Look-ups: ask is_current() after the look-up, and that Filters::version() is the one of before:
// while all is read again, filters are not what they were.
//
// Threads:   construct, start and destroy from the owner's thread; submit(), is_current() and
//            status() from any. The calls run on a thread of its own, which is the one writer of
//            the filters; they may submit().
// Lifetimes: `filters` and `tls` outlive it. What is still waiting at the end is finished.
// Errors:    outcomes: `not_in_log` if it was surely not done, `unknown` if it may have been. What
//            does not let the log be read is a state, and tried again.
// Limits:    Settings. Two connections. Snapshots and dumps are read in turns, and entries applied
//            between them (filled/filters_image.h); a snapshot that is read is in memory as a
//            whole. Redis 6.2 or newer, or Valkey.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "config/config.h"
#include "filled/filters.h"
#include "filled/store.h"
#include "io/tls_credentials.h"
#include "upstream/redis_connector.h"

namespace cuckooguard::upstream {

class LogFollower;

class FilterLog final : public filled::Store {
 public:
  using State = filled::LogState;
  using Status = filled::LogStatus;

  // The Redis that has this key at the moment; nothing: it is not known. On the log's thread.
  using FindRedis = std::function<std::optional<RedisPlace>(std::string_view key)>;

  struct Settings {
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

  struct Calls {
    std::function<void(State, const std::string& why)> on_state;  // on change
    // The filters are those of a generation that was not here before, also the first one. It is
    // ready: what is submitted goes into it.
    std::function<void()> on_new_generation;
    // Entries that nobody with the key has written, or a history that is not what it was. At most
    // once per kTroubleEvery.
    std::function<void(const std::string& what)> on_trouble;
  };
  static constexpr std::chrono::seconds kTroubleEvery{10};

  FilterLog(FindRedis find_redis,
            Settings settings,
            filled::Filters& filters,
            Calls calls,
            const io::TlsSlot* tls = nullptr);
  FilterLog(const FilterLog&) = delete;
  FilterLog& operator=(const FilterLog&) = delete;
  ~FilterLog() override;

  void start();

  void submit(std::shared_ptr<filled::Change> change) override;
  bool is_current(filled::TimePoint now) const noexcept override;
  Status status() const;
  std::optional<filled::LogStatus> log() const override { return status(); }

 private:
  std::unique_ptr<LogFollower> follower_;
  std::jthread thread_;
};

}  // namespace cuckooguard::upstream
