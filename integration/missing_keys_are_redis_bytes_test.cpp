// Every read-only command of the server that is installed: what the guard says of missing keys are
// the bytes that Redis says, in RESP2 and RESP3, however the arguments look.
//
// Two equal Redis servers, one behind the guard, hold the same two keys; all others are missing.
// How much has been answered here is what the second of them did not get to see (INFO
// commandstats); a guard that relays everything fails.

#include <algorithm>
#include <cstdio>
#include <map>
#include <random>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "fixtures/same_bytes.h"
#include "harness/read_mutations.h"
#include "harness/read_shapes.h"
#include "harness/redis_command.h"
#include "harness/reported_commands.h"
#include "harness/seed.h"
#include "harness/shop.h"

namespace cuckooguard::harness {
namespace {

// Rows, and held by both servers: a string, and what no read of a string can be of.
const std::string kStringKey = user(1);
const std::string kListKey = user(2);

std::string bytes_of(const Words& words) {
  return command(std::vector<std::string_view>(words.begin(), words.end()));
}

// The time since a key that exists has been used: not the same for both.
bool is_idle_time(const Words& words) {
  return words.size() > 1 && (words[1] == "IDLETIME" || words[1] == "idletime");
}

class MissingKeys : public testing::TestWithParam<std::string> {  // the version: "2", "3"
 protected:
  MissingKeys() {
    shop_.wait_until_it_answers();
    for (const RedisServer* const redis : {&shop_.redis(), &straight_redis_}) {
      redis->call({"SET", kStringKey, "one"});
      redis->call({"RPUSH", kListKey, "1", "2"});
    }
    RawClient client = straight_redis_.client();
    names_ = read_only_commands_with_keys(client);
    find_absent_keys();
    guarded_.call({"HELLO", GetParam()});
    straight_.call({"HELLO", GetParam()});
  }

  // Three that the guard answers, so that whatever is forwarded has been forwarded for another
  // reason.
  void find_absent_keys() {
    constexpr std::size_t kKeys = 3;
    for (std::uint64_t n = 0; absent_.size() < kKeys; ++n) {
      const std::uint64_t before = shop_.redis().calls("get");
      shop_.client().call({"GET", absent_user(n)});
      if (shop_.redis().calls("get") == before) {
        absent_.push_back(absent_user(n));
      }
    }
  }

  // Both servers run the same reads. Ends with the pipeline in which replies differ.
  void expect_same_bytes(std::span<const Words> reads) {
    constexpr std::size_t kPipeline = 100;
    shapes_ += reads.size();
    bool are_same = true;
    while (!reads.empty() && are_same) {
      const auto these = reads.first(std::min(kPipeline, reads.size()));
      reads = reads.subspan(these.size());
      std::string request;
      for (const Words& words : these) {
        request += bytes_of(words);
      }
      guarded_.send(request);
      straight_.send(request);
      for (const Words& words : these) {
        const std::string expected = straight_.read_reply();
        const std::string actual = guarded_.read_reply();
        const bool are_times =
            is_idle_time(words) && expected.starts_with(':') && actual.starts_with(':');
        are_same = are_same && (are_times || actual == expected);
        EXPECT_TRUE(are_times || same_bytes(actual, expected))
            << testing::PrintToString(words) << ", RESP" << GetParam();
      }
    }
  }

  // How often the guard has answered this since last asked.
  std::uint64_t take_answered(const std::string& name) {
    const std::uint64_t all = straight_redis_.calls(name) - shop_.redis().calls(name);
    const std::uint64_t answered = all - std::exchange(answered_[name], all);
    return answered;
  }

  std::uint64_t answered_of_all_names() {
    std::uint64_t sum = 0;
    for (const std::string& name : names_) {
      take_answered(name);
      sum += answered_[name];
    }
    return sum;
  }

  // Those reads of the list that this server has, by their names.
  std::map<std::string, std::vector<Words>> by_name(const std::vector<Words>& reads) const {
    std::map<std::string, std::vector<Words>> reads_of;
    for (const Words& read : reads) {
      const std::string name = stat_name(read, names_);
      if (!name.empty()) {
        reads_of[name].push_back(read);
      }
    }
    return reads_of;
  }

  // Those whose command this server has, at least: another may write for all the guard knows, so
  // that its keys pass.
  std::vector<Words> known_here(std::vector<Words> reads) const {
    RawClient client = straight_redis_.client();
    std::erase_if(reads, [&client](const Words& read) {
      return client.call({"COMMAND", "INFO", read.front()}) == "*1\r\n$-1\r\n";
    });
    return reads;
  }

