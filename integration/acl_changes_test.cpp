// Rights that are changed through the guard count from Redis's OK on: whoever has read it can rely
// on it that no other client gets an absent answer where Redis would say NOPERM or NOAUTH. Also
// where the connection that changes them is in an odd state: MONITOR, CLIENT REPLY, MULTI, half
// closed, one command in many segments.
//
// From a seed: administrators whose connections go from one odd state to the next change what
// `bob` and `default` may do, also there and back again; then readers, each beside a twin that has
// told Redis the same without a guard, read absent keys.

#include <algorithm>
#include <array>
#include <cstdio>
#include <initializer_list>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "exactness/rounds.h"
#include "harness/redis_command.h"
#include "harness/seed.h"
#include "harness/shop.h"

namespace cuckooguard::harness {
namespace {

constexpr unsigned kRounds = 150;
constexpr std::size_t kReadersOfBob = 6;
constexpr std::size_t kReaders = 9;
constexpr std::size_t kAdministrators = 4;
constexpr std::size_t kProbes = 4;
constexpr std::size_t kLargeBytes = 100'000;
constexpr std::size_t kHugeBytes = 32'000'000;  // more than all buffers on the way hold
constexpr std::string_view kClosed = "(closed)";

using Words = std::vector<std::string>;

std::string command_of(const Words& words) {
  const std::vector<std::string_view> views(words.begin(), words.end());
  return command(views);
}

std::string inline_of(const Words& words) {
  std::string line;
  for (const std::string& word : words) {
    line += (line.empty() ? "" : " ") + (word.empty() ? std::string("\"\"") : word);
  }
  return line + "\r\n";
}

using Change = std::vector<Words>;  // of the rights of bob or default

struct Administrator {
  RawClient client;
  std::string states{};  // for the failure's message
};

class Reader {
 public:
  Reader(const Shop& shop, bool is_bob, bool is_resp3)
      : is_bob_(is_bob),
        guarded_(shop.client()),
        straight_(RawClient::to_port(shop.redis().port())) {
    if (is_resp3) {
      greeting_ +=
          is_bob ? command({"HELLO", "3", "AUTH", "bob", "word"}) : command({"HELLO", "3"});
      ++greetings_;
    } else if (is_bob) {
      greeting_ += command({"AUTH", "bob", "word"});
      ++greetings_;
    }
  }

  bool is_bob() const { return is_bob_; }
  bool is_refused() const { return is_refused_; }
  std::vector<std::string> guarded(std::string_view request, std::size_t replies) {
    return exchange(guarded_, greets_guard_, request, replies);
  }
  std::vector<std::string> straight(std::string_view request, std::size_t replies) {
    return exchange(straight_, greets_redis_, request, replies);
  }

 private:
  // One that is closed says so in place of each reply.
  std::vector<std::string> exchange(RawClient& client,
                                    bool& greets,
                                    std::string_view request,
                                    std::size_t replies) {
    std::vector<std::string> all;
    try {
      const std::size_t greetings = greets ? greetings_ : 0;
      const std::string sent = (greets ? greeting_ : std::string()) + std::string(request);
      greets = false;
      if (client.try_send(sent)) {
        for (std::size_t i = 0; i < greetings; ++i) {
          // Not even as whom it was before: after a refused HELLO with AUTH the guard does not
          // know.
          is_refused_ = client.read_reply().front() == '-' || is_refused_;
        }
        while (all.size() < replies) {
          all.push_back(client.read_reply());
        }
      }
    } catch (const std::runtime_error&) {
    }
    all.resize(replies, std::string(kClosed));
    return all;
  }

  bool is_bob_;
  bool is_refused_ = false;
  RawClient guarded_;
  RawClient straight_;
  std::string greeting_{};
  std::size_t greetings_ = 0;
  bool greets_guard_ = true;
  bool greets_redis_ = true;
};

class AclChanges : public testing::TestWithParam<std::string> {
 protected:
  AclChanges() {
    shop_.wait_until_it_answers();
    keys_ = shop_.find_absent_users(64);
    for (std::size_t i = 0; i < kAdministrators; ++i) {
      administrators_.push_back(std::make_unique<Administrator>(new_administrator()));
    }
    giver_.client.call({"SET", "large", std::string(kHugeBytes, 'x')});
    give_back();
    for (std::size_t i = 0; i < kReaders; ++i) {
      readers_.push_back(new_reader(i));
    }
  }

