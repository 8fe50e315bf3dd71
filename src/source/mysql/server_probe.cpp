#include "mysql/server_probe.h"

#include "follow/pause.h"
#include "mysql/read_view.h"
#include "text/number.h"

namespace cuckooguard::source::mysql {
namespace {

// What a MariaDB has replicated and has not in its log.
constexpr std::string_view kUnloggedSql =
    "SELECT IF(@@global.log_slave_updates, '', @@global.gtid_slave_pos)";

std::string_view position_sql(bool is_mariadb) {
  return is_mariadb ? "SELECT @@global.gtid_binlog_pos" : "SELECT @@global.gtid_executed";
}

Expected<LogPosition> position_of(const std::optional<std::string>& text, bool is_mariadb) {
  auto position = LogPosition::parse(text.value_or("?"), is_mariadb);
  if (!position) {
    constexpr unsigned kMalformed = 2027;  // CR_MALFORMED_PACKET
    return std::unexpected(
        Error{.code = kMalformed, .what = "the server does not report its log position"});
  }
  return *std::move(position);
}

std::optional<std::string> first_value(const Answer& rows) {
  return rows.size() == 1 && !rows.front().empty() ? rows.front().front() : std::nullopt;
}

// MySQL's set is read before its log's end.
Done take_log_status(const Result& told, ServerProbe::Word& word) {
  const std::vector<Record> rows = Result(told).records();
  if (rows.size() != 1) {
    return failed("the server does not report its log position");
  }
  const auto set = rows.front().find("Executed_Gtid_Set");
  auto position = TRY(position_of(set == rows.front().end() ? std::nullopt : set->second, false));
  auto end = TRY(log_end(rows.front()));
  word.position = std::move(position);
  word.place = std::move(end);
  return {};
}

Done take_position(const Answer& rows, ServerProbe::Word& word) {
  word.position = TRY(position_of(first_value(rows), true));
  return {};
}

// What is asked at once, in this order.
class Question {
 public:
  // Of MariaDB `log_status_sql` is empty: its standing has the position.
  Question(bool is_whole, std::string_view standing_sql, std::string_view log_status_sql) {
    const bool is_mariadb = log_status_sql.empty();
    add(replica_status_sql(is_mariadb));
    add(standing_sql);
    if (!is_mariadb) {
      add(log_status_sql);
    }
    if (is_whole) {
      add(kUpheavalsSql);
    }
    if (is_whole && is_mariadb) {
      add(kCommittedSql);
      add(kListedSql);
    }
  }
  const std::string& sql() const { return sql_; }
  std::size_t size() const { return size_; }

 private:
  void add(std::string_view statement) {
    sql_ += (sql_.empty() ? "" : "; ") + std::string(statement);
    ++size_;
  }

