// Hundreds of reloads under load lose no command: every reply comes, in its order, on connections
// that stay; no existing key is hidden, no key that was written through the guard; and absent keys
// are answered afterwards as before.

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "harness/redis_command.h"
#include "harness/seed.h"
#include "harness/shop.h"

namespace cuckooguard::harness {
namespace {

using namespace std::chrono_literals;

constexpr milliseconds kOurMaxLag = 1s;
constexpr std::size_t kClients = 3;

void replace(std::string& text, std::string_view part, std::string_view instead) {
  text.replace(text.find(part), part.size(), instead);
}

// What one client pipelines, and what must come: "" is Redis's nil or the absent reply.
struct Expectation {
  std::string request;
  std::vector<std::string> replies;

  void add(std::initializer_list<std::string_view> arguments, std::string reply) {
    request += command(arguments);
    replies.push_back(std::move(reply));
  }
};

class ReloadUnderLoad : public testing::Test {
 protected:
  static constexpr std::uint64_t kWritten = 10'000'000;  // ids of which only Redis knows
  static constexpr std::uint64_t kInserted = 5'000;

  ReloadUnderLoad() {
    for (std::uint64_t id = 1; id <= 100; ++id) {
      shop_.redis().call({"SET", user(id), "row"});
    }
    shop_.wait_until_it_answers();
  }

  // A file of its own for each reload: namespaces in any order, some there or not, one defined
  // anew, others' policy.
  std::string any_configuration() {
    const auto any = [this](std::uint32_t many) { return random_() % many; };
    const std::string whole = shop_.yaml();
    const std::size_t begin = whole.find("  users:");
    const std::size_t tags = whole.find("  tags:");
    const std::size_t end = whole.find("admin:");
    std::vector<std::string> spaces{whole.substr(begin, tags - begin)};
    replace(spaces[0], "verify_sample: 0%", "verify_sample: " + std::to_string(any(3)) + "%");
    replace(spaces[0],
            "ttl: 1s }",
            "ttl: " + std::to_string(1 + any(2)) +
                "s, max_keys: " + std::to_string(any(100) > 0 ? 500 : 400) + "k }");
    if (any(3) > 0) {
      spaces.push_back(
          "  tags: { keys: \"tag:{name}\", source: { from: shop, table: tag }, "
          "mode: enforce, absent_reply: nil, overlay: { pass_at_start: false }, "
          "filter: { false_positive_rate: " +
          std::to_string(1 + any(2)) + "% } }\n");
    }
    if (any(2) > 0) {
      spaces.push_back(
          "  names: { keys: \"name:{name}\", source: { from: shop, table: tag }, mode: " +
          std::string(any(2) > 0 ? "observe" : "bypass") + " }\n");
    }
    std::ranges::shuffle(spaces, random_);
    std::string text = whole.substr(0, begin);
    for (const std::string& space : spaces) {
      text += space;
    }
    return text + whole.substr(end) +
           "limits: { client_output_soft: " + std::to_string(1 + any(4)) +
           "MiB, idle_timeout: " + std::to_string(any(2)) + "h }\n";
  }