  std::size_t pick(std::size_t count) { return random_() % count; }
  template <typename List>
  const auto& one_of(const List& list) {
    return list[pick(list.size())];
  }

  Administrator new_administrator() {
    Administrator fresh{.client = shop_.client()};
    fresh.client.call({"AUTH", "ops", "word"});
    return fresh;
  }

  std::unique_ptr<Reader> new_reader(std::size_t number) {
    return std::make_unique<Reader>(shop_, number < kReadersOfBob, pick(2) == 0);
  }

  // All that readers need, by the guard; of bob in one of several ways to be allowed it.
  void give_back() {
    static const std::array<Words, 4> kRights{{{"+@all", "~*"},
                                               {"+@all", "-@dangerous", "~*"},
                                               {"+get", "~user:*"},
                                               {"+@read", "%R~user:*"}}};
    Words bob{"ACL", "SETUSER", "bob", "reset", "on", ">word"};
    const Words& rights = one_of(kRights);
    bob.insert(bob.end(), rights.begin(), rights.end());
    const std::string all =
        command_of(bob) + command({"CONFIG", "SET", "requirepass", ""}) +
        command({"ACL", "SETUSER", "default", "on", "nopass", "~*", "&*", "+@all"});
    const std::string replies = giver_.client.exchange(all, 3);
    ASSERT_EQ(replies, "+OK\r\n+OK\r\n+OK\r\n");
    commands_ += 3;
  }

  Words on_bob(std::initializer_list<std::string> rules) {
    Words words{"ACL", "SETUSER", "bob"};
    words.insert(words.end(), rules);
    return words;
  }

  Words take_away() {
    switch (pick(10)) {
      case 0:
        return on_bob({"resetkeys"});
      case 1:
        return on_bob({"resetkeys", "~other:*"});
      case 2:
        return on_bob({"-@all"});
      case 3:
        return on_bob({"resetpass", "off"});
      case 4:
        return {"ACL", "DELUSER", "bob"};
      case 5:
        return {"CONFIG", "SET", "requirepass", "word"};
      case 6:
        return {"ACL", "SETUSER", "default", "-get"};
      case 7:
        return {"ACL", "SETUSER", "default", "resetpass", ">word", "resetkeys"};
      default:
        return on_bob({"-get"});
    }
  }

  // Rules that change nothing stand between, so that it comes in pieces. Of the default user, who
  // has all channels, Redis refuses them.
  Words large(Words change) {
    if (change[1] == "SETUSER" && change[2] == "bob") {
      if (pick(2) == 0) {
        change.push_back("&" + std::string(kLargeBytes, 'x'));
      } else {
        change.insert(change.end(), 3000, "&channel:with:a:name");
      }
    }
    return change;
  }

  // There and back, and away in the end.
  Change next_change() {
    if (pick(3) != 0) {
      return {take_away()};
    }
    Change change;
    for (std::size_t i = pick(4) + 1; i > 0; --i) {
      change.push_back(on_bob({"-get"}));
      change.push_back(on_bob({"+get"}));
    }
    change.push_back(on_bob({"-get"}));
    return change;
  }

  void prelude(Administrator& by, std::string_view name, std::string_view bytes) {
    const std::string token = "token " + std::to_string(++tokens_);
    by.states += " " + std::string(name);
    by.client.send(std::string(bytes) + command({"ECHO", token}));
    by.client.read_through(bulk(token));
    ++commands_;
  }

