// Real clients as users have them: redis-cli, python-redis, ioredis, node-redis. Each does the same
// through the guard and straight, sees the same, and does not notice that absent keys cost Redis
// nothing.

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "fixtures/skip.h"
#include "harness/redis_command.h"
#include "harness/shop.h"

namespace cuckooguard::harness {
namespace {

class RealClients : public testing::Test {
 protected:
  RealClients() {
    shop_.wait_until_it_answers();
    for (const RedisServer* redis : {&shop_.redis(), &straight_}) {
      redis->call({"MSET", user(1), "one", user(2), "two"});
      redis->call({"RPUSH", "list", "a", "b"});
      redis->call({"HSET", "hash", "field", "value"});
      redis->call({"CONFIG", "RESETSTAT"});
    }
  }

  std::string guard_port() const { return std::to_string(shop_.guard().port()); }
  std::string straight_port() const { return std::to_string(straight_.port()); }

  // What the guard has kept from its Redis, of what the other one has run.
  std::uint64_t answered(std::string_view name) const {
    return straight_.calls(name) - shop_.redis().calls(name);
  }

  // redis-cli, with these lines as its input; both ways it must print the same but for absent keys.
  void same_in_redis_cli(std::vector<std::string> options, const std::string& lines) {
    write_whole_file(directory_ / "input", lines);
    const auto run = [&](const std::string& port) {
      std::vector<std::string> command{"redis-cli", "-p", port};
      command.insert(command.end(), options.begin(), options.end());
      return run_program(std::move(command), directory_ / "input");
    };
    const Ended straight = run(straight_port());
    const Ended guarded = run(guard_port());
    EXPECT_EQ(straight.exit_code, guarded.exit_code);
    EXPECT_EQ(straight.standard_output, as_of_redis(guarded.standard_output));
    EXPECT_EQ(straight.standard_error, guarded.standard_error);
  }

  // redis-cli prints a null as an empty line when its output is no terminal.
  static std::string as_of_redis(std::string output) {
    for (std::size_t at = 0; (at = output.find(kAbsentText)) != std::string::npos;) {
      output.erase(at, kAbsentText.size());
    }
    return output;
  }

