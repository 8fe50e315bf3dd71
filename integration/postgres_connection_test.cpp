// Sessions with a real PostgreSQL: who is let in, what ends a wait, what a row says, what a server
// lacks, and the slots that keep its log.
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <string>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fixtures/on_postgres.h"
#include "harness/deadline.h"
#include "harness/ports.h"
#include "postgres/connection.h"
#include "postgres/server.h"

namespace cuckooguard::harness {
namespace {

using namespace std::chrono_literals;
using source::postgres::Connection;
using source::postgres::Login;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;
using Purpose = Connection::Purpose;

const source::postgres::Place kPlace{.schema = "public", .publication = "cuckooguard"};

class PostgresConnections : public OnPostgres {
 protected:
  void prepare() override { create_guard_role(*server_); }

  Login login() const {
    return {.addresses = {{.host = "127.0.0.1", .port = server_->port()}},
            .user = "guard",
            .password = "word",
            .database = "shop"};
  }
  Connection open(Purpose purpose = Purpose::questions) const {
    auto opened = Connection::open(login(), purpose);
    return opened ? *std::move(opened) : throw std::runtime_error(opened.error().what);
  }
  std::vector<std::string> refused() const {
    Connection connection = open();
    return source::postgres::refusals(
        source::postgres::ask_server(connection, kPlace).value(), kPlace, false);
  }
};

TEST_F(PostgresConnections, are_let_in_by_the_right_password_alone) {
  Login by = login();
  EXPECT_TRUE(Connection::open(by));
  by.password = "other";
  const auto wrong = Connection::open(by);
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().state, "28P01");
  EXPECT_TRUE(wrong.error().is_refusal());
  EXPECT_FALSE(wrong.error().is_lost());
  EXPECT_EQ(wrong.error().what,
            "127.0.0.1:" + std::to_string(server_->port()) +
                ": password authentication failed for user \"guard\"");
  by = login();
  by.database = "nowhere";
  EXPECT_EQ(Connection::open(by).error().state, "3D000");

  // Read at every connect.
  const TemporaryDirectory directory;
  by = login();
  by.password_file = directory.file("password");
  EXPECT_THAT(
      Connection::open(by).error().what,
      testing::EndsWith("no password supplied: " + by.password_file + " is empty or unreadable"));
  write_whole_file(by.password_file, "other\n");
  EXPECT_FALSE(Connection::open(by));
  write_whole_file(by.password_file, "word\n");
  EXPECT_TRUE(Connection::open(by));
}

TEST_F(PostgresConnections, go_by_a_socket_or_its_directory) {
  Login by = login();
  by.addresses = {
      {.unix_path = server_->socket_directory() / (".s.PGSQL." + std::to_string(server_->port()))}};
  EXPECT_TRUE(Connection::open(by));
  by.addresses = {{.port = server_->port(), .unix_path = server_->socket_directory()}};
  EXPECT_TRUE(Connection::open(by));
}

// Variables of libpq's, for as long as it lives.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) {
    ::setenv(name, value, 1);  // NOLINT(concurrency-mt-unsafe): no other thread runs
  }
  ~Variable() { ::unsetenv(name_); }  // NOLINT(concurrency-mt-unsafe)
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
};

TEST_F(PostgresConnections, do_not_depend_on_the_environment) {
  const Variable port("PGPORT", "1");
  const Variable mode("PGSSLMODE", "verify-full");
  const Variable options("PGOPTIONS", "-c search_path=public");
  const Variable zone("PGTZ", "Asia/Tokyo");
  const Variable attributes("PGTARGETSESSIONATTRS", "standby");
  EXPECT_EQ(open()
                .value("SELECT current_setting('search_path') || current_setting('TimeZone')"
                       " || current_user")
                .value(),
            "UTCguard");
  for (const char* const name : {"PGHOSTADDR", "PGSERVICE", "PGREQUIREPEER"}) {
    const Variable set(name, "somewhere");
    const auto refused = Connection::open(login());
    ASSERT_FALSE(refused);
    EXPECT_TRUE(refused.error().is_refusal());
    EXPECT_THAT(refused.error().what, HasSubstr(name));
  }
}

