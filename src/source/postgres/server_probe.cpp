#include "postgres/server_probe.h"

#include <algorithm>
#include <exception>
#include <memory>
#include <optional>
#include <utility>

#include "follow/pause.h"
#include "postgres/server.h"

namespace cuckooguard::source {
namespace {

// Flushed when it is committed, but without waiting for a standby.
constexpr const char* kFlushWhenCommitted = "SET synchronous_commit = local";
constexpr const char* kSendOn =
    "SELECT pg_catalog.pg_logical_emit_message(true, 'cuckooguard', '')";

}  // namespace

PostgresProbe::PostgresProbe(Settings settings, Report report, IsApplied is_applied)
    : settings_(std::move(settings)),
      report_(std::move(report)),
      is_applied_(std::move(is_applied)),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

void PostgresProbe::run(const std::stop_token& stop) {
  try {
    why_ = ask_until_it_fails(stop);
  } catch (const std::exception&) {
    why_.clear();  // no memory, say
  }
  has_ended_.store(true, std::memory_order_release);
}

std::expected<PostgresProbe::Word, PostgresError> PostgresProbe::ask(
    PostgresConnection& connection) const {
  const TimePoint at = settings_.clock();
  const auto position = insert_lsn(connection);
  if (!position) {
    return std::unexpected(position.error());
  }
  auto snapshot = current_snapshot(connection);
  if (!snapshot) {
    return std::unexpected(snapshot.error());
  }
  auto fingerprints = ask_prepared_fingerprints(connection, settings_.tables);
  if (!fingerprints) {
    return std::unexpected(fingerprints.error());
  }
  const auto slot = find_slot(connection, settings_.slot);
  if (!slot) {
    return std::unexpected(slot.error());
  }
  const std::optional<PostgresSlot>& found = *slot;
  if (!found || !found->is_usable) {
    return postgres_failed("slot " + settings_.slot +
                           (found ? " is of no more use: " + found->why_not : " is gone"));
  }
  return Word{.at = at,
              .position = PostgresPosition(*position),
              .committed = {.snapshot = *std::move(snapshot),
                            .fingerprints =
                                std::make_shared<const TableFingerprints>(*std::move(fingerprints)),
                            .schema = settings_.place.schema},
              .retained = found->retained};
}

std::string PostgresProbe::ask_until_it_fails(const std::stop_token& stop) {
  auto connection = PostgresConnection::open_same(settings_.login, settings_.identity);
  if (!connection) {
    return connection.error().what;
  }
  const std::stop_callback wake(stop, [&connection] { connection->interrupt(); });
  if (const auto set = connection->run(kFlushWhenCommitted); !set) {
    return set.error().what;
  }
  if (const auto prepared = prepare_fingerprints(
          *connection, settings_.place.schema, settings_.place.publication, settings_.tables);
      !prepared) {
    return prepared.error().what;
  }
  const auto every = std::min<std::chrono::nanoseconds>(settings_.max_lag / config::kPollsPerMaxLag,
                                                        kReportEveryMax);
  std::optional<PostgresPosition> last;
  do {
    if (last && !is_applied_(*last)) {
      if (const auto sent = connection->run(kSendOn); !sent) {
        return sent.error().what;
      }
    }
    const auto word = ask(*connection);
    if (!word) {
      return word.error().what;
    }
    last = word->position;
    report_(*word);
  } while (pause_for(every, stop));
  return {};
}

}  // namespace cuckooguard::source
