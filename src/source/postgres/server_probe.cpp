#include <algorithm>
#include <memory>
#include <utility>

#include "follow/pause.h"
#include "postgres/log_follower.h"
#include "postgres/server.h"
#include "text/try.h"

namespace cuckooguard::source::postgres {
namespace {

// Flushed when it is committed, but without waiting for a standby; and each statement sees what is
// committed before it.
constexpr const char* kSessionSql =
    "SET synchronous_commit = local; SET default_transaction_isolation = 'read committed'";
constexpr const char* kShortSql = "EXECUTE head; EXECUTE watch";
constexpr const char* kWholeSql =
    "EXECUTE head; EXECUTE watch; EXECUTE scope; EXECUTE fingerprints; EXECUTE slot";
constexpr int kFlushesMessages = 170000;

}  // namespace

ServerProbe::ServerProbe(Settings settings, Report report, IsApplied is_applied)
    : settings_(std::move(settings)),
      report_(std::move(report)),
      is_applied_(std::move(is_applied)) {}

std::chrono::nanoseconds ServerProbe::whole_every() const {
  return std::min<std::chrono::nanoseconds>(settings_.max_lag / config::kPollsPerMaxLag,
                                            kReportEveryMax);
}

// --- questions ---

Done ServerProbe::prepare(Connection& connection) {
  const Place& place = settings_.place;
  TRY(connection.run(kSessionSql));
  TRY(prepare_fingerprints(connection, place.schema, place.publication, settings_.tables));
  TRY(prepare_scope(connection, place.schema, settings_.tables));
  TRY(connection.run(std::string("PREPARE head AS ") + kHeadSql));
  return connection.run("PREPARE slot AS " + slot_sql(connection, settings_.slot));
}

Expected<ServerProbe::Word> ServerProbe::ask(Connection& connection) {
  const TimePoint at = settings_.clock();
  const bool is_whole_due = watched_.empty() || at - whole_at_ >= whole_every();
  if (!is_whole_due) {
    if (!TRY(ask_shortly(connection))) {
      watched_.clear();
    }
  }
  const bool is_whole = is_whole_due || watched_.empty();
  if (is_whole) {
    TRY(ask_wholly(connection));
    whole_at_ = at;
  }
  if (!head_.why_not.empty()) {
    return failed(head_.why_not);
  }
  return Word{.at = at,
              .position = LogPosition(head_.written),
              .committed = {.snapshot = head_.shows,
                            .fingerprints = fingerprints_,
                            .schema = settings_.place.schema},
              .retained = retained_,
              .is_whole = is_whole};
}

Expected<bool> ServerProbe::ask_shortly(Connection& connection) {
  const auto answers = TRY(connection.ask_several(kShortSql));
  if (answers.size() != 2) {
    return failed("the server did not answer all queries");
  }
  head_ = TRY(head_of(answers.front()));
  return watch_of(answers.back()) == watched_;
}

Done ServerProbe::ask_wholly(Connection& connection) {
  if (!scope_) {  // a watch of nothing, which no scope is like
    scope_ = CatalogScope{.schema = "0", .tables = "{}", .members = "{}", .enums = "{}"};
    const Place& place = settings_.place;
    TRY(prepare_watch(connection,
                      *scope_,
                      {.schema = place.schema,
                       .publication = place.publication,
                       .tables = settings_.tables,
                       .is_one = false}));
  }
  auto answers = TRY(connection.ask_several(kWholeSql));
  if (answers.size() != 5) {
    return failed("the server did not answer all queries");
  }
  head_ = TRY(head_of(answers[0]));
  const auto slot = slot_of(answers[4]);
  if (!slot || !slot->is_usable) {
    return failed("slot " + settings_.slot +
                  (slot ? " is no longer usable: " + slot->why_not : " no longer exists"));
  }
  retained_ = slot->retained;
  return take_catalog(connection, std::move(answers));
}

Done ServerProbe::take_catalog(Connection& connection, std::vector<Answer> answers) {
  fingerprints_ =
      std::make_shared<const TableFingerprints>(fingerprints_of(answers[3], settings_.tables));
  auto scope = TRY(scope_of(answers[2]));
  if (scope_ == scope) {
    watched_ = watch_of(answers[1]);
    return {};
  }
  watched_.clear();  // it was read of other rows: the next question is a whole one, too
  scope_ = std::move(scope);
  const Place& place = settings_.place;
  return prepare_watch(connection,
                       *scope_,
                       {.schema = place.schema,
                        .publication = place.publication,
                        .tables = settings_.tables,
                        .is_one = true});
}

// --- what does not come by itself ---

Done ServerProbe::have_sent_on(Connection& connection, Word& word, bool is_wanted) {
  const bool is_unflushed =
      is_wanted && head_.written > head_.flushed && !is_applied_(word.position);
  const bool is_late = word.is_whole && last_ && !is_applied_(*last_);
  const bool needs_transaction =
      word.is_whole && is_applied_(written_) && settings_.needs_transaction(word.retained);
  if (word.is_whole) {
    last_ = word.position;
  }
  const TimePoint now = settings_.clock();
  const std::chrono::milliseconds pause =
      why_not_flushed_.empty() ? kNudgeEvery : kNudgeEveryIfRefused;
  if ((is_unflushed || is_late || needs_transaction) &&
      (!nudged_at_ || now - *nudged_at_ >= pause)) {
    nudged_at_ = now;
    TRY(nudge(connection, word, needs_transaction));
  }
  word.why_not_flushed = why_not_flushed_;
  return {};
}

Done ServerProbe::nudge(Connection& connection, Word& word, bool by_transaction) {
  const bool flushes = connection.server_version() >= kFlushesMessages;
  const bool is_transaction = by_transaction || !flushes;
  const auto done = connection.value(
      std::string("SELECT pg_catalog.pg_logical_emit_message(") +
      (is_transaction ? "true, 'cuckooguard', '')" : "false, 'cuckooguard', '', true)"));
  why_not_flushed_.clear();
  if (done) {
    word.transactions = is_transaction ? 1 : 0;
    written_ = LogPosition(pgoutput::parse_lsn(done->value_or("")).value_or(pgoutput::Lsn{}));
  } else if (!done.error().is_connection_gone) {
    why_not_flushed_ =
        "cannot flush the server's log for waiting reads: " + done.error().what +
        ". Transactions with synchronous_commit = off are proven only when the server flushes them "
        "itself; until then strict reads pass. Checkpoints wait for the next transaction, and "
        "after 1 GiB of log without one a lost connection makes the guard read all tables again. "
        "As a superuser: GRANT EXECUTE ON FUNCTION pg_catalog.pg_logical_emit_message(boolean, "
        "text, text" +
        (flushes ? ", boolean" : "") + ") TO " + quoted_name(settings_.login.user);
    return {};
  }
  return done ? Done() : std::unexpected(done.error());
}

// A reader waits, and may be the only one.
void ServerProbe::pursue(const Word& word, bool is_wanted) {
  if (!is_wanted || is_applied_(word.position)) {
    pursued_since_.reset();
    return;
  }
  const TimePoint now = settings_.clock();
  pursued_since_ = pursued_since_.value_or(now);
  if (now - *pursued_since_ <= kPursuedMax) {
    settings_.asking.want();
  }
}

std::string ServerProbe::ask_until_it_fails(const std::stop_token& stop) {
  auto connection = open_same_server(settings_.login, settings_.identity);
  if (!connection) {
    return connection.error().what;
  }
  const std::stop_callback wake(stop, [&connection] { connection->interrupt(); });
  if (const auto prepared = prepare(*connection); !prepared) {
    return prepared.error().what;
  }
  settings_.asking.serves_strict(true);
  std::chrono::nanoseconds pause{};
  do {
    const bool is_wanted = settings_.asking.begin();  // before the time of the question
    auto word = ask(*connection);
    if (!word) {
      return word.error().what;
    }
    if (const auto sent = have_sent_on(*connection, *word, is_wanted); !sent) {
      return sent.error().what;
    }
    report_(*word);
    pursue(*word, is_wanted);
    pause = std::max(whole_at_ + whole_every() - settings_.clock(), std::chrono::nanoseconds(0));
  } while (pause_for(pause, settings_.asking, stop));
  return {};
}

}  // namespace cuckooguard::source::postgres
