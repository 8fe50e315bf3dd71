// Pipelines of reads: taken together or one by one, Redis and the client see the same bytes.
#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "proxied_client.h"
#include "resp/reply_writer.h"
#include "sharing_clients.h"
#include "simulation/random.h"

namespace cuckooguard::proxy {
namespace {

using guard::GuardedShop;
using simulation::Random;
using std::chrono::milliseconds;

constexpr std::uint64_t kRuns = 300;

std::string command(std::string_view name, std::string_view key) {
  return "*2\r\n$" + std::to_string(name.size()) + "\r\n" + std::string(name) + "\r\n$" +
         std::to_string(key.size()) + "\r\n" + std::string(key) + "\r\n";
}

std::string get(std::string_view key) {
  return command("GET", key);
}

std::string set(std::string_view key, std::string_view value) {
  std::string bytes;
  resp::append_command(bytes, std::vector<std::string_view>{"SET", key, value});
  return bytes;
}

std::string some_pipeline(Random& random) {
  std::string pipeline;
  std::string_view name = "GET";
  for (std::uint64_t i = 1 + random.below(120); i > 0; --i) {
    if (random.one_in(20)) {
      name = random.one_in(3) ? "TTL" : random.one_in(2) ? "EXISTS" : "GET";
    }
    switch (random.below(30)) {
      case 0:
        pipeline += "*1\r\n$4\r\nPING\r\n";
        break;
      case 1:
        for (std::uint64_t writes = 1 + random.below(80); writes > 0; --writes) {
          pipeline += set("user:" + std::to_string(500 + random.below(20)), random.text(3));
        }
        break;
      case 6:
        pipeline += "*3\r\n$4\r\nHGET\r\n$8\r\nuser:120\r\n$1\r\nf\r\n";
        pipeline += "*3\r\n$4\r\nHGET\r\n$8\r\nuser:500\r\n$1\r\nf\r\n";
        break;
      case 2:
        pipeline += "GET user:1\r\n";
        break;
      case 3:
        pipeline += command(name, "other:" + random.text(3));
        break;
      case 4:
        pipeline += command(name, "item:plum");
        break;
      case 5:
        pipeline += "*3\r\n$4\r\nMGET\r\n$6\r\nuser:1\r\n$8\r\nuser:500\r\n";
        break;
      default:
        pipeline += command(name, "user:" + std::to_string(random.below(200)));
    }
  }
  return pipeline;
}

// What Redis and the client see of a pipeline that is cut like this.
struct Seen {
  std::string redis;
  std::string client;

