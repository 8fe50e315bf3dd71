// MONITOR shows what Redis runs: the clients' own commands, none of the guard's, and no absent
// reads.

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "fixtures/side_by_side.h"
#include "harness/redis_command.h"

namespace cuckooguard::harness {
namespace {

class Monitor : public SideBySide {
 protected:
  Monitor() { EXPECT_EQ(client_.same({"MONITOR"}), kOk); }

  Connection client_ = connect();
};

// +1700000000.123456 [0 127.0.0.1:5000] "get" "a" -> "get" "a", and the db.
std::string without_time_and_address(const std::string& line) {
  const std::size_t db = line.find('[');
  const std::size_t address = line.find(' ', db);
  const std::size_t behind = line.find(']', address);
  return behind == std::string::npos
             ? line
             : line.substr(db, address - db) + line.substr(behind, line.size() - behind);
}

// What the guard asks for itself, when it starts and now and then, and its attempts to log in as a
// user that Redis does not have.
bool is_of_the_guard(std::string_view line) {
  return std::ranges::any_of(std::to_array<std::string_view>({R"("ACL")",
                                                              R"("HELLO")",
                                                              R"("DBSIZE")",
                                                              R"("INFO")",
                                                              R"("CONFIG")",
                                                              R"("COMMAND")",
                                                              R"("CLUSTER")",
                                                              R"(-probe")"}),
                             [line](std::string_view own) { return line.contains(own); });
}

// Lines up to the one that names `end`, without the guard's own commands.
std::vector<std::string> lines_until(RawClient& client, std::string_view end) {
  std::vector<std::string> lines;
  for (;;) {
    const std::string line = without_time_and_address(client.read_reply());
    if (line.contains(end)) {
      return lines;
    }
    if (!is_of_the_guard(line)) {
      lines.push_back(line);
    }
  }
}

TEST_F(Monitor, shows_what_clients_send_and_nothing_else) {
  Connection other = connect();
  other.same(command({"SET", "a b", "\"quoted\"\r\n\x01"}) + command({"GET", user(1)}) +
                 command({"SELECT", "3"}) + command({"PING"}) + "get inline\r\n" +
                 command({"SELECT", "0"}) +
                 command({"EVAL", "return redis.call('get', KEYS[1])", "1", user(1)}) +
                 command({"MULTI"}) + command({"GET", user(1)}) + command({"EXEC"}),
             10);
  other.same({"ECHO", "the end"});
  EXPECT_EQ(lines_until(client_.guarded(), "the end"), lines_until(client_.straight(), "the end"));
  other.expect_answered();
}

TEST_F(Monitor, does_not_show_reads_that_the_guard_answers) {
  Connection other = connect();
  for (int i = 0; i < 20; ++i) {
    other.expect_answered();
  }
  other.same({"ECHO", "the end"});
  EXPECT_EQ(lines_until(client_.guarded(), "the end"), std::vector<std::string>{});
}

TEST_F(Monitor, refuses_reads_of_its_own_as_redis_does) {
  connect().expect_answered();
  client_.guarded().send(get_absent());
  client_.straight().send(get_absent());
  // Lines of MONITOR begin with '+' and a time.
  const auto refusal = [](RawClient& client) {
    std::string reply = client.read_reply();
    while (reply.starts_with('+')) {
      reply = client.read_reply();
    }
    return reply;
  };
  EXPECT_EQ(shown(refusal(client_.guarded())), shown(refusal(client_.straight())));
}

TEST_F(Monitor, shows_long_commands_whole) {
  Connection other = connect();
  other.same({"SET", "large", std::string(500'000, 'x')});
  other.same({"ECHO", "the end"});
  EXPECT_EQ(lines_until(client_.guarded(), "the end"), lines_until(client_.straight(), "the end"));
  other.expect_answered();
}

TEST_F(Monitor, ends_with_reset_and_with_quit) {
  Connection other = connect();
  client_.same({"RESET"});
  other.same({"SET", "unseen", "x"});
  client_.same({"GET", "unseen"});
  other.expect_answered();
  Connection leaving = connect();
  leaving.same({"MONITOR"});
  leaving.same_until_closed(command({"QUIT"}));
}

TEST_F(Monitor, inside_multi_is_refused) {
  Connection other = connect();
  other.same(command({"MULTI"}) + command({"MONITOR"}) + get_absent() + command({"EXEC"}), 4);
  connect().expect_answered();
}

}  // namespace
}  // namespace cuckooguard::harness