  Expectation pipeline(std::size_t client, std::uint64_t round) const {
    Expectation all;
    for (int i = 0; i < 8; ++i) {
      const std::string mark = std::to_string(client) + "-" + std::to_string(round * 8 + i);
      const std::string written = user(kWritten + client * 1'000'000 +
                                       (round * 8 + static_cast<std::uint64_t>(i)) % 500'000);
      all.add({"GET", user(1 + (round + static_cast<std::uint64_t>(i)) % 100)}, bulk("row"));
      all.add({"GET", absent_user(round % 1000)}, "");
      all.add({"ECHO", mark}, bulk(mark));
      all.add({"SET", written, mark}, std::string(kOk));
      all.add({"GET", "tag:none"}, "");
      all.add({"GET", written}, bulk(mark));
      all.add({"DEL", written}, ":1\r\n");
      all.add({"ECHO", mark}, bulk(mark));
    }
    return all;
  }

  void talk(std::size_t number) {
    RawClient client = shop_.client();
    for (std::uint64_t round = 0; !is_over_; ++round) {
      const Expectation expected = pipeline(number, round);
      client.send(expected.request);
      for (const std::string& wanted : expected.replies) {
        const std::string reply = client.read_reply();
        if (wanted.empty() ? reply != absent_reply() && reply != kNil : reply != wanted) {
          ADD_FAILURE() << "client " << number << ": " << shown(reply) << " for " << shown(wanted);
          is_over_ = true;
          return;
        }
        answered_ += reply == absent_reply() ? 1 : 0;
        ++replies_;
      }
    }
    EXPECT_FALSE(client.is_closed_by_peer());
  }

  // Rows that come all the while: from max_lag after its commit none is hidden.
  void insert() {
    RawClient client = shop_.client();
    std::vector<std::pair<std::uint64_t, SteadyClock::time_point>> rows;
    for (std::uint64_t id = kInserted; !is_over_; id += 100) {
      shop_.database().insert_user(id);
      rows.emplace_back(id, SteadyClock::now());
      for (const auto& [row, committed] : rows) {
        const bool must_pass = SteadyClock::now() >= committed + kOurMaxLag;
        if (client.call({"GET", user(row)}) == absent_reply() && must_pass) {
          ADD_FAILURE() << user(row) << " is hidden";
          is_over_ = true;
        }
      }
      if (rows.size() > 100) {
        rows.erase(rows.begin());
      }
    }
  }

  Shop shop_{ShopSettings{.max_lag = "1s",
                          .source = "follow: triggers, install_triggers: true",
                          .overlay = "{ pass_at_start: false, ttl: 1s }",
                          .more = "admin: { operators: default }\n"}};
  std::mt19937 random_{seed_of_this_run()};
  std::atomic<bool> is_over_ = false;
  std::atomic<std::uint64_t> replies_ = 0;
  std::atomic<std::uint64_t> answered_ = 0;
};

TEST_F(ReloadUnderLoad, loses_no_command_and_hides_no_key) {
  const int wanted = under_sanitizer() ? 60 : 200;
  std::vector<std::jthread> load;
  load.reserve(kClients + 1);
  for (std::size_t i = 0; i < kClients; ++i) {
    load.emplace_back([this, i] { talk(i); });
  }
  load.emplace_back([this] { insert(); });
  RawClient operators = shop_.client();
  int reloads = 0;
  for (; reloads < wanted && !is_over_; ++reloads) {
    shop_.guard().set_configuration(any_configuration());
    const std::string reply = operators.call({"GUARD.RELOAD"});
    if (!reply.starts_with("+OK")) {  // the same by chance says so
      ADD_FAILURE() << reply << shop_.guard().log();
      break;
    }
  }
  is_over_ = true;
  load.clear();
  EXPECT_EQ(reloads, wanted);
  EXPECT_GT(answered_, 0U);
  shop_.guard().set_configuration(shop_.yaml());
  EXPECT_TRUE(operators.call({"GUARD.RELOAD"}).starts_with("+OK"));
  EXPECT_TRUE(eventually([&] { return shop_.answers_absent(operators); })) << shop_.guard().log();
  const std::string log = shop_.guard().log();
  std::size_t loads = 0;
  for (std::size_t at = 0;
       (at = log.find("event=loaded namespace=users ", at)) != std::string::npos;
       ++at) {
    ++loads;
  }
  EXPECT_EQ(loads, 1U) << "its definition has never changed";
  std::printf("reload_under_load: reloads=%d replies=%llu answered_here=%llu\n",
              reloads,
              static_cast<unsigned long long>(replies_),
              static_cast<unsigned long long>(answered_));
}

}  // namespace
}  // namespace cuckooguard::harness
