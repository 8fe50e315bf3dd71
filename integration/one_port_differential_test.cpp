// The one port for a whole cluster against one Redis: random commands, in pipelines, of RESP2 and
// RESP3, on the same keys. Where the port refuses what one Redis would run, docs/cluster.md has the
// command in its table of differences, with the error; every other reply is one Redis's.

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fixtures/skip.h"
#include "harness/child_process.h"
#include "harness/guard_process.h"
#include "harness/ports.h"
#include "harness/redis_cluster.h"
#include "harness/redis_command.h"
#include "harness/redis_server.h"
#include "harness/seed.h"
#include "harness/temporary_directory.h"

namespace cuckooguard::harness {
namespace {

using Words = std::vector<std::string>;

constexpr int kRounds = 300;
constexpr std::size_t kPipelined = 30;

// Rows "| `RENAME`, `COPY` ... | `-CROSSSLOT` |" of the page: command → how its refusal begins.
using Listed = std::multimap<std::string, std::string>;

Listed listed_differences() {
  Listed listed;
  std::istringstream page(read_whole_file(CUCKOOGUARD_CLUSTER_PAGE));
  bool is_there = false;
  for (std::string line; std::getline(page, line);) {
    is_there = line.starts_with('#') ? line == "### Refused here, run by one Redis" : is_there;
    const std::size_t middle = line.find('|', 1);
    const std::size_t code = line.find("`-", middle);
    if (!is_there || !line.starts_with("| `") || code == std::string::npos) {
      continue;
    }
    const std::string refusal = line.substr(code + 1, line.find('`', code + 1) - code - 1);
    for (std::size_t at = line.find('`'); at < middle; at = line.find('`', at + 1)) {
      const std::size_t end = line.find('`', at + 1);
      listed.emplace(line.substr(at + 1, end - at - 1), refusal);
      at = end;
    }
  }
  return listed;
}

bool is_listed(const Listed& listed, const std::string& name, const std::string& reply) {
  const auto [first, last] = listed.equal_range(name);
  return std::any_of(first, last, [&](const auto& row) { return reply.starts_with(row.second); });
}

class Generator {
 public:
  explicit Generator(std::uint32_t seed) : random_(seed) {}

  std::size_t below(std::size_t limit) { return random_() % limit; }
  Words next() {
    static constexpr auto kKinds = std::to_array<Words (Generator::*)()>({&Generator::string,
                                                                          &Generator::hash,
                                                                          &Generator::list,
                                                                          &Generator::set,
                                                                          &Generator::sorted_set,
                                                                          &Generator::stream,
                                                                          &Generator::several,
                                                                          &Generator::any_key,
                                                                          &Generator::whole,
                                                                          &Generator::script,
                                                                          &Generator::connection});
    return (this->*kKinds[below(kKinds.size())])();
  }

 private:
  std::string number() { return std::to_string(below(50)); }
  // Half of the keys of a kind are of one slot.
  std::string key(std::string_view kind) {
    const std::string name = std::string(kind) + std::to_string(below(6));
    return below(2) == 0 ? "{t}" + name : name;
  }
  std::string any() { return key(std::string(1, "shlzex"[below(6)])); }
  Words one_of(std::vector<Words> some) { return std::move(some[below(some.size())]); }

