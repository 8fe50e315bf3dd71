#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/parse.h"
#include "config/read_config.h"

namespace cuckooguard::config {
namespace {

using testing::config_of;
using ::testing::ElementsAre;
using testing::errors_of;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::string_view kSources =
    "sources:\n"
    "  shop: { type: sqlite, path: /x }\n"
    "  ids: { type: file, path: /y }\n"
    "  table: { type: file, path: /z, format: csv }\n"
    "namespaces:\n";

// Lines 6 and on are `namespaces`.
std::vector<std::string> errors_with(std::string_view namespaces) {
  return errors_of(std::string(kSources).append(namespaces));
}

TEST(Checks, the_admin_server_has_an_address_of_its_own) {
  EXPECT_THAT(
      errors_of("listen: 127.0.0.1:7000\nadmin: { address: localhost:7000 }\n"),
      ElementsAre(HasSubstr("2:19: admin.address: localhost:7000 is already used by listen")));
  EXPECT_THAT(errors_of("listen: 127.0.0.1:7000\nadmin: { address: 127.0.0.1:7001 }\n"), IsEmpty());
}

TEST(Checks, a_cluster_s_nodes_have_a_port_each) {
  const Config config = config_of(
      "listen: { nodes: '[::1]:7000-7002', announce: guard.local, tls: { cert: c, key: k } }\n"
      "upstream: { cluster: [ '10.0.0.1:6379', '10.0.0.2:6379' ] }\n");
  ASSERT_EQ(config.listen.size(), 3U);
  EXPECT_EQ(config.listen.front().address.text(), "[::1]:7000");
  EXPECT_EQ(config.listen.back().address.text(), "[::1]:7002");
  EXPECT_EQ(config.listen.back().announce, "guard.local");
  EXPECT_EQ(config.listen.back().tls->cert, "c");
  EXPECT_EQ(config.upstream.cluster.back().text(), "10.0.0.2:6379");
}

TEST(Checks, a_cluster_and_its_ports_are_of_use_only_together_and_alone) {
  EXPECT_THAT(errors_of("listen: 127.0.0.1:7000\nupstream: { cluster: '10.0.0.1:6379' }\n"),
              ElementsAre(HasSubstr("1:9: listen: a cluster needs a port for each")));
  EXPECT_THAT(errors_of("listen: { nodes: 127.0.0.1:7000-7001 }\n"),
              ElementsAre(HasSubstr("listen: nodes needs a cluster")));
  EXPECT_THAT(
      errors_of("listen: [ { nodes: 127.0.0.1:7000-7001 }, { nodes: 127.0.0.1:8000-8001 } ]\n"
                "upstream: { cluster: '10.0.0.1:6379' }\n"),
      ElementsAre(HasSubstr("and optionally one for clients without cluster support")));
  EXPECT_EQ(config_of("listen: [ { nodes: 127.0.0.1:7000-7001 }, 127.0.0.1:6380 ]\n"
                      "upstream: { cluster: '10.0.0.1:6379', split_mset: true }\n")
                .listen.size(),
            3);
  EXPECT_THAT(errors_of("listen: { nodes: 127.0.0.1:7000-7001, address: 127.0.0.1:6381 }\n"
                        "upstream: { cluster: '10.0.0.1:6379', address: 10.0.0.1:6379 }\n"),
              ElementsAre(HasSubstr("nodes and address are both set"),
                          HasSubstr("cluster and address are both set")));
  EXPECT_THAT(errors_of("listen: { nodes: 127.0.0.1:7000-7001 }\n"
                        "upstream: { cluster: 'localhost:7001' }\n"),
              ElementsAre(HasSubstr("127.0.0.1:7001 is also the upstream")));
  EXPECT_THAT(errors_of("listen: { announce: guard.local }\n"),
              ElementsAre(HasSubstr("announce is the host that clients of a cluster or Sentinel")));
}

TEST(Checks, a_mode_and_a_group_are_of_a_unix_socket) {
  const config::Listen listen =
      config_of("listen: { address: 'unix:/run/guard', mode: 0660, group: redis }\n")
          .listen.front();
  EXPECT_EQ(listen.mode, 0660U);
  EXPECT_EQ(listen.group, "redis");
  EXPECT_THAT(errors_of("listen: { mode: 0660 }\n"),
              ElementsAre(HasSubstr("mode and group apply only to a Unix socket")));
}

TEST(Checks, a_node_is_reached_where_it_is_said_to_be_and_is_who_it_was) {
  config::Upstream upstream =
      config_of(
          "listen: { nodes: 127.0.0.1:7000-7001 }\n"
          "upstream: { cluster: '10.0.0.1:6379', tls: true,\n"
          "  node_addresses: [ '10.0.0.1:6379=192.0.2.7:7001', 'a.example:1=[::1]:2' ] }\n")
          .upstream;
  const auto reached = [&](const Address& told) {
    upstream.address = told;
    return upstream.reached();
  };
  EXPECT_EQ(reached({.host = "10.0.0.1", .port = 6379}),
            (Address{.host = "192.0.2.7", .port = 7001, .tls_name = "10.0.0.1"}));
  EXPECT_EQ(reached({.host = "a.example", .port = 1, .tls_name = "b.example"}).tls_name,
            "b.example");
  const Address other{.host = "10.0.0.1", .port = 6380};
  EXPECT_EQ(reached(other), other);
  for (const char* const bad : {"a:1", "a:1=", "=a:1", "a:1=b", "a:0=b:1", "a:1=unix:/b"}) {
    EXPECT_THAT(errors_of("upstream: { node_addresses: '" + std::string(bad) + "' }\n"),
                ElementsAre(HasSubstr("write 10.0.0.1:6379=127.0.0.1:7001")))
        << bad;
  }
}

TEST(Checks, sentinels_and_their_ports) {
  const Config config = config_of(
      "listen: [ 127.0.0.1:7000, { sentinels: 127.0.0.1:7001 }, { nodes: 127.0.0.1:7002-7003 } ]\n"
      "upstream: { sentinels: [ '10.0.0.1:26379', '10.0.0.2:26379' ], master: shop,\n"
      "            sentinel_control: { password: word } }\n");
  ASSERT_EQ(config.listen.size(), 4U);
  EXPECT_TRUE(config.listen[0].is_for_redis());
  EXPECT_EQ(config.listen[1].address.text(), "127.0.0.1:7001");
  EXPECT_EQ(config.listen[1].sentinels, config.listen[1].address);
  EXPECT_EQ(config.listen[3].address.text(), "127.0.0.1:7003");
  EXPECT_EQ(config.upstream.sentinels.back().text(), "10.0.0.2:26379");
  EXPECT_EQ(config.upstream.master, "shop");
  EXPECT_EQ(config.upstream.sentinel_control.password, "word");
}

TEST(Checks, sentinels_are_of_use_only_with_what_belongs_to_them) {
  const std::string upstream = "upstream: { sentinels: [ '10.0.0.1:26379' ], master: shop }\n";
  EXPECT_THAT(errors_of("upstream: { sentinels: [ '10.0.0.1:26379' ] }\n"),
              ElementsAre(HasSubstr("sentinels and master must be set together")));
  EXPECT_THAT(errors_of("upstream: { master: shop }\n"),
              ElementsAre(HasSubstr("sentinels and master must be set together")));
  EXPECT_THAT(errors_of("upstream: { sentinels: [ 'a:1' ], master: shop, address: 'b:2' }\n"),
              ElementsAre(HasSubstr("the Sentinels provide the address of Redis")));
  EXPECT_THAT(errors_of("upstream: { sentinel_control: { password: word } }\n"),
              ElementsAre(HasSubstr("sentinel_control needs sentinels")));
  EXPECT_THAT(errors_of("listen: { sentinels: 127.0.0.1:7001 }\n" + upstream),
              ElementsAre(HasSubstr("also needs a port for the master")));
  EXPECT_THAT(errors_of("listen: [ 127.0.0.1:7000, { sentinels: 127.0.0.1:7001 } ]\n"),
              ElementsAre(HasSubstr("sentinels needs upstream")));
  EXPECT_THAT(errors_of("listen: [ 127.0.0.1:7000, { sentinels: 127.0.0.1:7001 }, { sentinels: "
                        "127.0.0.1:7002 } ]\n" +
                        upstream),
              ElementsAre(HasSubstr("can each be set only once")));
  EXPECT_THAT(
      errors_of("listen: { address: 127.0.0.1:7000, sentinels: 127.0.0.1:7001 }\n" + upstream),
      ElementsAre(HasSubstr("also needs a port for the master"), HasSubstr("one entry for each")));
  const std::string elsewhere = "listen: [ 127.0.0.1:7000, { sentinels: 10.0.0.9:7001 MORE} ]\n";
  EXPECT_THAT(errors_of(std::string(elsewhere).replace(elsewhere.find("MORE"), 4, "") + upstream),
              ElementsAre(HasSubstr("set announce next to sentinels")));
  EXPECT_THAT(
      errors_of(std::string(elsewhere).replace(elsewhere.find("MORE"), 4, ", announce: a.local ") +
                upstream),
      IsEmpty());
  EXPECT_THAT(errors_of("upstream: { sentinels: [ '127.0.0.1:6380' ], master: shop }\n"),
              ElementsAre(HasSubstr("is also the upstream")));
}

TEST(Checks, a_source_must_exist) {
  EXPECT_THAT(errors_with("  a: { keys: 'a:{b}', source: { from: shpo, table: t } }\n"),
              ElementsAre("6:39: from: source \"shpo\" does not exist, did you mean \"shop\"?"));
  EXPECT_THAT(errors_of("namespaces:\n  a: { keys: 'a:{b}', source: { from: shop, table: t } }\n"),
              ElementsAre("2:39: from: source \"shop\" does not exist"));
}

TEST(Checks, a_source_that_could_not_be_read_exists) {
  EXPECT_THAT(errors_of("sources: { shop: { type: nosql } }\n"
                        "namespaces:\n"
                        "  a: { keys: 'a:{b}', source: { from: shop, table: t } }\n"),
              ElementsAre(HasSubstr("1:26: type: \"nosql\"")));
}

TEST(Checks, a_source_may_be_unused) {
  EXPECT_THAT(errors_with("  a: { keys: 'a:{b}', source: { from: shop, table: t } }\n"), IsEmpty());
}

TEST(Checks, a_database_needs_a_table_and_a_file_has_none) {
  EXPECT_THAT(errors_with("  a: { keys: 'a:{b}', source: { from: shop } }\n"),
              ElementsAre(HasSubstr("6:23: table is missing")));
  EXPECT_THAT(errors_with("  a: { keys: 'a:{b}', source: { from: shop, tabel: t } }\n"),
              ElementsAre("6:45: unknown key tabel, did you mean \"table\"?"));
  EXPECT_THAT(errors_with("  a: { keys: 'a:{b}', source: { from: ids, table: t } }\n"),
              ElementsAre("6:51: table: source ids is a file and has no tables"));
  EXPECT_THAT(errors_with("  a: { keys: 'a:{b}', source: { from: ids, table: [ t, 'u_*' ] } }\n"),
              ElementsAre("6:51: table: source ids is a file and has no tables"));
  EXPECT_THAT(errors_with("  a: { keys: 'a:{b}', source: { from: ids } }\n"), IsEmpty());
}

TEST(Checks, a_file_of_lines_has_one_value_per_row) {
  EXPECT_THAT(errors_with("  a: { keys: 'a:{b}:{c}', source: { from: ids } }\n"),
              ElementsAre(HasSubstr(
                  "6:3: source ids has one value per line, but the keys have 2 placeholders")));
  EXPECT_THAT(errors_with("  a: { keys: 'a:{b}:{c}', source: { from: table } }\n"), IsEmpty());
  EXPECT_THAT(errors_with("  a: { keys: 'a:{_}:{c}', source: { from: ids } }\n"), IsEmpty());
}

TEST(Checks, only_messages_need_their_columns_types) {
  EXPECT_THAT(
      errors_with(
          "  a: { keys: 'a:{b}', source: { from: shop, table: t, types: { b: string } } }\n"),
      ElementsAre(HasSubstr("types: source shop knows its columns' types")));
}

TEST(Checks, a_filter_has_single_values_in_one_spelling) {
  const auto errors = [](const std::string& keys, const std::string& more = "") {
    return errors_of(
        "sources: { seen: { type: bloom, format: go-zero, key: k, bits: 8 } }\n"
        "namespaces:\n"
        "  users: { keys: '" +
        keys + "', source: { from: seen" + more + " }\n");
  };
  EXPECT_THAT(errors("user:{id:uint64}", "}"), IsEmpty());
  EXPECT_THAT(errors("user:{_}:{name}", "}"), IsEmpty());
  EXPECT_THAT(
      errors("user:{tenant}:{id}", "}"),
      ElementsAre(HasSubstr("3:3: source seen is a filter of single values, but the keys have 2")));
  EXPECT_THAT(errors("user:{name|ci}", "}"),
              ElementsAre(HasSubstr(
                  "source seen is a filter, which compares bytes and ignores other spellings")));
  EXPECT_THAT(errors("user:{id:uuid}", "}"), ElementsAre(HasSubstr("which compares bytes")));
  EXPECT_THAT(errors("user:{id}", ", table: t }"),
              ElementsAre(HasSubstr("table: source seen is a filter and has no tables")));
  EXPECT_THAT(errors("user:{id}", ", where: kind = 7 }"),
              ElementsAre(HasSubstr("where: source seen is a filter and has no columns")));
  EXPECT_THAT(errors("user:{id:uint64}", "}, fresh_ids: 7"),
              ElementsAre(HasSubstr("whose largest id is unknown")));
  EXPECT_THAT(errors("user:{id:uint64}", "}, filter: { deletes: exact }"),
              ElementsAre(HasSubstr("deletes: source seen is a filter")));
}

TEST(Checks, a_file_of_lines_has_no_columns_to_choose_rows_by) {
  const auto errors = [](const std::string& format, const std::string& more) {
    return errors_of("sources: { shop: { type: file, path: /x, format: " + format +
                     " } }\n"
                     "namespaces:\n"
                     "  users: { keys: 'user:{id}', source: { from: shop, " +
                     more + " } }\n");
  };
  EXPECT_THAT(errors("lines", "where: kind = 7"),
              ElementsAre(HasSubstr("3:60: where: source shop has one value per line")));
  EXPECT_THAT(errors("csv", "where: kind = 7"), IsEmpty());
}

TEST(Checks, values_of_a_databases_own_types_need_a_database_that_has_them) {
  EXPECT_THAT(errors_with("  a: { keys: [ 'a:{b:uuid}', 'c:{b:uuid}' ], source: { from: ids } }\n"),
              ElementsAre(HasSubstr("6:16: keys: {b:uuid} works only with PostgreSQL, MariaDB and "
                                    "MySQL, not with source ids: write {b}"),
                          HasSubstr("6:30: keys: ")));
  EXPECT_THAT(errors_with("  a: { keys: 'a:{b}:{d:date}', source: { from: shop, table: t } }\n"),
              ElementsAre(HasSubstr("6:14: keys: {d:date} works only with")));
  EXPECT_THAT(
      errors_of("sources: { shop: { type: postgres, addresses: db, user: g, database: s } }\n"
                "namespaces:\n"
                "  a: { keys: 'a:{b:numeric}', source: { from: shop, table: t } }\n"),
      IsEmpty());
  EXPECT_THAT(errors_of("sources: { shop: { type: fleet, name: shop } }\n"
                        "fleet: { public_key_files: /x }\n"
                        "storage: { secret_file: /y }\n"
                        "namespaces:\n"
                        "  a: { keys: 'a:{b:numeric}', source: { from: shop, table: t } }\n"),
              IsEmpty())
      << "its builder looks";
}

TEST(Checks, a_file_tells_of_no_row_that_goes) {
  EXPECT_THAT(errors_of("sources: { shop: { type: file, path: /x } }\n"
                        "namespaces:\n"
                        "  users: { keys: 'user:{id}', source: { from: shop }, filter: { deletes: "
                        "exact } }\n"),
              ElementsAre(HasSubstr("3:74: deletes: source shop is a file")));
}

TEST(Checks, templates_that_contradict_are_reported_at_their_lines) {
  EXPECT_THAT(
      errors_with("  a: { keys: 'user:{b}', source: { from: ids } }\n"
                  "  b:\n"
                  "    keys:\n"
                  "      - \"order:{b}\"\n"
                  "      - \"user:{b}\"\n"
                  "    source: { from: ids }\n"),
      ElementsAre(HasSubstr(
          "10:9: keys: \"user:{b}\" can match the same key as \"user:{b}\", for example ")));
}

TEST(Checks, templates_of_one_namespace_must_agree) {
  EXPECT_THAT(errors_with("  a: { keys: [ 'a:{b}', 'c:{d}' ], source: { from: table } }\n"),
              ElementsAre(HasSubstr("6:25: keys: \"c:{d}\" does not name {b}")));
}

TEST(Checks, a_bad_template_does_not_move_the_blame_of_the_others) {
  const auto errors = errors_with(
      "  a: { keys: '{', source: { from: ids } }\n"
      "  b: { keys: 'user:{b}', source: { from: ids } }\n"
      "  c: { keys: [ '{', 'user:{b}' ], source: { from: ids } }\n");
  EXPECT_THAT(errors,
              ElementsAre(HasSubstr("6:15: keys: "),
                          HasSubstr("8:17: keys: "),
                          HasSubstr("8:21: keys: \"user:{b}\" can match")));
}

TEST(Checks, a_window_of_fresh_ids_needs_an_integer_identity) {
  EXPECT_THAT(errors_with("  a: { keys: 'a:{b}', fresh_ids: 5, source: { from: ids } }\n"),
              ElementsAre(HasSubstr(
                  "6:34: fresh_ids: a number requires keys with exactly one integer placeholder")));
  EXPECT_THAT(
      errors_with("  a: { keys: 'a:{b:int64}:{c}', fresh_ids: 5, source: { from: table } }\n"),
      ElementsAre(HasSubstr("fresh_ids")));
  EXPECT_THAT(errors_with("  a: { keys: 'a:{b:int64}', fresh_ids: 5, source: { from: ids } }\n"),
              IsEmpty());
  EXPECT_THAT(errors_with("  a: { keys: 'a:{b}', fresh_ids: 0, source: { from: ids } }\n"),
              IsEmpty());
}

TEST(Checks, the_guard_may_not_be_its_own_upstream) {
  const auto is_loop = [](const std::string& listen, const std::string& upstream) {
    const auto errors = errors_of("listen: '" + listen + "'\nupstream: '" + upstream + "'\n");
    return errors.size() == 1 && errors[0].find("1:9: listen: ") == 0;
  };
  EXPECT_TRUE(is_loop("127.0.0.1:6379", "127.0.0.1:6379"));
  EXPECT_TRUE(is_loop("localhost:6379", "127.0.0.1:6379"));
  EXPECT_TRUE(is_loop("0.0.0.0:6379", "127.0.0.1:6379"));
  EXPECT_TRUE(is_loop("[::]:6379", "localhost:6379"));
  EXPECT_TRUE(is_loop("unix:/r.sock", "unix:/r.sock"));
  EXPECT_TRUE(is_loop("redis.local:6379", "redis.local:6379"));
  EXPECT_FALSE(is_loop("127.0.0.1:6380", "127.0.0.1:6379"));
  EXPECT_FALSE(is_loop("127.0.0.1:6379", "127.0.0.2:6379"));
  EXPECT_FALSE(is_loop("0.0.0.0:6379", "redis:6379"));
  EXPECT_FALSE(is_loop("unix:/a.sock", "unix:/b.sock"));
}

TEST(Checks, no_two_listen_where_only_one_can) {
  EXPECT_THAT(errors_of("listen: ['127.0.0.1:1', '0.0.0.0:1', 'unix:/a', 'unix:/b']\n"),
              ElementsAre(HasSubstr("listen: 127.0.0.1:1 and 0.0.0.0:1 are the same port")));
  EXPECT_THAT(errors_of("listen: ['unix:/a', 'unix:/a']\n"),
              ElementsAre(HasSubstr("listen: unix:/a and unix:/a are the same port or socket")));
  EXPECT_THAT(errors_of("listen: ['127.0.0.1:0', '127.0.0.1:0', '127.0.0.2:1', '127.0.0.1:1']\n"),
              IsEmpty());
}

TEST(Checks, each_address_to_listen_on_is_held_against_upstream_and_admin) {
  EXPECT_THAT(errors_of("listen: [ '127.0.0.1:1', { address: '127.0.0.1:2' } ]\n"
                        "upstream: '127.0.0.1:2'\n"
                        "admin: { address: '127.0.0.1:1' }\n"),
              ElementsAre(HasSubstr("listen: 127.0.0.1:2 is also the upstream"),
                          HasSubstr("admin.address: 127.0.0.1:1 is already used by listen")));
}

TEST(Checks, the_guards_default_address_counts_too) {
  EXPECT_THAT(errors_of("upstream: 127.0.0.1:6380\n"),
              ElementsAre(HasSubstr("1:1: listen: 127.0.0.1:6380 is also the upstream")));
}

TEST(Checks, any_source_may_be_asked_to_be_strict) {
  for (const std::string source :
       {"type: file, path: /x", "type: bloom, format: redisson, key: k"}) {
    EXPECT_THAT(errors_of("sources: { codes: { " + source +
                          " } }\n"
                          "namespaces:\n"
                          "  a: { keys: 'a:{b}', consistency: strict, source: { from: codes } }\n"),
                ElementsAre())
        << source;
  }
}

}  // namespace
}  // namespace cuckooguard::config
