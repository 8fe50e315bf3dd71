// What an operator sees who gets a setting wrong: for every key of config/cuckooguard.yaml a value
// of the wrong type, one that is out of bounds, and a key that is not quite it. Each error has its
// place, names the key, and says what would be right.
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/documented_file.h"
#include "config/parse.h"

namespace cuckooguard::config {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::StartsWith;

struct Wrong {
  std::string_view section;  // as KeyList has it
  std::string_view key;
  std::string_view value;  // wrong, but of the right type; empty: any text will do
  std::string_view words;  // what the error says of it
};

constexpr auto kWrong = std::to_array<Wrong>({
    {"", "workers", "0", "must be auto, or from 1 to 1024"},
    {"", "drain_timeout", "10", "has no unit: write a number and ms, s, m, h or d"},
    {"listen", "address", "localhost", "has no port: write host:port, such as 127.0.0.1:6379"},
    {"listen", "nodes", "127.0.0.1:7000", "write 127.0.0.1:7000-7063"},
    {"listen", "announce", "guard.local", "it needs nodes"},
    {"listen", "mode", "rw", "octal permissions from 0000 to 0777"},
    {"listen", "group", "redis", "apply only to a Unix socket"},
    {"listen", "sentinels", "26380", "write host:port"},
    {"listen.tls", "cert", "\"\"", "is empty"},
    {"listen.tls", "key", "\"\"", "is empty"},
    {"listen.tls", "client_ca", "", ""},
    {"upstream.tls", "ca", "", ""},
    {"upstream.tls", "cert", "/c.pem", "cert and key must be set together"},
    {"upstream.tls", "key", "/k.pem", "cert and key must be set together"},
    {"upstream.tls", "server_name", "", ""},
    {"upstream.tls", "verify", "no", "must be true or false"},
    {"upstream", "address", "redis:0", "has no port from 1 to 65535 after its last ':'"},
    {"upstream", "cluster", "redis", "has no port: write host:port"},
    {"upstream", "split_mset", "yes", "must be true or false"},
    {"upstream", "sentinels", "redis", "has no port: write host:port"},
    {"upstream", "master", "shop", "sentinels and master must be set together"},
    {"upstream", "node_addresses", "10.0.0.1:6379", "write 10.0.0.1:6379=127.0.0.1:7001"},
    {"upstream", "mode", "pined", "did you mean \"pinned\"?"},
    {"upstream", "connect_timeout", "0s", "must be from 1ms to 10m"},
    {"upstream", "silence", "100ms", "must be from 500ms to 1h"},
    {"upstream", "acl", "no", "valid: ask, trust"},
    {"upstream.control", "username", "", ""},
    {"upstream.control", "password", "", ""},
    {"upstream.control", "password_file", "", ""},
    {"upstream.sentinel_control", "username", "", ""},
    {"upstream.sentinel_control", "password", "", ""},
    {"upstream.sentinel_control", "password_file", "", ""},
    {"sources.* of type sqlite", "type", "sqllite", "did you mean \"sqlite\"?"},
    {"sources.* of type sqlite", "path", "\"\"", "is empty"},
    {"sources.* of type sqlite", "follow", "trigger", "did you mean \"triggers\"?"},
    {"sources.* of type sqlite", "install_triggers", "yes", "must be true or false"},
    {"sources.* of type sqlite",
     "poll_every",
     "900ms",
     "must be auto, or from 1ms to half of max_lag"},
    {"sources.* of type sqlite", "max_lag", "5ms", "must be from 10ms to 1h"},
    {"sources.* of type sqlite", "strict_every", "2s", "must be auto, or from 1ms to 1s"},
    {"sources.* of type sqlite", "strict_hold", "2s", "must be from 1ms to max_lag"},
    {"sources.* of type mysql", "type", "maria", "valid: sqlite, mysql, postgres, file"},
    {"sources.* of type mysql", "addresses", "\"127.0.0.1\"", "has no port: write host:port"},
    {"sources.* of type mysql", "user", "\"\"", "is empty"},
    {"sources.* of type mysql", "password", "", ""},
    {"sources.* of type mysql", "password_file", "", ""},
    {"sources.* of type mysql", "database", "\"\"", "is empty"},
    {"sources.* of type mysql", "tls", "on", "valid: off, required, verified"},
    {"sources.* of type mysql", "ca_file", "/ca.pem", "requires tls: verified"},
    {"sources.* of type mysql", "server_id", "0", "must be auto, or from 1 to 4294967295"},
    {"sources.* of type mysql", "max_lag", "2h", "must be from 10ms to 1h"},
    {"sources.* of type mysql", "strict_every", "2s", "must be auto, or from 1ms to 1s"},
    {"sources.* of type mysql", "strict_hold", "2s", "must be from 1ms to max_lag"},
    {"sources.* of type postgres", "type", "postgresql", "did you mean \"postgres\"?"},
    {"sources.* of type postgres", "addresses", "\"127.0.0.1:\"", "has no port from 0 to 65535"},
    {"sources.* of type postgres", "user", "\"\"", "is empty"},
    {"sources.* of type postgres", "password", "", ""},
    {"sources.* of type postgres", "password_file", "", ""},
    {"sources.* of type postgres", "database", "\"\"", "is empty"},
    {"sources.* of type postgres", "schema", "\"\"", "is empty"},
    {"sources.* of type postgres", "publication", "\"\"", "is empty"},
    {"sources.* of type postgres", "slot", "Guard-1", "must be auto, temporary, or a name"},
    {"sources.* of type postgres", "tls", "on", "valid: off, required, verified"},
    {"sources.* of type postgres", "ca_file", "/ca.pem", "requires tls: verified"},
    {"sources.* of type postgres", "max_lag", "2h", "must be from 10ms to 1h"},
    {"sources.* of type postgres", "strict_every", "2s", "must be auto, or from 1ms to 1s"},
    {"sources.* of type postgres", "strict_hold", "2s", "must be from 1ms to max_lag"},
    {"sources.* of type file", "type", "files", "did you mean \"file\"?"},
    {"sources.* of type file", "path", "\"\"", "is empty"},
    {"sources.* of type file", "format", "cvs", "did you mean \"csv\"?"},
    {"sources.* of type file", "max_lag", "1", "has no unit"},
    {"sources.* of type file", "strict_every", "2s", "must be auto, or from 1ms to 1s"},
    {"sources.* of type file", "strict_hold", "2s", "must be from 1ms to max_lag"},
    {"sources.* of type bloom", "type", "blom", "did you mean \"bloom\"?"},
    {"sources.* of type bloom", "max_lag", "2h", "must be from 10ms to 1h"},
    {"sources.* of type bloom", "strict_every", "2s", "must be auto, or from 1ms to 1s"},
    {"sources.* of type bloom", "strict_hold", "2s", "must be from 1ms to max_lag"},
    {"sources.* of type bloom", "format", "gozero", "did you mean \"go-zero\"?"},
    {"sources.* of type bloom", "path", "/x", "path does not apply to format: go-zero"},
    {"sources.* of type bloom", "key", "\"\"", "format: go-zero also needs key"},
    {"sources.* of type bloom", "db", "-1", "write a number"},
    {"sources.* of type bloom", "bits", "5G", "must be at most 4294967296"},
    {"sources.* of type bloom", "hashes", "2000", "must be at most 1075"},
    {"sources.* of type bloom", "strategy", "murmur128_mitz_16", "did you mean"},
    {"sources.* of type bloom", "funnel", "longs", "did you mean \"long\"?"},
    {"sources.* of type bloom", "reload", "900ms", "must be auto, or from 1ms to half of max_lag"},
    {"sources.* of type mysql", "publish", "yes", "valid: off, redis"},
    {"sources.* of type postgres", "publish", "redi", "did you mean \"redis\"?"},
    {"sources.* of type fleet", "type", "fleets", "did you mean \"fleet\"?"},
    {"sources.* of type fleet", "name", "\"\"", "is empty"},
    {"sources.* of type fleet", "builder", "shop-builder", "has no port: write host:port"},
    {"sources.* of type fleet", "builder_token_file", "", ""},
    {"sources.* of type fleet", "max_lag", "2h", "must be from 10ms to 1h"},
    {"sources.* of type fleet", "strict_every", "2s", "must be auto, or from 1ms to 1s"},
    {"sources.* of type fleet", "strict_hold", "2s", "must be from 1ms to max_lag"},
    {"sources.* of type debezium", "type", "debzium", "did you mean \"debezium\"?"},
    {"sources.* of type debezium", "from", "reddis", "did you mean \"redis\"?"},
    {"sources.* of type debezium", "connector", "postgres", "did you mean \"postgresql\"?"},
    {"sources.* of type debezium", "topic_prefix", "\"\"", "is empty"},
    {"sources.* of type debezium", "stream", "", ""},
    {"sources.* of type debezium", "heartbeat_table", "", ""},
    {"sources.* of type debezium", "db", "-1", "write a number"},
    {"sources.* of type debezium", "brokers", "[ kafka ]", "port"},
    {"sources.* of type debezium", "tls", "on", "valid: off, required, verified"},
    {"sources.* of type debezium", "ca_file", "/ca.pem", "requires tls: verified"},
    {"sources.* of type debezium", "sasl", "scram", "valid: off, plain"},
    {"sources.* of type debezium", "user", "guard", "requires sasl"},
    {"sources.* of type debezium", "password", "guard", "requires sasl"},
    {"sources.* of type debezium", "password_file", "/password", "requires sasl"},
    {"sources.* of type debezium", "whole_topics", "yes", "must be true or false"},
    {"sources.* of type debezium", "freshness", "trust-lag", "did you mean \"trust_lag\"?"},
    {"sources.* of type debezium", "binary_texts", "yes", "must be true or false"},
    {"sources.* of type debezium", "notifications", "", ""},
    {"sources.* of type debezium", "signals", "shop-signal", "signals requires notifications"},
    {"sources.* of type debezium", "max_lag", "2h", "must be from 10ms to 1h"},
    {"sources.* of type debezium", "strict_every", "2s", "must be auto, or from 1ms to 1s"},
    {"sources.* of type debezium", "strict_hold", "2s", "must be from 1ms to max_lag"},
    {"namespaces.*", "keys", "\"user:{id\"", "write a literal brace as '{{'"},
    {"namespaces.*", "mode", "enforced", "did you mean \"enforce\"?"},
    {"namespaces.*", "order", "redis_first", "did you mean \"redis-first\"?"},
    {"namespaces.*", "absent_reply", "nul", "did you mean \"nil\"?"},
    {"namespaces.*", "verify_sample", "101%", "must be from 0% to 100%"},
    {"namespaces.*", "db", "-1", "write a number"},
    {"namespaces.*", "canonical_keys", "1", "must be true or false"},
    {"namespaces.*", "consistency", "max-lag", "did you mean \"max_lag\"?"},
    {"namespaces.*", "tolerate", "10", "has no unit: write a number per second or minute"},
    {"namespaces.*", "fresh_ids", "off", "write auto, 0 to disable it, or how many ids"},
    {"namespaces.*.source", "from", "shp", "did you mean \"shop\"?"},
    {"namespaces.*.source", "table", "\"\"", "is empty"},
    {"namespaces.*.source", "columns", "{ idd: id }", "did you mean \"id\"?"},
    {"namespaces.*.source", "where", "\"age > 7\"", "needs IS, IN, = or <>"},
    {"namespaces.*.source", "types", "{ idd: string }", "did you mean \"id\"?"},
    {"namespaces.*.source", "types", "{ id: strin }", "did you mean \"string\"?"},
    {"namespaces.*.source", "uuids", "swaped", "did you mean \"swapped\"?"},
    {"namespaces.*.filter", "false_positive_rate", "11%", "must be from 0.0001% to 10%"},
    {"namespaces.*.filter", "capacity", "0", "must be auto, or from 1 to 100G rows"},
    {"namespaces.*.filter", "deletes", "exat", "did you mean \"exact\"?"},
    {"namespaces.*.overlay", "ttl", "1500ms", "must be a whole number of seconds"},
    {"namespaces.*.overlay", "max_keys", "0", "must be from 1 to 1G"},
    {"namespaces.*.overlay", "pass_at_start", "no", "must be true or false"},
    {"namespaces.*.commands", "key", "", ""},
    {"namespaces.*.breakdown", "hold", "501ms", "must be at most 500ms"},
    {"namespaces.*.breakdown", "lease", "11s", "must be auto, or from 1ms to 10s"},
    {"namespaces.*.breakdown", "max_concurrent_misses", "20k", "must be at most 10k"},
    {"namespaces.*.breakdown", "scope", "rediss", "did you mean \"redis\"?"},
    {"filters", "allow_reserve", "\"bf:{name\"", "write a literal brace as '{{'"},
    {"filters", "users", "", ""},
    {"filters", "durability", "locl", "did you mean \"local\"?"},
    {"filters", "log", "\"\"", "is empty"},
    {"filters", "secret_file", "", ""},
    {"filters", "max_filters", "0", "must be from 1 to 10k"},
    {"filters", "max_memory", "1KiB", "must be from 1MiB to 1024GiB"},
    {"filters.named.*", "key", "", ""},
    {"filters.named.*", "kind", "blom", "did you mean \"bloom\"?"},
    {"filters.named.*", "capacity", "0", "must be from 1 to 1G items"},
    {"filters.named.*", "false_positive_rate", "51%", "must be from 0.0001% to 50%"},
    {"filters.named.*", "deletes", "exat", "did you mean \"exact\"?"},
    {"filters.dedupe", "keys", "\"{spider\"", "write a literal brace as '{{'"},
    {"filters.dedupe", "capacity", "0", "must be from 1 to 1G items"},
    {"filters.dedupe", "false_positive_rate", "0%", "must be from 0.0001% to 50%"},
    {"fleet", "prefix", "\"{fleet}\"", "without braces; they are added"},
    {"fleet", "signing_key_file", "", ""},
    {"fleet", "public_key_files", "[]", "sources.sidecar needs fleet.public_key_files"},
    {"fleet", "snapshots", "https", "did you mean \"http\"?"},
    {"fleet", "canary", "2d", "must be from 0s to 1d"},
    {"storage", "directory", "", ""},
    {"storage", "secret_file", "\"\"", "sources.sidecar needs storage.secret_file"},
    {"storage", "checkpoint_every", "1ms", "must be from 1s to 1d"},
    {"limits", "max_clients", "0", "must be from 1 to 1M"},
    {"limits", "client_output_soft", "1KiB", "must be from 16KiB to 1GiB"},
    {"limits", "client_output_hard", "256MB", "write a number and B, KiB, MiB or GiB"},
    {"limits", "output_total", "1", "has no unit: write a number and B, KiB, MiB or GiB"},
    {"limits", "inflight_per_client", "2M", "must be from 1 to 1M"},
    {"limits", "idle_timeout", "2d", "must be from 0s to 1d"},
    {"admin", "address", "9180", "has no port: write host:port"},
    {"admin", "token_file", "", ""},
    {"admin", "hosts", "guard:9180", "is not a host name: write only the name"},
    {"admin", "operators", "", ""},
    {"log", "level", "warn", "valid: debug, info, warning, error"},
    {"log", "format", "jsonl", "did you mean \"json\"?"},
    {"log", "keys", "hash", "did you mean \"hashed\"?"},
});

// Those that hold further keys.
constexpr auto kSections = std::to_array<std::string_view>(
    {"listen",   "tls",        "upstream", "control", "sentinel_control",
     "sources",  "namespaces", "source",   "filter",  "overlay",
     "commands", "breakdown",  "filters",  "named",   "dedupe",
     "fleet",    "storage",    "limits",   "admin",   "log"});

// `tls` is one, but that of a source is not.
bool is_section(const KeyList& list, std::string_view key) {
  return std::ranges::count(kSections, key) == 1 &&
         std::ranges::none_of(kWrong, [&](const Wrong& wrong) {
           return wrong.section == list.section && wrong.key == key;
         });
}

class WrongValues : public ::testing::Test {
 protected:
  WrongValues() : root_(parse_tree(testing::joined(lines_), report_).value()) {}

