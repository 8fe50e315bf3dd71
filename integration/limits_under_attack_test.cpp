// What is bounded, held to it by clients who mean harm: memory, places, and the balance between
// workers.

#include <csignal>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <sys/resource.h>

#include "harness/admin_client.h"
#include "harness/redis_command.h"
#include "harness/shop.h"

namespace cuckooguard::harness {
namespace {

constexpr std::size_t kMiB = std::size_t{1024} * 1024;

double metric(const GuardProcess& guard, const std::string& sample) {
  const std::string all = "\n" + AdminClient(guard).get("/metrics").body;
  const std::size_t at = all.find("\n" + sample + " ");
  return at == std::string::npos ? -1 : std::stod(all.substr(at + sample.size() + 2));
}

// As the pools of a service do when it starts.
TEST(LimitsUnderAttack, clients_that_come_at_once_are_spread_over_the_workers) {
  constexpr std::size_t kClients = 64;
  Shop shop({.more = "admin: { address: \"127.0.0.1:0\" }\n"});
  shop.wait_until_it_answers();
  const auto clients_of = [&](int worker) {
    return metric(shop.guard(), "cuckooguard_clients{worker=\"" + std::to_string(worker) + "\"}");
  };
  ASSERT_TRUE(eventually([&] { return clients_of(0) + clients_of(1) == 0; }));
  shop.guard().send_signal(SIGSTOP);
  std::vector<RawClient> clients;
  clients.reserve(kClients);
  for (std::size_t i = 0; i < kClients; ++i) {
    clients.push_back(RawClient::to_port(shop.guard().tls_port()));
  }
  shop.guard().send_signal(SIGCONT);
  ASSERT_TRUE(eventually([&] { return clients_of(0) + clients_of(1) == kClients; }));
  EXPECT_EQ(clients_of(0), kClients / 2);
  EXPECT_EQ(clients_of(1), kClients / 2);
}

TEST(LimitsUnderAttack, clients_that_are_gone_take_no_places_while_redis_hangs) {
  constexpr std::size_t kClients = 3;
  Shop shop({.more = "limits: { max_clients: 3 }\n"});
  shop.wait_until_it_answers();
  ::kill(shop.redis().pid(), SIGSTOP);
  for (int round = 0; round < 5; ++round) {
    std::vector<RawClient> impatient;
    for (std::size_t i = 0; i < kClients; ++i) {
      impatient.push_back(shop.client());
      impatient.back().send(command({"GET", user(1)}));
      if (round % 2 == 1) {  // more than is read while Redis takes none of it
        impatient.back().send_some(command({"SET", "large", std::string(100'000, 'x')}));
      }
    }
    // Each is closed with the command on its way.
  }
  std::vector<RawClient> clients;
  clients.reserve(kClients);
  ASSERT_TRUE(eventually(
      [&] {
        RawClient client = shop.client();
        client.try_send(command({"PING"}));
        // Who is refused is told at once.
        if (!eventually([&] { return client.is_closed_by_peer(); }, milliseconds(100))) {
          clients.push_back(std::move(client));
        }
        return clients.size() == kClients;
      },
      milliseconds(10'000)));
  ::kill(shop.redis().pid(), SIGCONT);
  for (RawClient& client : clients) {
    EXPECT_EQ(client.read_reply(), kPong);
  }
}

// A command of 20 KB that asks for 1 MB, from clients that never read: `before` is what holds the
// answers up, if anything.
class AnswersThatNobodyReads : public testing::TestWithParam<std::string> {};

TEST_P(AnswersThatNobodyReads, take_no_more_memory_than_output_total) {
  constexpr std::size_t kClients = 40;
  constexpr std::size_t kCommands = 40;
  constexpr std::size_t kKeys = 900;
  constexpr std::size_t kTotal = 16 * kMiB;
  // Read buffers, allocator, what is on its way to Redis.
  constexpr std::size_t kAllowance = 24 * kMiB;
  const std::string text(1000, 'a');
  Shop shop({.absent_reply = "bytes:" + text, .more = "limits: { output_total: 16MiB }\n"});
  shop.wait_until_it_answers();
  std::string mget = "*" + std::to_string(kKeys + 1) + "\r\n" + bulk("MGET");
  for (std::size_t i = 0; i < kKeys; ++i) {
    mget += bulk(absent_user(i));
  }
  const std::size_t before = shop.guard().resident_bytes_max();
  std::vector<RawClient> clients;
  clients.reserve(kClients);
  for (std::size_t i = 0; i < kClients; ++i) {
    clients.push_back(shop.client());
    std::string all = GetParam();
    for (std::size_t n = 0; n < kCommands; ++n) {
      all += mget;
    }
    clients.back().send(all);
  }
  RawClient other = shop.client();
  EXPECT_EQ(other.call({"GET", absent_user()}), bulk(text)) << "others are still answered";
  const std::size_t most = shop.guard().resident_bytes_max() - before;
  if (!under_sanitizer()) {
    EXPECT_LT(most, kTotal + kAllowance);
  }
  // And each of them gets all that it has asked for, here or by Redis.
  RawClient& last = clients.back();
  if (!GetParam().empty()) {
    shop.redis().call({"DEL", "queue"});
    for (std::size_t i = 0; i < kClients; ++i) {
      shop.redis().call({"RPUSH", "queue", "x"});
    }
    last.read_reply();
  }
  for (std::size_t n = 0; n < kCommands; ++n) {
    EXPECT_TRUE(last.read_reply().starts_with("*900\r\n")) << n;
  }
}

INSTANTIATE_TEST_SUITE_P(At,
                         AnswersThatNobodyReads,
                         testing::Values(std::string(), command({"BLPOP", "queue", "0"})),
                         [](const testing::TestParamInfo<std::string>& one) {
                           return one.param.empty() ? "once" : "behind_a_blocking_command";
                         });

// With the line that says so, before the argument has come; and with Redis's own close behind it.
TEST(WithoutALogin, lengths_are_limited_as_by_redis_and_at_once) {
  Shop shop({.control = "password: word",
             .redis_arguments = {"--requirepass", "word"},
             .password = "word"});
  RawClient member = shop.client();
  member.call({"AUTH", "word"});
  ASSERT_TRUE(eventually([&] { return shop.answers_absent(member); }));
  const std::string argument = "$16385\r\n";
  for (const std::string& bytes : {std::string("*11\r\n"),
                                   std::string("*100\r\n"),
                                   "*1\r\n" + argument,
                                   std::string("*2\r\n$3\r\nGET\r\n$100000000\r\n"),
                                   command({"PING"}) + "*11\r\n"}) {
    RawClient straight = RawClient::to_port(shop.redis().port());
    straight.send(bytes);
    const std::string refusal = straight.read_until_closed();
    ASSERT_NE(refusal.find("Protocol error: unauthenticated"), std::string::npos) << refusal;
    RawClient guarded = shop.client();
    guarded.send(bytes);
    EXPECT_EQ(guarded.read_until_closed(), refusal) << bytes;
  }
  // Who logs in with the same bytes has no such limit.
  RawClient late = shop.client();
  const std::string large(100'000, 'v');
  EXPECT_EQ(late.exchange(command({"AUTH", "word"}) + command({"ECHO", large}), 2),
            std::string(kOk) + bulk(large));
  EXPECT_TRUE(shop.answers_absent(late)) << "and is guarded";
}

// Limits that allow more than there is.
TEST(OutOfMemory, is_the_last_word_of_a_guard_that_ends_for_it) {
  if (under_sanitizer()) {
    GTEST_SKIP() << "its allocator ends the process in words of its own";
  }
  for (const std::string_view format : {"text", "json"}) {
    Shop shop(
        {.more = "limits: { client_output_soft: 1GiB, client_output_hard: 4GiB, output_total: "
                 "4GiB }\nlog: { format: " +
                 std::string(format) + " }\n"});
    shop.wait_until_it_answers();
    shop.redis().call({"SETRANGE", "large", std::to_string(20 * kMiB), "x"});
    const std::size_t now = memory_bytes(shop.guard().pid(), "VmSize");
    const rlimit limit{.rlim_cur = now + 16 * kMiB, .rlim_max = now + 16 * kMiB};
    ASSERT_EQ(::prlimit(shop.guard().pid(), RLIMIT_AS, &limit, nullptr), 0);
    RawClient client = shop.client();
    for (int i = 0; i < 30; ++i) {
      client.try_send(command({"GET", "large"}));
    }
    EXPECT_EQ(shop.guard().exit_code(), 1);
    std::string log = shop.guard().log();
    log.pop_back();
    const std::string last = log.substr(log.rfind('\n') + 1);
    EXPECT_NE(
        last.find(format == "text"
                      ? " error event=out_of_memory why=\"out of memory: an allocation failed"
                      : R"(","level":"error","event":"out_of_memory","why":"out of memory: an)"),
        std::string::npos)
        << last;
  }
}

}  // namespace
}  // namespace cuckooguard::harness