TEST_F(PostgresConnections, have_the_settings_that_are_relied_on_whatever_the_roles_are) {
  run("ALTER ROLE guard SET statement_timeout = 1; ALTER ROLE guard SET \"TimeZone\" = "
      "'Asia/Tokyo';"
      "ALTER ROLE guard SET \"DateStyle\" = 'SQL, DMY'; ALTER ROLE guard SET search_path = public;"
      "ALTER ROLE guard SET bytea_output = 'escape'; ALTER ROLE guard SET extra_float_digits = -15;"
      "ALTER ROLE guard SET row_security = on; ALTER ROLE guard SET client_encoding = 'LATIN1';"
      "ALTER ROLE guard SET quote_all_identifiers = on; ALTER ROLE guard SET lock_timeout = 1");
  for (const Purpose purpose : {Purpose::questions, Purpose::replication}) {
    Connection connection = open(purpose);
    EXPECT_EQ(connection
                  .value("SELECT concat_ws('|', current_setting('statement_timeout'),"
                         " current_setting('lock_timeout'), current_setting('row_security'),"
                         " '2026-11-23 01:02:03+00'::timestamptz, '\\x41'::bytea, 0.1::float8,"
                         " current_setting('search_path'), current_setting('client_encoding'),"
                         " current_setting('application_name'), quote_ident('a'))")
                  .value(),
              "0|0|off|2026-11-23 01:02:03+00|\\x41|0.1||UTF8|cuckooguard|a");
  }
}

TEST_F(PostgresConnections, say_what_a_server_says_and_stay) {
  Connection connection = open();
  const auto failed = connection.ask("SELECT 1 FROM public.nowhere");
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().state, "42P01");
  EXPECT_FALSE(failed.error().is_lost());
  EXPECT_EQ(connection.ask("SELECT 1, NULL UNION ALL SELECT 2, 'b'").value(),
            (source::postgres::Answer{{"1", std::nullopt}, {"2", "b"}}));
  EXPECT_EQ(connection.value("SELECT " + connection.quoted("it's a \\ \"x\"")).value(),
            "it's a \\ \"x\"");
  EXPECT_EQ(connection.value("SELECT 1 WHERE false").value(), std::nullopt);
  EXPECT_FALSE(connection.ask("SELECT generate_series(1, 100001)"));
  EXPECT_FALSE(connection.value("SELECT 1"));  // its answer would be the rest of that
}

TEST_F(PostgresConnections, do_not_wait_longer_than_they_are_told) {
  Login by = login();
  by.timeout = 1s;
  Connection asked = Connection::open(by).value();
  Connection read = Connection::open(by).value();
  auto rows = read.stream("COPY (SELECT generate_series(1, 10000000)) TO STDOUT", 1).value();
  server_->freeze();
  const auto began = SteadyClock::now();
  EXPECT_TRUE(asked.value("SELECT 1").error().is_lost());
  EXPECT_TRUE(Connection::open(by).error().is_lost());
  auto row = rows.next();
  while (row && *row) {  // what has been sent already
    row = rows.next();
  }
  EXPECT_TRUE(!row && row.error().is_lost());
  EXPECT_LT(SteadyClock::now() - began, 30s);
  server_->thaw();
}

TEST_F(PostgresConnections, end_from_another_thread) {
  Connection connection = open();
  std::thread other([&] {
    Connection watch = open();
    EXPECT_TRUE(eventually([&] {
      return watch.value("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'")
                 .value() == "1";
    }));
    connection.interrupt();
  });
  const auto slept = connection.value("SELECT pg_sleep(9)");
  other.join();
  ASSERT_FALSE(slept);
  EXPECT_TRUE(slept.error().is_lost());
  EXPECT_THAT(slept.error().what, Not(HasSubstr("in time")));
}

