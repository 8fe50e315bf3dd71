// Keys of uuid, numeric, date and bytea: PostgreSQL itself says which spellings find a row, and
// none of these is ever answered as absent, whether the row was read or came by the log.
#include <algorithm>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fixtures/guarded_postgres.h"
#include "harness/redis_command.h"

namespace cuckooguard::harness {
namespace {

using testing::HasSubstr;

// A table of one column, which is its key and that of `NAME:{v:TYPE}`.
struct Typed {
  std::string name;
  std::string column;                // its type
  std::string type;                  // the placeholder's
  std::vector<std::string> values;   // as an application inserts them
  std::vector<std::string> asked{};  // besides
  std::vector<std::string> missing;  // as the server prints them
};

const std::vector<Typed> kAll = {
    {.name = "uuids",
     .column = "uuid",
     .type = "uuid",
     .values = {"0189fe5c-09af-7000-8000-abcdef012345",
                "0189FE5C-09AF-7000-8000-ABCDEF0123FF",
                "{0189fe5c-09af-7000-8000-abcdef0123ee}",
                "0189fe5c09af70008000abcdef0123dd",
                "00000000-0000-0000-0000-000000000000"},
     .asked = {"0189fe5c-09af-7000-8000-ABCDEF012345",
               "0189-fe5c-09af-7000-8000-abcd-ef01-2345",
               "{0189fe5c-09af-7000-8000-abcdef012345}"},
     .missing = {"0189fe5c-09af-7000-8000-abcdef012346", "ffffffff-ffff-ffff-ffff-ffffffffffff"}},
    {.name = "numerics",
     .column = "numeric",
     .type = "numeric",
     .values = {"1.0",
                "2",
                "1.10",
                "-0.0",
                "1e3",
                "NaN",
                "Infinity",
                "-Infinity",
                "-7.250",
                "123456789012345678901234567890.0000000001",
                ".5",
                "1e-20"},
     .asked = {"1",
               "1.00",
               "01",
               "+1",
               "2.0",
               "1.1",
               "1.100",
               "11e-1",
               "0",
               "-0",
               "0.000",
               "1000",
               "1000.0",
               "nan",
               "inf",
               "-7.25",
               " 2",
               "0.5",
               "0.50"},
     .missing = {"3", "1.2", "-1", "10", "100", "1.01", "7.25", "0.00000000000000000002"}},
    {.name = "prices",
     .column = "numeric(10,2)",
     .type = "numeric",
     .values = {"5", "5.50", "0.25", "-1.00", "20"},
     .asked = {"5.00", "5.5", "5.500", ".25", "0.25", "-1", "20.0", "2e1"},
     .missing = {"6", "5.05", "0.5", "1", "2", "200"}},
    {.name = "days",
     .column = "date",
     .type = "date",
     .values = {"2024-02-29",
                "infinity",
                "-infinity",
                "0044-03-15 BC",
                "12345-01-01",
                "January 8, 1999",
                "0001-01-01",
                "20230704"},
     .asked = {"20240229",
               "2024-2-29",
               "29 Feb 2024",
               "2/29/2024",
               "1999-01-08",
               "J2451187",
               "2023-07-04",
               "Infinity",
               "March 15, 0044 BC",
               "5874897-12-31"},
     .missing = {"2024-02-28", "0044-03-15", "2345-01-01", "9999-12-31"}},
    {.name = "hashes",
     .column = "bytea",
     .type = "bytea",
     .values = {"", "\\x00ff", "\\xDEADBEEF", "abc", "\\x5c", "\\x 0a 0B", "\\000\\001"},
     .asked = {"\\x", "\\xdeadbeef", "\\x616263", "\\134", "\\x0a0b", "\\x0001", "\\x00FF"},
     .missing = {"\\x00", "\\x00fe", "\\xbeef", "\\x61626364"}},
    {.name = "tokens",
     .column = "token",  // a domain of a domain of uuid
     .type = "uuid",
     .values = {"11111111-2222-4333-8444-AAAABBBBCCCC"},
     .asked = {"11111111-2222-4333-8444-aaaabbbbcccc"},
     .missing = {"11111111-2222-4333-8444-aaaabbbbcccd"}},
    {.name = "amounts",
     .column = "amount",  // a domain of numeric(12,4)
     .type = "numeric",
     .values = {"12.5", "3"},
     .asked = {"12.5000", "3.0000"},
     .missing = {"12.51", "30"}},
};

class PostgresTypes : public GuardedPostgres {
 protected:
  void create_tables() override {
    run("CREATE DOMAIN id AS uuid; CREATE DOMAIN token AS id NOT NULL; "
        "CREATE DOMAIN amount AS numeric(12,4) CHECK (VALUE > 0)");
    for (const Typed& each : kAll) {
      run("CREATE TABLE " + each.name + " (v " + each.column + " PRIMARY KEY, note text)");
    }
  }
  void start() {
    std::string namespaces;
    for (const Typed& each : kAll) {
      namespaces += Guarded{.name = each.name,
                            .keys = each.name + ":{v:" + each.type + "}",
                            .table = each.name,
                            .fresh_ids = ""}
                        .yaml();
    }
    GuardedPostgres::start(configuration(namespaces));
    expect_missing();
  }