  Words string() {
    return one_of({{"SET", key("s"), number()},
                   {"SET", key("s"), number(), "GET"},
                   {"SETNX", key("s"), number()},
                   {"GET", key("s")},
                   {"GETDEL", key("s")},
                   {"APPEND", key("s"), number()},
                   {"INCRBY", key("n"), number()},
                   {"STRLEN", key("s")},
                   {"SETRANGE", key("s"), "3", number()},
                   {"SETBIT", key("b"), number(), "1"},
                   {"BITCOUNT", key("b")},
                   {"PFADD", key("p"), number()},
                   {"PFCOUNT", key("p")},
                   {"GET"},
                   {"SET", key("s"), "1", "EX", "0"}});
  }
  Words hash() {
    return one_of({{"HSET", key("h"), "f" + number(), number()},
                   {"HGET", key("h"), "f" + number()},
                   {"HMGET", key("h"), "f1", "f2", "f" + number()},
                   {"HINCRBY", key("h"), "n", number()},
                   {"HLEN", key("h")},
                   {"HDEL", key("h"), "f" + number()},
                   {"HGETALL", key("h")}});
  }
  Words list() {
    return one_of({{"RPUSH", key("l"), number(), number()},
                   {"LPOP", key("l")},
                   {"LRANGE", key("l"), "0", "-1"},
                   {"LLEN", key("l")},
                   {"LPOS", key("l"), number()},
                   {"BLPOP", key("l"), "0.001"},
                   {"LMOVE", key("l"), key("l"), "LEFT", "RIGHT"}});
  }
  Words set() {
    return one_of({{"SADD", key("e"), number(), number()},
                   {"SREM", key("e"), number()},
                   {"SISMEMBER", key("e"), number()},
                   {"SCARD", key("e")},
                   {"SINTERCARD", "2", key("e"), key("e")},
                   {"SMOVE", key("e"), key("e"), number()}});
  }
  Words sorted_set() {
    return one_of({{"ZADD", key("z"), number(), "m" + number()},
                   {"ZRANGE", key("z"), "0", "-1", "WITHSCORES"},
                   {"ZSCORE", key("z"), "m" + number()},
                   {"ZRANK", key("z"), "m" + number()},
                   {"ZINCRBY", key("z"), "2", "m" + number()},
                   {"ZPOPMIN", key("z")},
                   {"GEOADD", key("g"), "13.361389", "38.115556", "Palermo"},
                   {"GEOPOS", key("g"), "Palermo"},
                   {"ZUNIONSTORE", key("z"), "2", key("z"), key("z")}});
  }
  Words stream() {
    return one_of({{"XADD", key("x"), "1-" + number(), "f", number()},
                   {"XLEN", key("x")},
                   {"XRANGE", key("x"), "-", "+"},
                   {"XREAD", "COUNT", "2", "STREAMS", key("x"), "0"},
                   {"XDEL", key("x"), "1-" + number()}});
  }
  Words several() {
    return one_of({{"MGET", key("s"), key("n"), key("s"), key("l")},
                   {"MSET", key("s"), number(), key("s"), number()},
                   {"MSETNX", key("s"), number(), key("s"), number()},
                   {"EXISTS", key("s"), key("n"), key("h"), key("s")},
                   {"TOUCH", any(), any()},
                   {"DEL", any(), any(), any()},
                   {"UNLINK", any(), any()},
                   {"RENAME", key("s"), key("s")},
                   {"RENAMENX", key("s"), key("s")},
                   {"COPY", key("s"), key("s"), "REPLACE"},
                   {"SUNIONSTORE", key("e"), key("e"), key("e")},
                   {"PFMERGE", key("p"), key("p")},
                   {"BITOP", "OR", key("b"), key("b"), key("b")}});
  }
  Words any_key() {
    return one_of({{"TYPE", any()},
                   {"EXISTS", any()},
                   {"EXPIREAT", any(), "9999999999"},
                   {"EXPIRETIME", any()},
                   {"PERSIST", any()},
                   {"OBJECT", "ENCODING", key("s")},
                   {"GET", any()},
                   {"LPUSH", any(), "x"},
                   {"NOSUCH", key("s")}});
  }
  Words whole() {
    if (below(40) == 0) {
      return below(2) == 0 ? Words{"FLUSHALL"} : Words{"FLUSHDB", "ASYNC"};
    }
    return one_of({{"DBSIZE"},
                   {"KEYS", "*"},
                   {"KEYS", "{t}*"},
                   {"KEYS", "none*"},
                   {"RANDOMKEY"},
                   {"DBSIZE", "too", "many"},
                   {"KEYS"},
                   {"FLUSHALL", "NOW"},
                   {"WAIT", "0", "0"},
                   {"WAIT", "x", "0"},
                   {"SCRIPT", "KILL"},
                   {"FUNCTION", "KILL"},
                   {"MEMORY", "PURGE"},
                   {"MEMORY", "USAGE", "none"},
                   {"PUBLISH", "channel", "message"},
                   {"PUBSUB", "NUMSUB", "channel"},
                   {"SWAPDB", "0", "1"},
                   {"SCAN", "wrong"},
                   {"SCAN"}});
  }
  Words script() {
    return one_of({{"EVAL", "return redis.call('INCR', KEYS[1])", "1", key("n")},
                   {"EVAL", "return {1, ARGV[1]}", "0", "a"},
                   {"EVAL", "return redis.call('GET', KEYS[1])", "2", key("s"), key("s")},
                   {"EVALSHA", "0000000000000000000000000000000000000000", "0"}});
  }
  Words connection() {
    return one_of({{"PING"},
                   {"ECHO", number()},
                   {"SELECT", "0"},
                   {"CLIENT", "SETNAME", "name"},
                   {"CLIENT", "GETNAME"},
                   {"CLIENT", "NO-EVICT", "on"},
                   {"CONFIG", "GET", "maxmemory-policy"},
                   {"CLUSTER", "NODES"},
                   {"MULTI"},
                   {"EXEC"},
                   {"EXEC"},
                   {"EXEC"},
                   {"DISCARD"},
                   {"WATCH", key("s")},
                   {"UNWATCH"}});
  }