  // Without a delay before a snapshot, in which Redis would wait for more replicas.
  mutable Shop shop_{{.redis_arguments = {"--repl-diskless-sync-delay", "0"}}};
  RedisServer straight_;
  TemporaryDirectory directory_;
};

constexpr std::string_view kLines =
    "GET user:1\nGET user:1000001\nMGET user:1 user:1000002 user:77\nEXISTS user:1 user:1000003\n"
    "GET user:1000004\nset user:1000005 \"a b\"\nget user:1000005\nLRANGE list 0 -1\nHGETALL hash\n"
    "MULTI\nGET user:1000006\nEXEC\nNOSUCH\nINCR user:1\nSELECT 1\nGET user:1000007\nSELECT 0\n"
    "GET user:1000008\nEVAL \"return {1,{2,'x'},false}\" 0\nCLIENT GETNAME\nDEBUG PROTOCOL double\n"
    "DEBUG PROTOCOL set\nGET user:1000009\nQUIT\n";

TEST_F(RealClients, redis_cli_with_commands_from_a_file) {
  same_in_redis_cli({}, std::string(kLines));
  // 1000001, 1000004, 1000008, 1000009: the others are in MULTI, in db 1, or written.
  EXPECT_EQ(answered("get"), 4U);
}

TEST_F(RealClients, redis_cli_in_resp3) {
  same_in_redis_cli({"-3"}, std::string(kLines));
  EXPECT_EQ(answered("get"), 4U);
}

TEST_F(RealClients, redis_cli_with_a_command_a_script_and_a_value_from_a_file) {
  same_in_redis_cli({"GET", "user:1000001"}, "");
  same_in_redis_cli({"-n", "0", "GET", "user:1000002"}, "");
  same_in_redis_cli({"-n", "1", "GET", "user:1000003"}, "");
  same_in_redis_cli({"-x", "SET", "user:1000004"}, "from a file");
  same_in_redis_cli({"GET", "user:1000004"}, "");
  same_in_redis_cli({"EVAL", "return redis.call('get', KEYS[1])", "1", "user:1000005"}, "");
  write_whole_file(directory_ / "script.lua", "return {KEYS[1], redis.call('get', KEYS[1])}");
  same_in_redis_cli({"--eval", (directory_ / "script.lua").string(), "user:1", ",", "x"}, "");
  same_in_redis_cli({"--json", "HGETALL", "hash"}, "");
  same_in_redis_cli({"-e", "GET"}, "");
  same_in_redis_cli({"-r", "5", "GET", "user:1000006"}, "");
  EXPECT_EQ(answered("get"), 7U);
}

TEST_F(RealClients, redis_cli_pipe_loads_all_and_counts_the_replies) {
  std::string commands;
  constexpr std::size_t kEach = 5000;
  for (std::size_t i = 0; i < kEach; ++i) {
    commands += command({"SET", user(i + 1), std::string(i % 100, 'v')}) +
                command({"GET", absent_user(i)}) + command({"LPUSH", "loaded", std::to_string(i)});
  }
  commands += command({"LPUSH", user(1), "of another type"});
  write_whole_file(directory_ / "commands", commands);
  for (const std::string& port : {guard_port(), straight_port()}) {
    const Ended ended = run_program({"redis-cli", "-p", port, "--pipe"}, directory_ / "commands");
    EXPECT_TRUE(ended.standard_output.contains("errors: 1, replies: 15001\n"))
        << ended.standard_output << ended.standard_error;
  }
  EXPECT_EQ(shop_.redis().call({"DEBUG", "DIGEST"}), straight_.call({"DEBUG", "DIGEST"}));
  // Where its own queue is full the guard forwards.
  EXPECT_GT(answered("get"), kEach / 10);
  std::printf("answered by the guard: %llu of %zu\n",
              static_cast<unsigned long long>(answered("get")),
              kEach);
}

TEST_F(RealClients, redis_cli_scan_finds_every_key) {
  for (const RedisServer* redis : {&shop_.redis(), &straight_}) {
    RawClient client = redis->client();
    std::string request;
    for (std::uint64_t id = 1; id <= kUsers; ++id) {
      request += command({"SET", user(id), "x"});
    }
    client.exchange(request, kUsers);
  }
  const auto scan = [](const std::string& port) {
    std::istringstream output(
        run_program({"redis-cli", "-p", port, "--scan", "--pattern", "user:*"}).standard_output);
    std::vector<std::string> keys;
    for (std::string key; std::getline(output, key);) {
      keys.push_back(key);
    }
    std::ranges::sort(keys);
    return keys;
  };
  const std::vector<std::string> keys = scan(guard_port());
  EXPECT_EQ(keys, scan(straight_port()));
  EXPECT_EQ(keys.size(), kUsers);
  EXPECT_EQ(shop_.guard().call({"GET", absent_user()}), absent_reply());
}

TEST_F(RealClients, redis_cli_monitor_shows_commands_until_it_is_ended) {
  const auto monitor = [this](const std::string& port, const std::string& name) {
    return ChildProcess({"stdbuf", "-oL", "redis-cli", "-p", port, "MONITOR"},
                        {directory_ / name, directory_ / "errors"});
  };
  ChildProcess guarded = monitor(guard_port(), "guarded");
  ChildProcess straight = monitor(straight_port(), "straight");
  for (const auto& [name, redis] :
       {std::pair{"guarded", &shop_.redis()}, {"straight", &straight_}}) {
    ASSERT_TRUE(eventually([&] { return read_whole_file(directory_ / name).contains("OK"); }));
    redis->call({"SET", "seen", "by both"});
  }
  EXPECT_EQ(shop_.guard().call({"GET", absent_user()}), absent_reply());
  for (const std::string_view name : {"guarded", "straight"}) {
    EXPECT_TRUE(eventually([&] {
      return read_whole_file(directory_ / name).contains("\"SET\" \"seen\" \"by both\"");
    }));
  }
  EXPECT_FALSE(read_whole_file(directory_ / "guarded").contains(absent_user()));
}

TEST_F(RealClients, redis_cli_rdb_writes_a_snapshot_that_redis_can_read) {
  const std::string file = (directory_ / "dump.rdb").string();
  const Ended ended = run_program({"redis-cli", "-p", guard_port(), "--rdb", file});
  EXPECT_EQ(ended.exit_code, 0) << ended.standard_error;
  const Ended checked = run_program({"redis-check-rdb", file});
  EXPECT_EQ(checked.exit_code, 0) << checked.standard_output;
  EXPECT_TRUE(checked.standard_output.contains("4 keys read")) << checked.standard_output;
  EXPECT_EQ(shop_.guard().call({"GET", absent_user()}), absent_reply());
}

TEST_F(RealClients, redis_benchmark_gets_all_its_replies) {
  const Ended ended = run_program({"redis-benchmark",
                                   "-p",
                                   guard_port(),
                                   "-n",
                                   "20000",
                                   "-c",
                                   "20",
                                   "-P",
                                   "16",
                                   "-q",
                                   "GET",
                                   absent_user()});
  EXPECT_EQ(ended.exit_code, 0) << ended.standard_error;
  EXPECT_TRUE(ended.standard_output.contains("requests per second")) << ended.standard_output;
  EXPECT_EQ(shop_.redis().calls("get"), 0U);
}

// "name": 12
std::size_t number_in(const std::string& json, const std::string& name) {
  const std::size_t at = json.find("\"" + name + "\":");
  std::size_t number = 0;
  if (at != std::string::npos) {
    const std::size_t begin = json.find_first_of("0123456789", at);
    std::from_chars(json.data() + begin, json.data() + json.size(), number);
  }
  return number;
}

class ClientLibraries : public RealClients {
 protected:
  // A program that counts reads of absent keys, and those which had the guard's own reply.
  void same_in_program(const std::vector<std::string>& program) {
    const auto run = [&](const std::string& port) {
      std::vector<std::string> command = program;
      command.insert(command.end(), {port, std::string(kAbsentText)});
      return run_program(std::move(command));
    };
    const Ended straight = run(straight_port());
    ASSERT_EQ(straight.exit_code, 0) << straight.standard_error;
    EXPECT_EQ(number_in(straight.standard_output, "absent_answered"), 0U);
    const Ended guarded = run(guard_port());
    ASSERT_EQ(guarded.exit_code, 0) << guarded.standard_error << shop_.guard().log();
    std::printf("%s", guarded.standard_output.c_str());
    const std::size_t asked = number_in(guarded.standard_output, "absent_asked");
    const std::size_t answered = number_in(guarded.standard_output, "absent_answered");
    EXPECT_EQ(asked, number_in(straight.standard_output, "absent_asked"));
    EXPECT_EQ(number_in(guarded.standard_output, "checks"),
              number_in(straight.standard_output, "checks") + answered);
    EXPECT_GE(asked, 200U);
    EXPECT_GE(answered, asked - asked / 20);
  }

