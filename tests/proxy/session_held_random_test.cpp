// Pipelines of Redis's commands and the guard's own in any mixture, on a network that cuts and
// delays as it likes: the replies come in the order of the commands, each exactly once, and none is
// missing.
//
// A failed run is repeated by CUCKOOGUARD_SEED.
#include <cstdlib>
#include <deque>
#include <string>

#include <gtest/gtest.h>

#include "guard/told_sources.h"
#include "proxied_client.h"
#include "simulation/random.h"

namespace cuckooguard::proxy {
namespace {

using guard::Reached;
using std::chrono::microseconds;

constexpr std::uint64_t kRuns = 150;
constexpr int kCommands = 60;

// An inline command, and what may be the reply to it.
struct Exchange {
  std::string command;
  std::string reply;
  std::string or_reply;
};

class Pipeline {
 public:
  explicit Pipeline(std::uint64_t seed) : random_(seed), loop_(seed) {
    shop_.process.sources = &sources_;
    loop_.weather() = {.rough = true,
                       .latency_max = microseconds(1 + random_.below(2000)),
                       .capacity_min = 500,
                       .capacity_max = 5000};
    loop_.on_connect([this](SimTransport& upstream) { upstream.establish(redis_); });
    auto transport = loop_.accept(client_);
    loop_.as_batch([&] { clients_.admit(std::move(transport)); });
  }

  void run() {
    for (int left = kCommands; left > 0 && !::testing::Test::HasFailure(); --left) {
      const Exchange next = choose();
      expected_.push_back(next);
      client_.send(next.command + "\r\n");
      happen();
    }
    for (int rounds = 0; rounds < 2000 && !expected_.empty() && !::testing::Test::HasFailure();
         ++rounds) {
      pass(microseconds(1000));
      happen();
    }
    EXPECT_TRUE(expected_.empty()) << "no reply to " << expected_.front().command;
    EXPECT_EQ(client_received_, "");
    EXPECT_EQ(loop_.failure(), "");
  }

 private:
  Exchange choose() {
    const std::string number = std::to_string(random_.below(1000));
    switch (random_.below(9)) {
      case 0:
      case 1:
        return {.command = "ECHO " + number, .reply = "+" + number + "\r\n", .or_reply = {}};
      case 2:
        return {.command = "SELECT 0", .reply = "+OK\r\n", .or_reply = {}};
      case 3:
        return {.command = "GET user:" + std::to_string(1'000'000 + random_.below(9)),
                .reply = "$-1\r\n",
                .or_reply = {}};
      case 4:
        return {.command = "guard.check user:7 free:" + number,
                .reply = "*2\r\n:1\r\n:-1\r\n",
                .or_reply = {}};
      case 5:
        return {.command = "GUARD.ADD free:" + number + " item:x" + number,
                .reply = ":1\r\n",
                .or_reply = {}};
      case 6:
        return {.command = "GUARD.WHAT" + number,
                .reply = "-ERR unknown command 'GUARD.WHAT" + number + "'; try GUARD.HELP\r\n",
                .or_reply = {}};
      default:
        return {.command = "GUARD.WAIT shop 0-1-75 " + std::to_string(random_.below(20)),
                .reply = ":1\r\n",
                .or_reply = ":0\r\n"};
    }
  }

  void happen() {
    shop_.filters[guard::GuardedShop::kUsers]->set_fresh_until(loop_.now() + guard::seconds(60));
    sources_.all[0].reached = random_.below(3) == 0 ? Reached::yes : Reached::not_yet;
    if (random_.below(3) == 0) {
      pass(microseconds(random_.below(5000)));
    }
    redis_replies();
    client_reads();
  }

  void pass(microseconds time) {
    bool is_over = false;
    loop_.at(time, [&is_over] { is_over = true; });
    while (!is_over && loop_.step()) {
    }
  }

  void redis_replies() {
    redis_received_ += redis_.read();
    for (std::size_t end = redis_received_.find("\r\n"); end != std::string::npos;
         end = redis_received_.find("\r\n")) {
      const std::string command = redis_received_.substr(0, end);
      redis_received_.erase(0, end + 2);
      const std::string_view name[] = {command};
      EXPECT_EQ(shop_.commands->find(name, loop_.now()), nullptr) << command;
      const bool is_echo = command.starts_with("ECHO ");
      redis_.send(is_echo                         ? "+" + command.substr(5) + "\r\n"
                  : command.starts_with("SELECT") ? "+OK\r\n"
                                                  : "$-1\r\n");
    }
  }

  void client_reads() {
    client_received_ += client_.read(1 + random_.below(200));
    while (!expected_.empty()) {
      const Exchange& next = expected_.front();
      const bool is_other = !next.or_reply.empty() && client_received_.starts_with(next.or_reply);
      const std::string& reply = is_other ? next.or_reply : next.reply;
      if (client_received_.size() < reply.size()) {
        return;
      }
      ASSERT_EQ(client_received_.substr(0, reply.size()), reply) << "to " << next.command;
      client_received_.erase(0, reply.size());
      expected_.pop_front();
    }
  }

  simulation::Random random_;
  SimLoop loop_;
  guard::GuardedShop shop_;
  guard::ToldSources sources_{{{.name = "shop", .status = {}}}};
  Session::Settings settings_{.upstream = {.mode = config::UpstreamMode::pinned}};
  ClientCount total_;
  Clients clients_{{.loop = loop_,
                    .guard = *shop_.guard,
                    .own_commands = *shop_.commands,
                    .settings = settings_,
                    .total = total_}};
  SimPeer client_{loop_};
  SimPeer redis_{loop_};
  std::deque<Exchange> expected_;
  std::string client_received_;
  std::string redis_received_;
};

TEST(SessionHeldRandom, replies_come_in_the_order_of_the_commands) {
  const char* const wanted = std::getenv("CUCKOOGUARD_SEED");  // NOLINT(concurrency-mt-unsafe)
  const std::uint64_t first = wanted != nullptr ? std::strtoull(wanted, nullptr, 10) : 1;
  const std::uint64_t runs = wanted != nullptr ? 1 : kRuns;
  for (std::uint64_t seed = first; seed < first + runs && !HasFailure(); ++seed) {
    SCOPED_TRACE("CUCKOOGUARD_SEED=" + std::to_string(seed));
    Pipeline(seed).run();
  }
}

}  // namespace
}  // namespace cuckooguard::proxy