  void bring_into_odd_state(Administrator& by) {
    switch (pick(16)) {
      case 0:
        return prelude(by, "MONITOR", command({"MONITOR"}));
      case 1:
        return prelude(by, "SUBSCRIBE", command({"SUBSCRIBE", "c"}) + command({"UNSUBSCRIBE"}));
      case 2:
        return prelude(by, "HELLO3", command({"HELLO", "3"}));
      case 3:
        return prelude(
            by, "RESP3 SUBSCRIBE", command({"HELLO", "3"}) + command({"PSUBSCRIBE", "__x*"}));
      case 4:
        return prelude(by,
                       "REPLY",
                       command({"CLIENT", "REPLY", "OFF"}) + command({"PING"}) +
                           command({"CLIENT", "REPLY", "ON"}));
      case 5:
        return prelude(by, "SKIP", command({"CLIENT", "REPLY", "SKIP"}) + command({"PING"}));
      case 6:
        return prelude(by, "RESET", command({"RESET"}) + command({"AUTH", "ops", "word"}));
      case 7:
        return prelude(by,
                       "TRACKING",
                       command({"HELLO", "3"}) + command({"CLIENT", "TRACKING", "ON", "BCAST"}));
      case 8:
        return prelude(by, "WATCH", command({"WATCH", "watched"}));
      case 9:
        return prelude(
            by, "CLIENT ?", command({"CLIENT", "FOO"}) + command({"CLIENT", "NO-EVICT", "ON"}));
      case 10:
        return prelude(by,
                       "REPLY in MULTI",
                       command({"MULTI"}) + command({"CLIENT", "REPLY", "ON"}) + command({"EXEC"}));
      case 11:
        return prelude(by,
                       "AUTH in MULTI",
                       command({"MULTI"}) + command({"AUTH", "ops", "word"}) + command({"EXEC"}));
      case 12:
        return prelude(
            by,
            "MULTI refused",
            command({"MULTI"}) + command({"FOO"}) + command({"EXEC"}) + command({"DISCARD"}));
      case 13:
        return prelude(by, "BLPOP", command({"BLPOP", "nothing", "0.001"}));
      default:
        return;
    }
  }

  // A way per case.
  // NOLINTBEGIN(readability-function-size,readability-function-cognitive-complexity)
  // Returns when Redis's OK to the last command has come. False: the connection is of no more use.
  bool carry_out(Administrator& by, const Change& change) {
    // Of who has been in MONITOR Redis refuses a GET.
    const std::size_t any_way = pick(15);
    const std::size_t way = any_way == 13 && !by.states.empty() ? 14 : any_way;
    by.states += " way " + std::to_string(way);
    std::string all;
    std::string oks;
    for (const Words& words : change) {
      all += way == 0 ? command_of(large(words)) : way == 1 ? inline_of(words) : command_of(words);
      oks += change.front()[1] == "DELUSER" ? ":1\r\n" : kOk;
    }
    commands_ += change.size();
    const std::string_view ok = change.front()[1] == "DELUSER" ? ":1\r\n" : kOk;
    const auto read_all = [&] {
      for (std::size_t i = 0; i < change.size(); ++i) {
        by.client.read_through(ok);
      }
    };
    switch (way) {
      case 2: {  // cut
        std::vector<std::size_t> cuts;
        for (std::size_t at = pick(20) + 1; at < all.size() && cuts.size() < 6;
             at += pick(20) + 1) {
          cuts.push_back(at);
        }
        by.client.send_cut(all, cuts);
        read_all();
        return true;
      }
      case 3:  // half-closed
        by.client.send(all);
        by.client.finish_sending();
        read_all();
        return false;
      case 4:  // followed by what is no command
        by.client.send(all + "*1\r\nx\r\n");
        read_all();
        return false;
      case 5:
      case 6:  // in a transaction
        by.client.send((way == 5 ? command({"WATCH", "watched"}) : std::string()) +
                       command({"MULTI"}) + all + command({"EXEC"}));
        by.client.read_through("*" + std::to_string(change.size()) + "\r\n" + oks);
        return true;
      case 13:  // in one whose reply has only begun: its end will not be read
        by.client.send(command({"MULTI"}) + all + command({"GET", "large"}) + command({"EXEC"}));
        by.client.read_through("*" + std::to_string(change.size() + 1) + "\r\n" + oks);
        return false;
      case 7:  // its own reply is skipped, the next one says that it is done
        for (const Words& words : change) {
          prelude(by, "unseen", command({"CLIENT", "REPLY", "SKIP"}) + command_of(words));
        }
        return true;
      case 8:
        prelude(by,
                "unseen",
                command({"CLIENT", "REPLY", "OFF"}) + all + command({"CLIENT", "REPLY", "ON"}));
        return true;
      case 9:
        by.client.send(command({"BLPOP", "nothing", "0.001"}) + command({"ECHO", "x"}) + all);
        read_all();
        return true;
      case 10:  // one by one
      case 11:
      case 12:
        for (const Words& words : change) {
          by.client.send(command_of(words));
          by.client.read_through(ok);
        }
        return true;
      default:
        by.client.send(all);
        read_all();
        return true;
    }
  }