  static std::string program(const std::string& name) {
    return std::string(CUCKOOGUARD_CLIENTS) + "/" + name;
  }

  void same_in_node(const std::string& library, std::vector<std::string> script_and_options) {
    const std::string folder = CUCKOOGUARD_NODE_FOLDER;
    SKIP_IF_MISSING(missing_node_module(folder, library));
    std::vector<std::string> command{"node", program(script_and_options.front()), folder};
    command.insert(command.end(), script_and_options.begin() + 1, script_and_options.end());
    same_in_program(command);
  }
};

TEST_F(ClientLibraries, python_redis) {
  // Debian's python3, whose package python3-redis is; another one may come first in PATH.
  const std::string python = "/usr/bin/python3";
  SKIP_IF_MISSING(missing_packages("python3-redis", {python, "-c", "import redis"}));
  same_in_program({python, program("python_redis.py")});
}

TEST_F(ClientLibraries, ioredis) {
  same_in_node("ioredis", {"ioredis.mjs"});
}

TEST_F(ClientLibraries, node_redis_in_resp2) {
  same_in_node("redis", {"node_redis.mjs", "2"});
}

// It begins with CLIENT MAINT_NOTIFICATIONS, which Redis 7.0 does not know: an error, and nothing
// has changed.
TEST_F(ClientLibraries, node_redis_in_resp3) {
  same_in_node("redis", {"node_redis.mjs", "3"});
}

}  // namespace
}  // namespace cuckooguard::harness
