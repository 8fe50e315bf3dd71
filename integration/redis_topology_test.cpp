// Two Redis servers behind one address, from a seed: the address moves, roles, rights and passwords
// change, on the server or through the guard, servers end and come back, the network is cut. Soon
// after each the guard is to be told from Redis by nothing: what Redis refuses is refused, what is
// written is where the address leads to, and only what Redis would look up is answered absent.
//
// CUCKOOGUARD_SEED replays what is done, CUCKOOGUARD_ROUNDS makes it longer: `./dev changes`.

#include <array>
#include <cstdint>
#include <cstdio>
#include <map>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "exactness/rounds.h"
#include "harness/redis_command.h"
#include "harness/redis_server.h"
#include "harness/seed.h"
#include "harness/shop.h"
#include "harness/slow_link.h"

namespace cuckooguard::harness {
namespace {

constexpr milliseconds kNoticed{8'000};  // 1.1 s on a machine that is not busy
constexpr milliseconds kSeenAfter{2'500};
constexpr milliseconds kAnswers{3'000};  // or passes
const std::vector<std::string> kUsers{"--user",
                                      "ops",
                                      "on",
                                      ">pass",
                                      "allcommands",
                                      "allkeys",
                                      "allchannels",
                                      "--user",
                                      "reader",
                                      "on",
                                      ">word",
                                      "+@all",
                                      "~*"};

// An error's first word, or what it is.
std::string kind_of(const std::string& reply) {
  return reply.starts_with("-") ? reply.substr(0, reply.find(' ')) : reply;
}

class RedisTopology : public testing::Test {
 protected:
  RedisTopology() : random_(seed_) {
    for (std::size_t i = 0; i < servers_.size(); ++i) {
      call(i, {"SET", "who", std::to_string(i)});
    }
  }

  unsigned pick(unsigned choices) { return static_cast<unsigned>(random_() % choices); }
  std::size_t other() const { return 1 - current_; }

  // As the operator, straight to it.
  std::string call(std::size_t server, const std::vector<std::string>& arguments) {
    RawClient client = straight(server);
    client.call({"AUTH", "ops", "pass"});
    return client.exchange(command_of(arguments), 1);
  }
  RawClient straight(std::size_t server) const {
    return RawClient::to_port(servers_.at(server).port());
  }
  static std::string command_of(const std::vector<std::string>& arguments) {
    return command(std::vector<std::string_view>(arguments.begin(), arguments.end()));
  }

  void note(const std::string& what) {
    counts_[what.substr(0, what.find(' '))] += 1;
    steps_ += "  " + what + "\n";
    changed_at_ = SteadyClock::now();
  }

  void step() {
    switch (pick(12)) {
      case 0:
      case 1:
        return move();
      case 2: {
        const std::size_t server = pick(2);
        call(server, {"REPLICAOF", "127.0.0.1", std::to_string(servers_.at(1 - server).port())});
        return note("replica " + std::to_string(server));
      }
      case 3:
      case 4: {
        const std::size_t server = pick(3) == 0 ? other() : current_;
        call(server, {"REPLICAOF", "NO", "ONE"});
        return note("master " + std::to_string(server));
      }
      case 5: {
        const std::size_t server = pick(2);
        servers_.at(server).kill();
        servers_.at(server).start_again();
        call(server, {"SET", "who", std::to_string(server)});
        return note("crash " + std::to_string(server));
      }
      case 6:
        link_.forget_connections();
        return note("forgotten");
      case 7:
        link_.cut();
        if (pick(2) == 0) {
          move();
        }
        link_.flow();
        return note("cut");
      case 8:
        return change_rights_through_guard();
      default:
        return change_rights();
    }
  }

  void move() {
    current_ = other();
    link_.lead_to({servers_.at(current_).port()});
    note("moved " + std::to_string(current_));
  }

  std::vector<std::string> rights() {
    static const std::vector<std::vector<std::string>> kRights{
        {"ACL", "SETUSER", "default", "on", "nopass", "+@all", "~*"},
        {"ACL", "SETUSER", "default", "resetpass", ">secret"},
        {"ACL", "SETUSER", "default", "resetkeys", "~who"},
        {"ACL", "SETUSER", "default", "off"},
        {"ACL", "SETUSER", "reader", "-get"},
        {"ACL", "SETUSER", "reader", "+get", "allkeys"},
        {"ACL", "SETUSER", "reader", "resetkeys", "~tag:*"},
        {"ACL", "SETUSER", "reader", "on", "resetpass", ">word", "+@all", "allkeys"},
        {"ACL", "DELUSER", "reader"},
        {"CONFIG", "SET", "requirepass", "secret"},
        {"CONFIG", "SET", "requirepass", ""}};
    return kRights[pick(static_cast<unsigned>(kRights.size()))];
  }
  void change_rights() {
    const std::size_t server = pick(3) == 0 ? other() : current_;
    const std::vector<std::string> words = rights();
    call(server, words);
    note("rights " + std::to_string(server) + " " + words[1] + " " + words.back());
  }
  void change_rights_through_guard() {
    const std::vector<std::string> words = rights();
    try {
      RawClient client = shop_.client();
      client.call({"AUTH", "ops", "pass"});
      note("rights_through_guard " + words[1] + " " + words.back() + " " +
           client.exchange(command_of(words), 1));
    } catch (const std::runtime_error&) {
      note("rights_through_guard failed");
    }
  }

  // What a new client is told, by the guard and by the server.
  struct Asked {
    std::string guards;
    std::string redis;
    std::string redis_before;
  };
  static std::string ask(RawClient client,
                         bool as_reader,
                         const std::vector<std::string>& arguments) {
    if (as_reader) {
      client.call({"AUTH", "reader", "word"});
    }
    return client.exchange(command_of(arguments), 1);
  }
  Asked ask_both(bool as_reader, const std::vector<std::string>& arguments) {
    Asked asked;
    try {
      asked.redis_before = kind_of(ask(straight(current_), as_reader, arguments));
      asked.guards = kind_of(ask(shop_.client(), as_reader, arguments));
      asked.redis = kind_of(ask(straight(current_), as_reader, arguments));
    } catch (const std::runtime_error& error) {
      asked.guards = std::string("closed: ") + error.what();
    }
    return asked;
  }
  static bool is_same(const Asked& asked) {
    const bool is_absent = asked.guards == absent_reply() && asked.redis == kNil;
    return asked.redis == asked.redis_before && (asked.guards == asked.redis || is_absent);
  }
  // As at the start: with what is left of changes of rights, nothing would be answered for long.
  void restore() {
    for (std::size_t server = 0; server < servers_.size(); ++server) {
      call(server, {"CONFIG", "SET", "requirepass", ""});
      call(server, {"ACL", "SETUSER", "default", "on", "nopass", "+@all", "allkeys"});
      call(server, {"ACL", "SETUSER", "reader", "on", "resetpass", ">word", "+@all", "allkeys"});
    }
    call(current_, {"REPLICAOF", "NO", "ONE"});
    note("restored");
  }
  void look() {
    const std::string value = std::to_string(++looks_);
    const std::vector<std::vector<std::string>> commands{
        {"GET", absent_user(looks_)},
        {"GET", "who"},
        {"SET", "tag:x", value},
        {"EVAL", "return redis.call('GET', KEYS[1])", "1", "who"}};
    for (const bool as_reader : {false, true}) {
      for (const auto& command : commands) {
        Asked asked;
        const auto see = [&] {
          asked = ask_both(as_reader, command);
          return is_same(asked);
        };
        if (!eventually(see, kNoticed)) {
          wrong_ += "as " + std::string(as_reader ? "reader" : "default") + ": " + command[0] +
                    " " + command[1] + ": the guard says " + asked.guards + ", Redis " +
                    asked.redis_before + " and " + asked.redis + "\n";
          return;
        }
      }
    }
    // Often it comes to answering before the next change.
    const bool as_reader = pick(2) == 0;
    if (pick(3) > 0) {
      (void)eventually(
          [&] {
            const Asked asked = ask_both(as_reader, commands[0]);
            answered_ += asked.guards == absent_reply() ? 1 : 0;
            return asked.guards == absent_reply() || asked.redis != kNil;
          },
          kAnswers);
    }
    see_that_it_stays(commands);
  }
  // What was changed on the server itself has been noticed by now.
  void see_that_it_stays(const std::vector<std::vector<std::string>>& commands) {
    if (pick(3) > 0) {
      return;
    }
    (void)eventually([this] { return SteadyClock::now() > changed_at_ + kSeenAfter; });
    for (int i = 0; i < 10; ++i) {
      const bool as_reader = pick(2) == 0;
      const auto& command = commands[pick(2)];
      const Asked asked = ask_both(as_reader, command);
      if (!is_same(asked) && asked.redis == asked.redis_before) {
        wrong_ += "later, as " + std::string(as_reader ? "reader" : "default") + ": " + command[0] +
                  ": the guard says " + asked.guards + ", Redis " + asked.redis + "\n";
      }
    }
  }

  std::uint32_t seed_ = seed_of_this_run();
  std::mt19937 random_;
  std::array<RedisServer, 2> servers_{RedisServer(kUsers), RedisServer(kUsers)};
  SlowLink link_{servers_[0].port()};
  std::size_t current_ = 0;  // where the address leads
  Shop shop_{{.upstream = "127.0.0.1:" + std::to_string(link_.port()),
              .control = "username: ops, password: pass",
              .over_tls = false}};
  SteadyClock::time_point changed_at_{};
  std::string steps_;
  std::string wrong_;
  std::uint64_t looks_ = 0;
  std::uint64_t answered_ = 0;
  std::map<std::string, unsigned> counts_;
};

TEST_F(RedisTopology, that_changes_is_not_seen_by_clients) {
  const unsigned rounds = rounds_of_this_run(12);
  unsigned round = 0;
  for (; round < rounds && wrong_.empty(); ++round) {
    if (pick(2) == 0) {
      restore();
      look();
    }
    for (unsigned i = 1 + pick(3); i > 0; --i) {
      step();
    }
    look();
  }
  EXPECT_EQ(wrong_, "") << "behind\n" << steps_ << shop_.guard().log();
  std::string text;
  for (const auto& [name, count] : counts_) {
    text += " " + name + "=" + std::to_string(count);
  }
  std::printf("topology: server=redis mode=%s seed=%u rounds=%u wrong=%d answered_absent=%llu%s\n",
              upstream_mode().c_str(),
              seed_,
              round,
              wrong_.empty() ? 0 : 1,
              static_cast<unsigned long long>(answered_),
              text.c_str());
}

}  // namespace
}  // namespace cuckooguard::harness