TEST_F(PostgresConnections, end_from_another_thread_whoever_has_them_by_then) {
  Connection connection = open();
  const std::function<void()> interrupt = connection.interruption();
  {
    Connection other = std::move(connection);
    interrupt();
    EXPECT_TRUE(other.value("SELECT 1").error().is_lost());
  }
  interrupt();
}

TEST_F(PostgresConnections, are_lost_with_the_server) {
  Connection connection = open();
  server_->stop();
  EXPECT_TRUE(connection.value("SELECT 1").error().is_lost());
  const auto refused = Connection::open(login());
  EXPECT_TRUE(refused.error().is_lost());
  EXPECT_FALSE(refused.error().is_refusal());
  server_->start_again();
  EXPECT_TRUE(Connection::open(login()));
  server_->kill();
  server_->start_again();
  EXPECT_TRUE(Connection::open(login()));
}

TEST_F(PostgresConnections, go_to_the_first_of_several_that_is_no_standby) {
  run("CREATE TABLE t (n int)");
  Login by = login();
  const TakenPort silent;
  by.addresses.insert(by.addresses.begin(), {.host = "127.0.0.1", .port = silent.port()});
  by.timeout = 2s;
  EXPECT_TRUE(Connection::open(by));
  std::ofstream(server_->data() / "standby.signal").close();
  server_->stop();
  server_->start_again();
  EXPECT_THAT(Connection::open(by).error().what, HasSubstr("hot standby mode"));
  EXPECT_THAT(refused(), ElementsAre(HasSubstr("standby")));
}

TEST_F(PostgresConnections, stream_rows_as_they_are) {
  run("CREATE TABLE odd (n int, v text);"
      "INSERT INTO odd VALUES (1, NULL), (2, ''), (3, E'a\\tb\\nc\\\\d\\r\\b\\f\\x0b'), (4, '\\N'),"
      "(5, 'h\xC3\xA9llo'), (6, repeat('x', 1000000))");
  Connection connection = open();
  auto rows = connection.stream("COPY (SELECT v FROM public.odd ORDER BY n) TO STDOUT", 1).value();
  std::vector<std::optional<std::string>> seen;
  for (auto row = rows.next().value(); row; row = rows.next().value()) {
    const auto value = (*row)[0];
    if (value && value->size() > 99) {
      EXPECT_EQ(value->find_first_not_of('x'), std::string::npos);
      seen.emplace_back(std::to_string(value->size()));
    } else {
      seen.emplace_back(value);
    }
  }
  EXPECT_THAT(
      seen, ElementsAre(std::nullopt, "", "a\tb\nc\\d\r\b\f\v", "\\N", "h\xC3\xA9llo", "1000000"));
  EXPECT_EQ(connection.value("SELECT 1").value(), "1");  // it is free again
  EXPECT_EQ(connection.stream("COPY public.nowhere TO STDOUT", 1).error().state, "42P01");
  EXPECT_EQ(connection.value("SELECT 1").value(), "1");
  auto failing =
      connection.stream("COPY (SELECT 1 / (n - 3) FROM public.odd ORDER BY n) TO STDOUT", 1)
          .value();
  auto row = failing.next();
  while (row && *row) {
    row = failing.next();
  }
  EXPECT_EQ(row.error().state, "22012");
  EXPECT_EQ(connection.value("SELECT 1").value(), "1");
}