  bool operator==(const Seen&) const = default;
};

class PipelinedClient : public ProxiedClient {
 public:
  Seen see(const std::vector<std::string_view>& pieces) {
    connect_both();
    Seen seen;
    for (const std::string_view piece : pieces) {
      client_.send(piece);
      pass(loop_, milliseconds(1));
      seen.redis += redis_.read();
    }
    std::size_t replied = 0;
    for (resp::RequestScanner scanner; replied < seen.redis.size();) {
      resp::Arguments arguments;
      replied += scanner.next(std::string_view(seen.redis).substr(replied), arguments).consumed;
      const auto words = arguments.views();
      redis_.send(words[0] == "MGET" ? "*" + std::to_string(words.size() - 1) + "\r\n$1\r\nm\r\n"
                                     : "+" + std::string(words.back()) + "\r\n");
      pass(loop_, milliseconds(1));
    }
    seen.client = client_.read();
    return seen;
  }
  void TestBody() override {}
};

TEST(SessionRun, whatever_is_taken_together_is_as_if_it_came_one_by_one) {
  for (std::uint64_t seed = 1; seed <= kRuns && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    const std::string pipeline = some_pipeline(random);
    std::vector<std::string_view> bytes;
    std::vector<std::string_view> pieces;
    for (std::size_t at = 0; at < pipeline.size(); ++at) {
      bytes.push_back(std::string_view(pipeline).substr(at, 1));
    }
    for (std::size_t at = 0; at < pipeline.size();) {
      pieces.push_back(std::string_view(pipeline).substr(at, 1 + random.below(4000)));
      at += pieces.back().size();
    }
    const Seen one_by_one = PipelinedClient().see(bytes);
    EXPECT_EQ(PipelinedClient().see({pipeline}), one_by_one);
    EXPECT_EQ(PipelinedClient().see(pieces), one_by_one);
  }
}

class SessionRunTest : public ProxiedClient {
 protected:
  // One read of the socket brings them all.
  void client_says(std::string_view bytes) {
    client_.send(bytes);
    pass(loop_, milliseconds(1));
  }
};

TEST_F(SessionRunTest, what_is_alike_travels_in_one_piece) {
  connect_both();
  order_.clear();
  client_says(get("user:1") + get("user:2") + get("user:500") + get("user:501") + get("user:3"));
  EXPECT_EQ(redis_.read(), get("user:1") + get("user:2") + get("user:3"));
  redis_.send("$1\r\n1\r\n$1\r\n2\r\n$1\r\n3\r\n");
  pass(loop_, milliseconds(1));
  EXPECT_EQ(client_.read(), "$1\r\n1\r\n$1\r\n2\r\n$-1\r\n$-1\r\n$1\r\n3\r\n");
  EXPECT_EQ(shop_.count(GuardedShop::kUsers, guard::Verdict::absent), 2U);
  EXPECT_EQ(shop_.count(GuardedShop::kUsers, guard::Verdict::may_exist), 3U);
}

// Of each its own reply says what becomes of it.
TEST_F(SessionRunTest, writes_travel_in_one_piece_and_are_learned_one_by_one) {
  connect_both();
  const std::string writes = set("user:500", "a") + set("user:501", "bb") + set("user:502", "c");
  client_says(writes + get("user:501"));
  EXPECT_EQ(redis_.read(), writes + get("user:501")) << "it passes while it is in flight";
  redis_.send("+OK\r\n-ERR no\r\n+OK\r\n$2\r\nbb\r\n");
  pass(loop_, milliseconds(1));
  EXPECT_EQ(client_.read(), "+OK\r\n-ERR no\r\n+OK\r\n$2\r\nbb\r\n");
  client_says(get("user:500") + get("user:501") + get("user:502"));
  EXPECT_EQ(redis_.read(), get("user:500") + get("user:502"));
}

TEST_F(SessionRunTest, no_more_is_answered_than_there_is_room_for) {
  constexpr std::size_t kNils = 10;
  settings_.limits.client_output_soft = kNils * kNil.size();
  settings_.output_total = 0;
  connect_both();
  client_says(get("user:1"));  // whose reply the answers wait for
  std::string pipeline;
  for (int i = 0; i < 40; ++i) {
    pipeline += get("user:" + std::to_string(500 + i));
  }
  redis_.read();
  client_says(pipeline);
  const std::string forwarded = redis_.read();
  EXPECT_EQ(shop_.guard->counters().answered.value(), kNils);
  EXPECT_EQ(forwarded, pipeline.substr(kNils * get("user:500").size()));
}

// As the guard serves EXISTS of filters that applications fill.
class ExistsOfOneKey final : public guard::CommandServer {
 public:
  explicit ExistsOfOneKey(guard::Guard& guard) : CommandServer(guard, kRows) {}
  bool takes(const guard::CommandRow& /*row*/,
             guard::Guard::Arguments arguments,
             guard::TimePoint /*now*/) override {
    return arguments.size() == 2 && arguments[1] == "user:501";
  }

 private:
  static constexpr std::array kRows{
      guard::CommandRow{"EXISTS", 2, 2, guard::Needs::nothing, [](const guard::Call& call) {
                          return call.integer(7);
                        }}};
};

TEST_F(SessionRunTest, of_a_command_that_the_guard_may_serve_each_key_is_looked_at) {
  shop_.commands->add(std::make_unique<ExistsOfOneKey>(*shop_.guard));
  connect_both();
  client_says(command("EXISTS", "user:500") + command("EXISTS", "user:501") +
              command("EXISTS", "user:502"));
  EXPECT_EQ(client_.read(), ":0\r\n:7\r\n:0\r\n");
}

class SharedRunTest : public SharingClients {};

TEST_F(SharedRunTest, no_more_are_in_flight_than_may_be) {
  settings_.limits.inflight_per_client = 5;
  const auto a = connect();
  std::string pipeline;
  std::string replies;
  for (int i = 1; i <= 12; ++i) {
    pipeline += get("user:" + std::to_string(i));
    replies += "$1\r\n1\r\n";
  }
  send(a, pipeline);
  EXPECT_EQ(redis_got(0), pipeline.substr(0, 5 * get("user:1").size()));
  EXPECT_EQ(shop_.count(GuardedShop::kUsers, guard::Verdict::may_exist), 5U);
  redis_sends(0, replies.substr(0, 3 * 7));
  EXPECT_EQ(redis_got(0), pipeline.substr(5 * get("user:1").size(), 3 * get("user:1").size()));
  EXPECT_EQ(got(a), replies.substr(0, 3 * 7));
  EXPECT_EQ(shop_.count(GuardedShop::kUsers, guard::Verdict::may_exist), 8U);
}

TEST_F(SharedRunTest, every_client_has_its_own) {
  const auto a = connect();
  const auto b = connect();
  send(a, get("user:1") + get("user:500") + get("user:2"));
  send(b, get("user:3") + get("user:4"));
  EXPECT_EQ(redis_got(0).size(), 4 * get("user:1").size());
  redis_sends(0, "$1\r\n1\r\n$1\r\n2\r\n$1\r\n3\r\n$1\r\n4\r\n");
  EXPECT_EQ(got(a), "$1\r\n1\r\n$-1\r\n$1\r\n2\r\n");
  EXPECT_EQ(got(b), "$1\r\n3\r\n$1\r\n4\r\n");
}

}  // namespace
}  // namespace cuckooguard::proxy