  static std::string quoted(const std::string& value) { return "'" + value + "'"; }
  void insert() {
    for (const Typed& each : kAll) {
      for (const std::string& value : each.values) {
        run("INSERT INTO " + each.name + " VALUES (" + quoted(value) + ")");
      }
    }
  }
  // What an application may ask for: what it has inserted, what the server has made of it, and
  // other ways to write the same.
  std::vector<std::string> asked(const Typed& each) {
    std::vector<std::string> all = each.asked;
    for (const std::string& value : each.values) {
      all.push_back(value);
      all.push_back(session_->value("SELECT " + quoted(value) + "::" + each.column + "::text"));
    }
    return all;
  }
  bool finds(const Typed& each, const std::string& value) {
    return session_->value("SELECT count(*) FROM " + each.name + " WHERE v = " + quoted(value)) ==
           "1";
  }
  void expect_none_hidden(const std::string& when) {
    for (const Typed& each : kAll) {
      for (const std::string& value : asked(each)) {
        EXPECT_EQ(finds(each, value), value != "5874897-12-31") << each.name << ' ' << value;
        EXPECT_FALSE(is_absent(each.name + ":" + value))
            << when << ": " << each.name << ' ' << value;
      }
    }
  }
  void expect_missing() {
    for (const Typed& each : kAll) {
      for (const std::string& value : each.missing) {
        EXPECT_FALSE(finds(each, value)) << each.name << ' ' << value;
        EXPECT_TRUE(becomes_absent(each.name + ":" + value))
            << each.name << ' ' << value << guard_->log();
      }
    }
  }
  // Of what the server prints without the zeros of a scale, that which is judged.
  void expect_gone() {
    for (const Typed& each : kAll) {
      for (const std::string& value : each.values) {
        const std::string trimmed = each.type == "numeric"
                                        ? "trim_scale(" + quoted(value) + "::numeric)"
                                        : quoted(value) + "::" + each.column;
        const std::string key = each.name + ":" + session_->value("SELECT " + trimmed + "::text");
        const bool is_judged = !key.contains("nfinity") && !key.contains("NaN") &&
                               !key.contains("BC") && !key.contains("12345-");
        if (is_judged) {
          EXPECT_TRUE(becomes_absent(key)) << key;
        } else {
          EXPECT_FALSE(is_absent(key)) << key;
        }
      }
    }
  }
};

TEST_F(PostgresTypes, rows_that_are_read_and_that_come_by_the_log_are_the_same) {
  insert();
  start();
  expect_none_hidden("read");
  for (const Typed& each : kAll) {
    run("DELETE FROM " + each.name);
  }
  expect_gone();
  insert();
  ASSERT_TRUE(catches_up());
  expect_none_hidden("by the log");
  expect_missing();
  for (const Typed& each : kAll) {
    run("TRUNCATE " + each.name);
  }
  expect_gone();
}

TEST_F(PostgresTypes, a_value_that_is_written_anew_in_another_spelling_is_still_there) {
  insert();
  start();
  run("UPDATE numerics SET v = '1.100' WHERE v = 1.1; UPDATE numerics SET v = 2.000 WHERE v = 2; "
      "UPDATE uuids SET v = upper(v::text)::uuid; UPDATE days SET note = 'x'; "
      "UPDATE hashes SET v = v || '\\x'");
  ASSERT_TRUE(catches_up());
  expect_none_hidden("written anew");
  run("UPDATE numerics SET v = 1.20 WHERE v = 1.1; DELETE FROM numerics WHERE v = 2");
  ASSERT_TRUE(catches_up());
  EXPECT_FALSE(is_absent("numerics:1.2"));
  EXPECT_TRUE(becomes_absent("numerics:1.1"));
  EXPECT_TRUE(becomes_absent("numerics:2"));
}

TEST_F(PostgresTypes, keys_of_several_values_have_each_as_it_is_printed) {
  run("CREATE TABLE rates (day date, shop uuid, rate numeric(9,3), PRIMARY KEY (day, shop, rate)) "
      "PARTITION BY RANGE (day); CREATE TABLE rates_1 PARTITION OF rates DEFAULT; "
      "ALTER PUBLICATION cuckooguard SET (publish_via_partition_root = true); "
      "INSERT INTO rates VALUES ('2024-01-01', '0189FE5C-09AF-7000-8000-ABCDEF012345', 1.5), "
      "('infinity', '0189FE5C-09AF-7000-8000-ABCDEF012345', 1.5)");
  GuardedPostgres::start(
      configuration(Guarded{.name = "rates",
                            .keys = "[ 'rate:{day:date}:{shop:uuid}:{rate:numeric}', "
                                    "'v{_}:{rate:numeric}:{shop:uuid}:{day:date}' ]",
                            .table = "rates",
                            .fresh_ids = ""}
                        .yaml()));
  const std::string shop = "0189fe5c-09af-7000-8000-abcdef012345";
  ASSERT_TRUE(becomes_absent("rate:2024-01-02:" + shop + ":1.5")) << guard_->log();
  EXPECT_FALSE(is_absent("rate:2024-01-01:" + shop + ":1.5"));
  EXPECT_FALSE(is_absent("v7:1.5:" + shop + ":2024-01-01"));
  EXPECT_TRUE(is_absent("v7:1.6:" + shop + ":2024-01-01"));
  EXPECT_FALSE(is_absent("rate:2024-01-01:" + shop + ":1.500"));
  EXPECT_FALSE(is_absent("rate:infinity:" + shop + ":1.5"));
  run("DELETE FROM rates WHERE day = '2024-01-01'; INSERT INTO rates VALUES ('2024-02-01', '" +
      shop + "', 2)");
  EXPECT_TRUE(becomes_present("rate:2024-02-01:" + shop + ":2"));
  EXPECT_TRUE(becomes_absent("rate:2024-01-01:" + shop + ":1.5"));
}

TEST_F(PostgresTypes, another_placeholder_is_refused_before_anything_is_read) {
  write_whole_file(
      folder_ / "asked.yaml",
      "listen: 127.0.0.1:1\n" +
          configuration(Guarded{.name = "uuids", .keys = "a:{v}", .table = "uuids"}.yaml() +
                        Guarded{.name = "days", .keys = "b:{v:numeric}", .table = "days"}.yaml()));
  const Ended planned = run_guard({"plan", "--config", folder_ / "asked.yaml"});
  EXPECT_EQ(planned.exit_code, 1);
  EXPECT_THAT(planned.standard_error,
              HasSubstr("column \"v\" (uuid) can be found by several spellings of one value; "
                        "instead of {v} write {v:uuid}"));
  EXPECT_THAT(planned.standard_error, HasSubstr("instead of {v:numeric} write {v:date}"));
}

TEST_F(PostgresTypes, why_another_spelling_passes_is_explained) {
  start();
  const std::string said = guard_->call({"GUARD.EXPLAIN", "days:20240229"});
  EXPECT_THAT(said, HasSubstr("the value of {v:date} is not spelled as PostgreSQL prints it"));
}

}  // namespace
}  // namespace cuckooguard::harness