  std::string sql_;
  std::size_t size_ = 0;
};

}  // namespace

Expected<std::string> server_identity(Connection& connection) {
  auto identity = named_values(connection,
                               "SHOW GLOBAL VARIABLES WHERE variable_name IN ('server_id', "
                               "'server_uuid', 'server_uid', 'hostname', 'port')");
  if (!identity || !connection.is_mariadb()) {
    return identity;
  }
  const auto unlogged = TRY(connection.value(kUnloggedSql));
  if (const std::string replicated = unlogged.value_or(""); !replicated.empty()) {
    *identity += "gtid_slave_pos=" + replicated + ' ';
  }
  return identity;
}

Expected<Connection> open_same_server(const Login& login, std::string_view identity) {
  auto connection = Connection::open(login);
  if (!connection) {
    return connection;
  }
  const auto found = TRY(server_identity(*connection));
  if (found != identity) {
    return failed("the address leads to several servers: now to " + found + ", previously to " +
                  std::string(identity) + "; give each server its own address");
  }
  return connection;
}

Expected<LogPosition> server_position(Connection& connection) {
  const bool is_mariadb = connection.is_mariadb();
  const auto rows = TRY(connection.ask(position_sql(is_mariadb)));
  return position_of(first_value(rows), is_mariadb);
}

Expected<LogServer> log_server(Connection& connection) {
  const bool is_mariadb = connection.is_mariadb();
  const auto found = TRY(connection.value(is_mariadb ? "SELECT @@global.gtid_domain_id"
                                                     : "SELECT @@global.server_uuid"));
  LogServer server;
  const std::string text = found.value_or("");
  if (is_mariadb) {
    server.domain = text::leading_number<std::uint32_t>(text);
  } else if (const auto one = parse_gtid(text + ":1", false)) {
    server.source = std::get<binlog::MySqlGtid>(*one).source;
  }
  return server;
}

ServerProbe::ServerProbe(Settings settings, Report report)
    : settings_(std::move(settings)), report_(std::move(report)) {}

std::expected<void, std::string> ServerProbe::prepare(Connection& connection) {
  TRY(in_words(connection.allow_several()));
  standing_sql_ = TRY(in_words(standing_sql(connection)));
  if (connection.is_mariadb()) {
    return {};
  }
  log_status_sql_ = TRY(in_words(log_status_sql(connection)));
  return {};
}

std::string ServerProbe::why_not(const Standing& standing, const ReplicaLag& lag) const {
  if (standing.unlogged != settings_.standing.unlogged) {
    return "the server has joined a cluster, or has replicated changes that are not in its log";
  }
  if (lag.is_replica && !settings_.logs_what_it_replicates) {
    return "the server has become a replica and does not log replicated changes";
  }
  return std::string(why_read_only(standing, lag.is_replica));
}

bool ServerProbe::is_young(const Word& word) const {
  if (!word.position.is_mariadb()) {
    return word.place.is_in_first_file();
  }
  const TimePoint now = settings_.clock();
  const std::chrono::duration<double> since = now - whole_at_.value_or(now);
  return static_cast<double>(word.position.largest_number()) <=
         since.count() * static_cast<double>(kNumbersPerSecondMax);
}

bool ServerProbe::is_whole_due() const {
  return !whole_at_ || settings_.clock() - *whole_at_ >= whole_every() || is_young(last_);
}

std::expected<ReplicaLag, std::string> ServerProbe::ask(Connection& connection, Word& word) {
  const bool is_whole = is_whole_due();
  auto lag = ask(connection, word, is_whole);
  if (lag && !is_whole && is_young(word)) {  // by now: the answer has taken its time
    lag = ask(connection, word, true);
  }
  if (lag && word.place < last_.place) {
    return std::unexpected("the server's log went back to " + word.place.file + " at " +
                           std::to_string(word.place.position) + ": it was reset");
  }
  last_ = word;
  return lag;
}

std::expected<ReplicaLag, std::string> ServerProbe::ask(Connection& connection,
                                                        Word& word,
                                                        bool is_whole) {
  const bool is_mariadb = connection.is_mariadb();
  const TimePoint at = settings_.clock();
  const Question question(is_whole, standing_sql_, log_status_sql_);
  auto answers = TRY(in_words(connection.ask_several(question.sql())));
  if (answers.size() != question.size()) {
    return std::unexpected("the server did not answer all queries");
  }
  auto next = answers.begin();
  const ReplicaLag lag = replica_lag(std::move(*next++).records(), is_mariadb);
  const Result standing = std::move(*next++);
  const auto stands = standing_of(standing.rows, is_mariadb);
  const auto taken =
      is_mariadb ? take_position(standing.rows, word) : take_log_status(*next++, word);
  if (!stands || !taken) {
    return std::unexpected(stands ? taken.error().what : stands.error().what);
  }
  if (std::string why = why_not(*stands, lag); !why.empty()) {
    return std::unexpected(std::move(why));
  }
  if (is_whole && named_values(next++->rows) != settings_.upheavals) {
    return std::unexpected(
        "the server has run a RESET or joined a cluster: its log may have been reset");
  }
  if (is_whole) {
    whole_at_ = at;
    word.committed.emplace(Committed{.position = word.position, .place = {}});
  }
  if (is_whole && is_mariadb) {
    word.committed = TRY(in_words(committed(next++->rows)));
    word.committed->listed = listed_xids(next++->rows);
  }
  const std::string_view why_not = why_not_strict(lag.is_replica);
  settings_.asking.serves_strict(why_not.empty());
  settings_.asking.refuses_strict(!why_not.empty());
  if (settings_.asking.must_serve_strict() && !why_not.empty()) {
    return std::unexpected(std::string(why_not));
  }
  return lag;
}

std::string ServerProbe::ask_until_it_fails(const std::stop_token& stop) {
  auto connection = open_same_server(settings_.login, settings_.identity);
  if (!connection) {
    return connection.error().what;
  }
  if (const auto prepared = prepare(*connection); !prepared) {
    return prepared.error();
  }
  const std::stop_callback wake(stop, [&connection] { connection->interrupt(); });
  ProofDates dates(settings_.clock, settings_.max_lag);
  std::chrono::nanoseconds pause{};
  do {
    Word word;
    settings_.asking.begin();  // before the time of the question, which is the first thing asked
    const auto at = dates.date([&] { return ask(*connection, word); });
    if (!at) {
      return at.error();
    }
    word.at = *at;
    report_(word);
    const TimePoint now = settings_.clock();
    pause = std::max(whole_at_.value_or(now) + whole_every() - now, std::chrono::nanoseconds(0));
  } while (pause_for(pause, settings_.asking, stop));
  return {};
}

}  // namespace cuckooguard::source::mysql