  // NOLINTEND(readability-function-size,readability-function-cognitive-complexity)

  void probe(Reader& reader, const std::string& what) {
    std::string request;
    const std::size_t probes = pick(kProbes) + 1;
    for (std::size_t i = 0; i < probes; ++i) {
      request += command({"GET", one_of(keys_)});
    }
    const std::vector<std::string> guarded = reader.guarded(request, probes);
    const std::vector<std::string> straight = reader.straight(request, probes);
    commands_ += probes;
    for (std::size_t i = 0; i < probes; ++i) {
      const bool is_refused = straight[i].front() == '-' || straight[i] == kClosed;
      refused_ += is_refused ? 1 : 0;
      if (is_refused && guarded[i] == absent_reply()) {
        ++wrong_;
        ADD_FAILURE() << "CUCKOOGUARD_SEED=" << seed_ << ", " << what << ": "
                      << (reader.is_bob() ? "bob" : "default") << " reads " << shown(guarded[i])
                      << ", Redis says " << shown(straight[i]);
      }
    }
  }

  void renew(std::size_t reader) { readers_[reader] = new_reader(reader); }

  void expect_all_are_answered_again() {
    for (std::size_t i = 0; i < kReaders; ++i) {
      const std::string request = command({"GET", one_of(keys_)});
      std::string reply;
      const bool is_answered = eventually([&] {
        reply = readers_[i]->guarded(request, 1).front();
        const std::string twin = readers_[i]->straight(request, 1).front();
        commands_ += 1;
        if (readers_[i]->is_refused() || reply == kClosed || reply.front() == '-' ||
            twin == kClosed || twin.front() == '-') {
          renew(i);
        }
        return reply == absent_reply();
      });
      ASSERT_TRUE(is_answered) << "CUCKOOGUARD_SEED=" << seed_ << ", reader " << i << " reads "
                               << shown(reply);
    }
  }

  std::uint32_t seed_ = seed_of_this_run();
  std::mt19937 random_{seed_};
  Shop shop_{{.mode = GetParam(),
              .control = "username: ops, password: word",
              .redis_arguments = {"--user", "ops", "on", ">word", "+@all", "~*", "&*"}}};
  std::vector<std::string> keys_;
  std::vector<std::unique_ptr<Administrator>> administrators_;
  Administrator giver_ = new_administrator();
  std::vector<std::unique_ptr<Reader>> readers_;
  std::size_t tokens_ = 0;
  std::size_t commands_ = 0;
  std::size_t refused_ = 0;
  std::size_t wrong_ = 0;
};

TEST_P(AclChanges, through_the_guard_count_from_redis_ok_on_whoever_makes_them) {
  const unsigned rounds = rounds_of_this_run(kRounds);
  unsigned round = 0;
  for (; round < rounds && wrong_ == 0 && !HasFatalFailure(); ++round) {
    expect_all_are_answered_again();
    std::unique_ptr<Administrator>& chosen = administrators_[pick(kAdministrators)];
    Administrator& by = *chosen;
    bring_into_odd_state(by);
    const Change change = next_change();
    const bool goes_on = carry_out(by, change);
    const std::string what = "round " + std::to_string(round) + ", administrator:" + by.states +
                             ", " + shown(command_of(change.back()));
    std::vector<std::size_t> order(kReaders);
    for (std::size_t i = 0; i < kReaders; ++i) {
      order[i] = i;
    }
    std::ranges::shuffle(order, random_);
    for (const std::size_t i : order) {
      if (pick(4) == 0) {
        renew(i);
      }
      probe(*readers_[i], what);
    }
    if (!goes_on || pick(4) == 0) {  // else it goes on in this state
      chosen = std::make_unique<Administrator>(new_administrator());
    }
    give_back();
  }
  std::printf("acl_changes: mode=%s seed=%u rounds=%u commands=%zu refused=%zu wrong=%zu\n",
              GetParam().c_str(),
              seed_,
              round,
              commands_,
              refused_,
              wrong_);
  EXPECT_GT(refused_, round) << "so little is refused that this test proves little";
}

INSTANTIATE_TEST_SUITE_P(, AclChanges, testing::Values("shared", "pinned"), [](const auto& mode) {
  return mode.param;
});

}  // namespace
}  // namespace cuckooguard::harness