  std::mt19937 random_;
};

// Of one array of strings: its elements, in an order that does not matter.
std::multiset<std::string> elements_of(const std::string& reply) {
  std::multiset<std::string> elements;
  std::istringstream lines(reply);
  std::string line;
  std::getline(lines, line);
  for (std::string text; std::getline(lines, line) && std::getline(lines, text);) {
    elements.insert(text);
  }
  return elements;
}

bool are_alike(const Words& words, const std::string& here, const std::string& there) {
  if (here == there) {
    return true;
  }
  if (words.front() == "KEYS") {
    return !here.starts_with('-') && elements_of(here) == elements_of(there);
  }
  if (words.front() == "RANDOMKEY") {
    return here.starts_with('$') && there.starts_with('$') && !here.starts_with("$-1") &&
           !there.starts_with("$-1");
  }
  return false;
}

// All keys that a whole SCAN returns, each once.
std::set<std::string> scanned(RawClient& client, std::initializer_list<std::string_view> more) {
  std::set<std::string> keys;
  std::string cursor = "0";
  do {
    std::vector<std::string_view> words{"SCAN", cursor};
    words.insert(words.end(), more);
    const std::string reply = client.exchange(command(words), 1);
    std::istringstream lines(reply);
    std::vector<std::string> texts;
    for (std::string line; std::getline(lines, line);) {
      texts.push_back(line.substr(0, line.size() - 1));
    }
    if (texts.size() < 4) {
      ADD_FAILURE() << reply;
      return keys;
    }
    cursor = texts[2];
    for (std::size_t i = 5; i < texts.size(); i += 2) {
      keys.insert(texts[i]);
    }
  } while (cursor != "0");
  return keys;
}

std::string bytes_of(const Words& words) {
  return command(std::vector<std::string_view>(words.begin(), words.end()));
}

class OnePortDifferential : public testing::TestWithParam<std::tuple<const char*, const char*>> {
 protected:
  OnePortDifferential() {
    const std::string node = std::to_string(free_port());
    guard_.emplace(GuardProcess::on_port(
        "listen: [ 127.0.0.1:" + std::to_string(port_) + ", { nodes: '127.0.0.1:" + node + "-" +
        node + "' } ]\nworkers: 2\nupstream: { cluster: [ '" + cluster_.address(0) +
        "' ], split_mset: true, mode: " + std::get<0>(GetParam()) + " }\n"));
  }