  void report(const char* test) {
    const std::uint64_t answered = answered_of_all_names();
    std::string left_out;
    for (const std::string& name : names_) {
      if (answered_[name] == 0) {
        left_out += (left_out.empty() ? "" : ",") + name;
      }
    }
    const auto version = [this](const char* field) {
      return straight_redis_.info("server", field);
    };
    const std::string valkey = version("valkey_version");
    std::printf("%s: server=%s resp=%s commands=%zu shapes=%zu answered=%llu not_in_table=%s\n",
                test,
                (valkey.empty() ? "redis-" + version("redis_version") : "valkey-" + valkey).c_str(),
                GetParam().c_str(),
                names_.size(),
                shapes_,
                static_cast<unsigned long long>(answered),
                left_out.c_str());
  }

  Shop shop_{{.absent_reply = "nil"}};
  RedisServer straight_redis_;
  RawClient guarded_ = shop_.client();
  RawClient straight_ = straight_redis_.client();
  std::vector<std::string> names_;
  std::vector<std::string> absent_;
  std::map<std::string, std::uint64_t> answered_;
  std::size_t shapes_ = 0;
};

TEST_P(MissingKeys, every_usual_read_is_answered_with_redis_bytes_in_any_case) {
  for (const auto& [name, reads] : by_name(answerable_reads())) {
    std::vector<Words> sent;
    for (const Words& read : reads) {
      sent.push_back(with_keys(read, absent_));
      sent.push_back(with_keys(in_lower_case(read), absent_));
    }
    take_answered(name);
    expect_same_bytes(sent);
    EXPECT_EQ(take_answered(name), sent.size()) << name << ": the others reached Redis";
  }
  report("usual");
}

// Each read is also sent with absent keys only: those, and no others, are answered here.
TEST_P(MissingKeys, a_read_with_one_key_that_exists_is_redis_own) {
  for (const auto& [name, reads] : by_name(answerable_reads())) {
    std::vector<Words> sent;
    for (const Words& read : reads) {
      const Words all_absent = with_keys(read, absent_);
      sent.push_back(all_absent);
      for (std::size_t at = 1; at < read.size(); ++at) {
        if (is_key(read[at])) {
          sent.insert(sent.end(), 2, all_absent);
          sent[sent.size() - 2][at] = kStringKey;
          sent[sent.size() - 1][at] = kListKey;
        }
      }
    }
    take_answered(name);
    expect_same_bytes(sent);
    EXPECT_EQ(take_answered(name), reads.size()) << name << ": more, or less, were answered here";
  }
  report("one key exists");
}

TEST_P(MissingKeys, whatever_is_one_step_away_from_a_usual_read_gives_redis_bytes) {
  std::vector<Words> sent;
  for (const Words& read : known_here(other_reads())) {
    sent.push_back(with_keys(read, absent_));
    sent.push_back(with_keys(in_lower_case(read), absent_));
  }
  for (const Words& read : known_here(answerable_reads())) {
    for (const Words& mutation : mutations_of(read)) {
      sent.push_back(with_keys(mutation, absent_));
    }
  }
  // Commands that nobody has listed above, with a few arguments each.
  constexpr std::size_t kArgumentsMax = 5;
  for (const std::string& name : names_) {
    Words words{name.substr(0, name.find('|'))};
    if (name.contains('|')) {
      words.push_back(name.substr(name.find('|') + 1));
    }
    for (std::size_t arguments = 0; arguments <= kArgumentsMax; ++arguments) {
      sent.push_back(words);
      words.push_back(absent_.front());
    }
  }
  expect_same_bytes(sent);
  EXPECT_GT(answered_of_all_names(), sent.size() / 20)
      << "so few have been answered here that this test proves little";
  report("one step");
}

TEST_P(MissingKeys, whatever_is_some_steps_away_gives_redis_bytes) {
  const std::uint32_t seed = seed_of_this_run();
  SCOPED_TRACE("CUCKOOGUARD_SEED=" + std::to_string(seed));
  constexpr std::size_t kReads = 10'000;
  constexpr std::size_t kStepsMax = 3;
  std::mt19937 random(seed);
  const auto any_of = [&random](const auto& of) { return of[random() % of.size()]; };
  const std::vector<Words> usual = known_here(answerable_reads());
  std::vector<Words> sent;
  while (sent.size() < kReads) {
    Words read = any_of(usual);
    for (std::size_t steps = 1 + random() % kStepsMax; steps > 0; --steps) {
      read = any_of(mutations_of(read));
    }
    sent.push_back(with_keys(read, absent_));
  }
  expect_same_bytes(sent);
  EXPECT_GT(answered_of_all_names(), sent.size() / 100)
      << "so few have been answered here that this test proves little";
  report("some steps");
}

INSTANTIATE_TEST_SUITE_P(Resp, MissingKeys, testing::Values("2", "3"), [](const auto& version) {
  return version.param;
});

}  // namespace
}  // namespace cuckooguard::harness
