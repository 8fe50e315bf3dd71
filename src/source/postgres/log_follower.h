// Follows a PostgreSQL server: its log through a slot, transaction by transaction, and beside it
// whatever table has to be read.
//
//   connect ─▶ slot ─▶ log from there ─▶ apply … ─┬─▶ tables are due: a TableLoader reads them
//      ▲                                          │      (at the start: all)
//      │◀── connection lost: the log from where we are, if the slot is kept
//      └◀── slot lost, another server or timeline, refused: all anew, in a new slot
//
// A slot and the last transaction before it are what a position rests on: while the slot is there
// the server keeps what comes behind it, and sends no more and no less; that transaction, which
// comes first when the stream is resumed, shows that it is the same log. So a position counts as
// long as the slot does (PostgresSlot::is_usable) and was not confirmed further than that. Where
// there has been no transaction for long the probe has one written. A slot that is kept (with
// storage) is confirmed up to what stands in checkpoints, and dropped when nobody will go on there
// (let_go()); a temporary one, which ends with its session, is confirmed up to what was applied,
// and all tables are read again behind a loss.
//
// Must: behind a refusal no position is believed; of a server of another system identifier or
// timeline, or of another log (a failover, a restore) all is read anew.
// Limit: a former primary that goes on by itself, cut off from the one that has taken its place, is
// followed for as long as it answers.
//
// fresh_until is moved by PostgresProbe alone, so that a log that lags, hangs or is not read makes
// all pass.
//
// Threads: the source's, the probe's, a loader's and the checkpoint writer's, which meet in
// TableSet. Errors: none; what is wrong is reported by on_state, and passes. Limits: those of its
// parts; a slot is made within kSlotWaitMax, for it waits for transactions that run.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "follow/followed_server.h"
#include "follow/server_follower.h"
#include "postgres/replication_stream.h"
#include "postgres/server.h"
#include "postgres/server_probe.h"
#include "postgres/table_reader.h"
#include "source/asking.h"
#include "source/feeds.h"
#include "source/source.h"

namespace cuckooguard::source {

struct PostgresFollowerSettings {
  std::string name;  // of the source
  PostgresLogin login;
  PostgresPlace place;
  std::string slot;  // kept between sessions; empty: a temporary one
  std::chrono::nanoseconds max_lag;
  OpenPostgresView open_view = open_postgres_view;
  Storage storage;
  Observer* observer = nullptr;
  std::shared_ptr<FollowedServer<PostgresLogin>> followed = nullptr;  // is told; may be null
  Asking asking{};
};

class PostgresFollower final : public ServerFollower<PostgresLog> {
 public:
  static constexpr std::chrono::minutes kSlotWaitMax{10};
  // Bytes of the server's log, behind the last transaction of the publication's or in it: then
  // another one is written. And if the slot keeps so much although none is that large (a
  // transaction of others, one that was open for long), one per kWrittenAgain.
  static constexpr std::uint64_t kLogBetweenMax = std::uint64_t{1} << 20U;
  static constexpr std::uint64_t kRetainedMax = std::uint64_t{32} << 20U;
  static constexpr std::chrono::seconds kWrittenAgain{15};
  // Where none may be written: beyond that the log is given back, and a lost connection reads all.
  static constexpr std::uint64_t kLogKeptMax = std::uint64_t{1} << 30U;

  // What the operator can mend, if a server can be reached: one that cannot is no refusal.
  static std::vector<Refusal> check(const PostgresLogin& login,
                                    const PostgresPlace& place,
                                    std::string_view slot,
                                    std::span<const Target> targets);

  PostgresFollower(PostgresFollowerSettings settings, Feeds feeds, Clock clock);
  ~PostgresFollower() override;

  void finish() override;
  void let_go() override { lets_go_ = true; }

 private:
  bool keeps_slot() const { return !settings_.slot.empty(); }

  bool is_connected() const override { return stream_ != nullptr; }
  std::string log_identity() const override { return timeline_of(identity_); }
  Duration connect(const std::stop_token& stop) override;
  void disconnect() override;
  Done try_to_connect(const std::stop_token& stop);
  // What a start must know of a server, and is refused by; check() asks the same.
  struct Asked {
    std::string identity;
    PostgresServer server;
    std::optional<PostgresSlot> slot;
  };
  static std::expected<Asked, PostgresError> ask_all(PostgresConnection& connection,
                                                     const PostgresPlace& place,
                                                     std::string_view slot);
  Done check_server(const Asked& asked) const;
  std::expected<bool, PostgresError> can_go_on(const PostgresSlot& slot);
  Done begin_anew(PostgresConnection& connection, PostgresConnection& replication, bool has_slot);
  Done begin_stream(PostgresConnection& connection, PostgresConnection replication);
  bool needs_transaction(std::uint64_t retained);
  PostgresPosition confirmed() const;
  PostgresError end_reader(PostgresConnection& connection, const PostgresSlot& slot) const;
  void begin_probe();
  void heard(const PostgresProbe::Word& word);
  PostgresReader::Settings reader_settings() const override {
    return {.login = settings_.login,
            .identity = identity_,
            .place = settings_.place,
            .open_view = settings_.open_view,
            .clock = clock_};
  }
  void leave_slot();
  Duration follow(const std::stop_token& stop) override;
  Done follow_one(const std::stop_token& stop);

  PostgresFollowerSettings settings_;
  std::vector<std::string> names_;  // and patterns, of all tables
  std::string slot_;                // its name, if it is temporary, too
  // Checkpoints have all up to there; their writer outlives it.
  std::shared_ptr<std::atomic<std::uint64_t>> kept_ =
      std::make_shared<std::atomic<std::uint64_t>>();
  std::atomic<bool> lets_go_ = false;
  std::uint64_t reader_ = 0;  // the process on the server that followed, or follows, for us
  std::unique_ptr<ReplicationStream> stream_;
  std::string why_not_flushed_;   // as it was told; the probe's thread
  TimePoint written_again_at_{};  // likewise
  std::atomic<bool> may_not_write_ = false;
  std::unique_ptr<PostgresProbe> probe_;
};

}  // namespace cuckooguard::source