TEST_F(PostgresConnections, read_rows_as_fast_as_psql_throws_them_away) {
  run("CREATE TABLE many AS SELECT n AS id, 'user-' || n AS name FROM generate_series(1, 1000000) "
      "AS n");
  const std::string copy = "COPY (SELECT id, name FROM public.many) TO STDOUT";
  const auto psql_began = SteadyClock::now();
  EXPECT_EQ(
      run_program(
          {"/bin/sh", "-c", "psql -X -c \"$1\" \"$2\" > /dev/null", "sh", copy, server_->login()})
          .exit_code,
      0);
  const auto psql_took = SteadyClock::now() - psql_began;
  Connection connection = open();
  const auto began = SteadyClock::now();
  auto rows = connection.stream(copy, 2).value();
  std::size_t count = 0;
  std::size_t bytes = 0;
  for (auto row = rows.next().value(); row; row = rows.next().value()) {
    ++count;
    bytes += (*row)[0]->size() + (*row)[1]->size();
  }
  const auto took = SteadyClock::now() - began;
  EXPECT_EQ(count, 1'000'000U);
  EXPECT_EQ(bytes, 5'888'896U + 5'888'896U + 5'000'000U);
  const auto per_second = [](auto duration) {
    return static_cast<std::uint64_t>(1e6 / std::chrono::duration<double>(duration).count());
  };
  RecordProperty("rows_per_second", std::to_string(per_second(took)));
  std::cout << "rows/s: " << per_second(took) << ", psql: " << per_second(psql_took) << '\n';
  EXPECT_LT(took, 10 * psql_took + 1s);
}

TEST_F(PostgresConnections, make_slots_and_say_what_was_before) {
  run("CREATE TABLE t (n int PRIMARY KEY)");
  Connection questions = open();
  Connection replication = open(Purpose::replication);
  const auto before = source::postgres::current_snapshot(questions).value();
  const std::string xid = session_->value(
      "WITH new AS (INSERT INTO t VALUES (1) RETURNING 1) SELECT pg_current_xact_id() FROM new");
  const auto slot = source::postgres::create_slot(replication, questions, "guard_1", false).value();
  EXPECT_FALSE(before.shows(std::stoull(xid)));
  EXPECT_TRUE(slot.shows.shows(std::stoull(xid)));
  EXPECT_LE(slot.begins, source::postgres::insert_lsn(questions).value());
  EXPECT_GT(slot.begins.value, 0U);
  run("INSERT INTO t VALUES (2)");

  const auto found = source::postgres::find_slot(questions, "guard_1").value().value();
  EXPECT_TRUE(found.is_usable) << found.why_not;
  EXPECT_FALSE(found.is_active);
  EXPECT_EQ(found.confirmed, slot.begins);
  EXPECT_EQ(source::postgres::find_slot(questions, "guard_2").value(), std::nullopt);

  // Its stream: the second row alone, woken, and ended by another thread.
  Connection stream = open(Purpose::replication);
  ASSERT_TRUE(stream.start_stream("START_REPLICATION SLOT guard_1 LOGICAL " + slot.begins.text() +
                                  " (proto_version '1', publication_names 'cuckooguard')"));
  EXPECT_TRUE(source::postgres::find_slot(questions, "guard_1").value()->is_active);
  std::size_t inserts = 0;
  bool is_committed = false;
  EXPECT_TRUE(eventually([&] {
    const auto message = stream.message(100ms).value();
    if (message && message->front() == 'w') {
      const char kind = message->at(25);
      inserts += kind == 'I' ? 1 : 0;
      is_committed = kind == 'C';
    }
    return is_committed;
  }));
  EXPECT_EQ(inserts, 1U);
  std::string status(34, '\0');
  status.front() = 'r';
  EXPECT_TRUE(stream.send(status));
  // It counts also if a message comes with it.
  run("INSERT INTO t VALUES (3)");
  ASSERT_TRUE(eventually([&] {
    return session_->value(
               "SELECT sent_lsn >= pg_current_wal_lsn() FROM pg_stat_replication WHERE state = "
               "'streaming'") == "t";
  }));
  stream.wake();
  const auto began = SteadyClock::now();
  while (stream.message(60s).value()) {
  }
  EXPECT_LT(SteadyClock::now() - began, 50s);
  std::thread other([&stream] { stream.interrupt(); });
  auto message = stream.message(60s);
  while (message) {
    message = stream.message(60s);
  }
  other.join();
  EXPECT_TRUE(message.error().is_lost());

  ASSERT_TRUE(source::postgres::create_slot(replication, questions, "guard_temporary", true));
  run("SELECT pg_create_physical_replication_slot('guard_physical')");
  std::vector<std::string> names;
  const auto slots = source::postgres::list_slots(questions, "guard_").value();
  for (const auto& each : slots) {
    names.push_back(each.name + (each.is_usable ? "" : ": " + each.why_not));
  }
  EXPECT_THAT(
      names,
      ElementsAre("guard_1", StartsWith("guard_physical: it is physical"), "guard_temporary"));
  EXPECT_TRUE(
      eventually([&] { return source::postgres::drop_slot(questions, "guard_1").has_value(); }));
  EXPECT_EQ(source::postgres::find_slot(questions, "guard_1").value(), std::nullopt);
}

