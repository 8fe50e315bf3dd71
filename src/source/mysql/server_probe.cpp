#include "mysql/server_probe.h"

#include <charconv>
#include <exception>
#include <utility>

#include "follow/pause.h"
#include "mysql/proof_dates.h"
#include "mysql/read_view.h"
#include "mysql/server.h"

namespace cuckooguard::source {
namespace {

std::string_view position_sql(bool is_mariadb) {
  return is_mariadb ? "SELECT @@global.gtid_binlog_pos" : "SELECT @@global.gtid_executed";
}

std::expected<LogPosition, MysqlError> position_of(const std::optional<std::string>& text,
                                                   bool is_mariadb) {
  auto position = LogPosition::parse(text.value_or("?"), is_mariadb);
  if (!position) {
    constexpr unsigned kMalformed = 2027;  // CR_MALFORMED_PACKET
    return std::unexpected(
        MysqlError{.code = kMalformed, .what = "the server does not tell how far its log is"});
  }
  return *std::move(position);
}

std::optional<std::string> first_value(const MysqlAnswer& rows) {
  return rows.size() == 1 && !rows.front().empty() ? rows.front().front() : std::nullopt;
}

// MySQL's set is read before its log's end.
std::expected<void, MysqlError> take_position(const MysqlResult& told,
                                              bool is_mariadb,
                                              ServerProbe::Word& word) {
  std::optional<std::string> text = first_value(told.rows);
  if (!is_mariadb && text) {
    const MysqlRecord status = MysqlResult(told).records().front();
    const auto set = status.find("Executed_Gtid_Set");
    text = set == status.end() ? std::nullopt : set->second;
    auto end = log_end(status);
    if (!end) {
      return std::unexpected(end.error());
    }
    word.place = *std::move(end);
  }
  auto position = position_of(text, is_mariadb);
  if (!position) {
    return std::unexpected(position.error());
  }
  word.position = *std::move(position);
  return {};
}

// What is asked at once, in this order.
class Question {
 public:
  Question(bool is_mariadb, bool is_whole, std::string_view position_sql) {
    add(replica_status_sql(is_mariadb));
    add(position_sql);
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

std::expected<std::string, MysqlError> server_identity(MysqlConnection& connection) {
  return named_values(connection,
                      "SHOW GLOBAL VARIABLES WHERE variable_name IN ('server_id', 'server_uuid', "
                      "'server_uid', 'hostname', 'port')");
}

std::expected<MysqlConnection, MysqlError> open_same_server(const MysqlLogin& login,
                                                            std::string_view identity) {
  auto connection = MysqlConnection::open(login);
  if (!connection) {
    return connection;
  }
  const auto found = server_identity(*connection);
  if (!found) {
    return std::unexpected(found.error());
  }
  if (*found != identity) {
    return failed("the address leads to several servers: now to " + *found + ", before to " +
                  std::string(identity) + "; let each have an address of its own");
  }
  return connection;
}

std::expected<LogPosition, MysqlError> server_position(MysqlConnection& connection) {
  const bool is_mariadb = connection.is_mariadb();
  const auto rows = connection.ask(position_sql(is_mariadb));
  if (!rows) {
    return std::unexpected(rows.error());
  }
  return position_of(first_value(*rows), is_mariadb);
}

std::expected<LogServer, MysqlError> log_server(MysqlConnection& connection) {
  const bool is_mariadb = connection.is_mariadb();
  const auto found = connection.value(is_mariadb ? "SELECT @@global.gtid_domain_id"
                                                 : "SELECT @@global.server_uuid");
  if (!found) {
    return std::unexpected(found.error());
  }
  LogServer server;
  const std::string text = found->value_or("");
  if (is_mariadb) {
    std::from_chars(text.data(), text.data() + text.size(), server.domain);
  } else if (const auto one = parse_gtid(text + ":1", false)) {
    server.source = std::get<binlog::MySqlGtid>(*one).source;
  }
  return server;
}

ServerProbe::ServerProbe(Settings settings, Report report)
    : settings_(std::move(settings)),
      report_(std::move(report)),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

void ServerProbe::run(const std::stop_token& stop) {
  try {
    why_ = ask_until_it_fails(stop);
  } catch (const std::exception&) {
    why_.clear();  // no memory, say
  }
  has_ended_.store(true, std::memory_order_release);
}

std::expected<std::string_view, MysqlError> ServerProbe::position_sql(
    MysqlConnection& connection) const {
  if (!connection.is_mariadb()) {
    return log_status_sql(connection);
  }
  return settings_.membership.empty() ? source::position_sql(true) : kPositionAndMembershipSql;
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

std::expected<ReplicaLag, std::string> ServerProbe::ask(MysqlConnection& connection, Word& word) {
  const bool is_whole = is_whole_due();
  auto lag = ask(connection, word, is_whole);
  if (lag && !is_whole && is_young(word)) {  // by now: the answer has taken its time
    lag = ask(connection, word, true);
  }
  if (lag && word.place < last_.place) {
    return std::unexpected("the server's log has gone back to " + word.place.file + " at " +
                           std::to_string(word.place.position) + ": it has begun anew");
  }
  last_ = word;
  return lag;
}

std::expected<ReplicaLag, std::string> ServerProbe::ask(MysqlConnection& connection,
                                                        Word& word,
                                                        bool is_whole) {
  const bool is_mariadb = connection.is_mariadb();
  const TimePoint at = settings_.clock();
  const Question question(is_mariadb, is_whole, position_sql_);
  auto answers = connection.ask_several(question.sql());
  if (!answers) {
    return std::unexpected(answers.error().what);
  }
  if (answers->size() != question.size()) {
    return std::unexpected("the server does not answer all that it was asked");
  }
  auto next = answers->begin();
  const ReplicaLag lag = replica_lag(std::move(*next++).records(), is_mariadb);
  const MysqlResult told = std::move(*next++);
  if (const auto taken = take_position(told, is_mariadb, word); !taken) {
    return std::unexpected(taken.error().what);
  }
  const bool is_joining =
      !settings_.membership.empty() && cluster_membership(told.rows) != settings_.membership;
  if (is_joining || (is_whole && named_values(next++->rows) != settings_.upheavals)) {
    return std::unexpected(
        "the server has run a RESET or joined a cluster: its log may have begun anew");
  }
  if (is_whole) {
    whole_at_ = at;
    word.committed.emplace(Committed{.position = word.position, .place = {}});
  }
  if (is_whole && is_mariadb) {
    auto committed = committed_place(next++->rows);
    if (!committed) {
      return std::unexpected(committed.error().what);
    }
    word.committed->place = *std::move(committed);
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
  if (const auto allowed = connection->allow_several(); !allowed) {
    return allowed.error().what;
  }
  const auto position_sql = this->position_sql(*connection);
  if (!position_sql) {
    return position_sql.error().what;
  }
  position_sql_ = *position_sql;
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

}  // namespace cuckooguard::source