  // Every place of the file where this setting is.
  std::vector<const Entry*> places_of(std::string_view section, std::string_view key) const {
    const auto list = std::ranges::find(all_sections(), section, &KeyList::section);
    return list == all_sections().end() ? std::vector<const Entry*>{}
                                        : testing::settings(root_, *list, key);
  }

  // The errors of the file with another value there.
  std::vector<std::string> errors_with(const Entry& entry, std::string_view value) const {
    auto lines = lines_;
    std::string& line = lines.at(static_cast<std::size_t>(entry.place.line) - 1);
    line = line.substr(0, static_cast<std::size_t>(entry.place.column) - 1) + entry.key + ": " +
           std::string(value);
    return testing::errors_of(testing::joined(lines));
  }

  // Behind `key: `.
  static std::string value_place(const Entry& entry) {
    return std::to_string(entry.place.line) + ":" +
           std::to_string(static_cast<std::size_t>(entry.place.column) + entry.key.size() + 2) +
           ": ";
  }

  Report report_{"cuckooguard.yaml"};
  std::vector<std::string> lines_ = testing::switched_on();
  TreeNode root_;
};

TEST_F(WrongValues, every_key_is_walked) {
  for (const KeyList& list : all_sections()) {
    for (const std::string_view key : list.keys) {
      const auto row = std::ranges::find_if(kWrong, [&](const Wrong& wrong) {
        return wrong.section == list.section && wrong.key == key;
      });
      EXPECT_TRUE(row != kWrong.end() || is_section(list, key)) << key << " of " << list.section;
      EXPECT_FALSE(places_of(list.section, key).empty()) << key << " of " << list.section;
    }
  }
}

TEST_F(WrongValues, a_value_out_of_bounds_is_told_what_would_be_right) {
  for (const Wrong& wrong : kWrong) {
    for (const Entry* const entry : places_of(wrong.section, wrong.key)) {
      if (wrong.value.empty()) {
        EXPECT_EQ(errors_with(*entry, "\"\""), std::vector<std::string>{}) << wrong.key;
        continue;
      }
      const auto errors = errors_with(*entry, wrong.value);
      const std::string line = std::to_string(entry->place.line) + ":";
      EXPECT_THAT(errors,
                  Contains(AllOf(StartsWith(line),
                                 HasSubstr(std::string(wrong.key)),
                                 HasSubstr(std::string(wrong.words)))))
          << wrong.section << " " << wrong.key;
    }
  }
}

TEST_F(WrongValues, a_mapping_or_nothing_where_a_value_belongs_is_an_error_at_its_place) {
  for (const Wrong& wrong : kWrong) {
    if (wrong.key == "columns" || wrong.key == "types") {
      continue;  // is a mapping
    }
    for (const Entry* const entry : places_of(wrong.section, wrong.key)) {
      const std::string key(wrong.key);
      EXPECT_THAT(errors_with(*entry, "{ a: b }"),
                  Contains(value_place(*entry) + key + " must be a single value"));
      EXPECT_THAT(
          errors_with(*entry, ""),
          Contains(std::to_string(entry->place.line) + ":" + std::to_string(entry->place.column) +
                   ": " + key + " has no value; set one, or remove the key"));
    }
  }
}

TEST_F(WrongValues, a_value_where_keys_belong_is_told_which) {
  for (const KeyList& list : all_sections()) {
    for (const std::string_view key : list.keys) {
      if (!is_section(list, key) || key == "listen") {
        continue;  // listen: is an address, or a list of them, too
      }
      for (const Entry* const entry : testing::settings(root_, list, key)) {
        auto lines = lines_;
        const auto line = static_cast<std::size_t>(entry->place.line) - 1;
        lines.resize(line);  // what belongs to it comes behind
        lines.push_back(std::string(static_cast<std::size_t>(entry->place.column) - 1, ' ') +
                        entry->key + ": [ a ]");
        EXPECT_THAT(testing::errors_of(testing::joined(lines)),
                    Contains(AllOf(StartsWith(value_place(*entry)),
                                   HasSubstr(entry->key),
                                   HasSubstr(" must be a mapping of "))))
            << key;
      }
    }
  }
}

TEST_F(WrongValues, a_key_that_is_not_quite_it_is_told_the_nearest) {
  for (const KeyList& list : all_sections()) {
    for (const std::string_view key : list.keys) {
      for (const Entry* const entry : testing::settings(root_, list, key)) {
        const std::string unknown = entry->key + entry->key.back();
        auto lines = lines_;
        lines.insert(
            lines.begin() + entry->place.line - 1,
            std::string(static_cast<std::size_t>(entry->place.column) - 1, ' ') + unknown + ": 1");
        EXPECT_THAT(
            testing::errors_of(testing::joined(lines)),
            Contains(AllOf(StartsWith(std::to_string(entry->place.line) + ":" +
                                      std::to_string(entry->place.column) + ": unknown key"),
                           HasSubstr("did you mean \"" + entry->key + "\"?"))))
            << key << " of " << list.section;
      }
    }
  }
}

}  // namespace
}  // namespace cuckooguard::config