TEST_F(PostgresConnections, know_the_server_again) {
  Connection connection = open();
  const std::string identity = source::postgres::server_identity(connection).value();
  Connection replication = open(Purpose::replication);
  EXPECT_EQ(source::postgres::server_identity(replication).value(), identity);
  EXPECT_EQ(source::postgres::timeline_of(identity),
            session_->value("SELECT system_identifier FROM pg_control_system()") + "/00000001");
  EXPECT_TRUE(source::postgres::open_same_server(login(), identity));
  EXPECT_FALSE(source::postgres::open_same_server(login(), identity + "0"));
  std::ofstream(server_->data() / "standby.signal").close();
  server_->stop();
  server_->start_again();
  session_.emplace(server_->session());
  run("SELECT pg_promote()");
  EXPECT_FALSE(source::postgres::open_same_server(login(), identity));  // another history
}

TEST_F(PostgresConnections, say_what_is_missing) {
  EXPECT_THAT(refused(), IsEmpty());
  run("DROP PUBLICATION cuckooguard; ALTER ROLE guard NOREPLICATION");
  run("SELECT pg_create_logical_replication_slot('n' || n, 'pgoutput') FROM generate_series(1, 10) "
      "AS n");
  EXPECT_THAT(refused(),
              ElementsAre(HasSubstr("ALTER ROLE guard REPLICATION"),
                          HasSubstr("CREATE PUBLICATION"),
                          HasSubstr("max_replication_slots")));
  run("CREATE PUBLICATION cuckooguard FOR ALL TABLES WITH (publish = 'insert')");
  EXPECT_THAT(refused(), testing::Contains(HasSubstr("all changes (update, delete, truncate)")));
  run("SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots");
  server_->stop();
  server_->start_again({"wal_level=replica", "synchronous_standby_names=*"});
  EXPECT_THAT(refused(),
              AllOf(testing::Contains(HasSubstr("wal_level = replica")),
                    testing::Contains(HasSubstr("synchronous_standby_names = '*'"))));
}

class PostgresTls : public PostgresConnections {
  PostgresOptions options() const override { return {.has_tls = true}; }
};

TEST_F(PostgresTls, is_used_and_verified_as_configured) {
  Login by = login();
  const auto is_encrypted = [&by] {
    auto connection = Connection::open(by);
    return connection
               ? connection->value("SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()")
                     .value()
                     .value()
               : connection.error().what;
  };
  EXPECT_EQ(is_encrypted(), "f");
  by.tls = config::Tls::required;
  EXPECT_EQ(is_encrypted(), "t");
  by.tls = config::Tls::verified;
  EXPECT_THAT(is_encrypted(), HasSubstr("certificate verify failed"));
  by.ca_file = server_->certificates() / "ca.crt";
  EXPECT_EQ(is_encrypted(), "t");
  Connection connection = Connection::open(by).value();
  auto rows = connection
                  .stream(
                      "COPY (SELECT repeat('x', 20000 + n) FROM generate_series(1, 1000) AS n) "
                      "TO STDOUT",
                      1)
                  .value();
  std::size_t count = 0;
  for (auto row = rows.next().value(); row; row = rows.next().value()) {
    EXPECT_EQ((*row)[0]->size(), 20'000 + ++count);
  }
  EXPECT_EQ(count, 1000U);
}

}  // namespace
}  // namespace cuckooguard::harness