  RawClient connected() const {
    std::optional<RawClient> client;
    EXPECT_TRUE(eventually([&] {
      try {
        client.emplace(RawClient::to_port(port_));
        return client->call({"DBSIZE"}) == ":0\r\n";
      } catch (const std::runtime_error&) {
        return false;  // the cluster is not known yet
      }
    })) << guard_->log();
    return *std::move(client);
  }
  // Whether the page says that the port refuses this one so.
  bool is_as_listed(const std::string& name, const std::string& reply) {
    const bool begins = name == "MULTI" && reply == kOk;
    is_in_multi_ = begins || (is_in_multi_ && name != "EXEC" && name != "DISCARD");
    return is_listed(listed_, name, reply) || (is_in_multi_ && is_listed(listed_, "MULTI", reply));
  }
  void compare_some(RawClient& through, RawClient& direct) {
    std::vector<Words> batch;
    std::string bytes;
    for (std::size_t i = 1 + generator_.below(kPipelined); i > 0; --i) {
      batch.push_back(generator_.next());
      bytes += bytes_of(batch.back());
    }
    through.send(bytes);
    std::vector<std::optional<std::string>> here;  // nothing: refused as listed
    std::string run;                               // by one Redis, too
    for (const Words& words : batch) {
      here.emplace_back(through.read_reply());
      if (is_as_listed(words.front(), *here.back())) {
        here.back().reset();
        differed_.insert(words.front());
      }
      // Inside MULTI a refusal is as that of a command which Redis does not know.
      run += here.back() ? bytes_of(words) : command({"NOSUCH"});
    }
    direct.send(run);
    for (std::size_t i = 0; i < batch.size(); ++i) {
      const std::string there = direct.read_reply();
      if (here[i]) {
        ++compared_;
        EXPECT_TRUE(are_alike(batch[i], *here[i], there))
            << testing::PrintToString(batch[i]) << "\nhere:  " << *here[i] << "there: " << there;
      }
    }
  }
  void compare_scans(RawClient& through, RawClient& direct) {
    (void)through.call({"DISCARD"});
    (void)direct.call({"DISCARD"});
    is_in_multi_ = false;
    EXPECT_EQ(scanned(through, {"COUNT", "3"}), scanned(direct, {"COUNT", "1000"}));
    EXPECT_EQ(scanned(through, {"MATCH", "{t}*", "TYPE", "string"}),
              scanned(direct, {"MATCH", "{t}*", "TYPE", "string"}));
  }

  RedisCluster cluster_{{.masters = 3, .replicas = 0}};
  RedisServer single_;
  std::uint16_t port_ = free_port();
  std::optional<GuardProcess> guard_;
  Generator generator_{seed_of_this_run()};
  const Listed listed_ = listed_differences();
  std::set<std::string> differed_;
  std::size_t compared_ = 0;
  bool is_in_multi_ = false;
};

TEST_P(OnePortDifferential, what_differs_from_one_redis_stands_in_the_page) {
  ASSERT_GT(listed_.size(), 5U);
  RawClient direct = single_.client();
  RawClient through = connected();
  if (std::string_view(std::get<1>(GetParam())) == "resp3") {
    (void)direct.call({"HELLO", "3"});
    (void)through.call({"HELLO", "3"});
  }
  for (int round = 1; round <= kRounds && !HasFailure(); ++round) {
    compare_some(through, direct);
    if (round % 30 == 0) {
      compare_scans(through, direct);
    }
  }
  std::printf("compared: %zu; refused as listed: %zu kinds\n", compared_, differed_.size());
  EXPECT_GT(compared_, 2000U);
  EXPECT_GT(differed_.size(), 5U);
}

INSTANTIATE_TEST_SUITE_P(Modes,
                         OnePortDifferential,
                         testing::Combine(testing::Values("pinned", "shared"),
                                          testing::Values("resp2", "resp3")),
                         [](const auto& modes) {
                           return std::string(std::get<0>(modes.param)) + "_" +
                                  std::get<1>(modes.param);
                         });

}  // namespace
}  // namespace cuckooguard::harness
