// A guard with this guest: what its sketches are told, and GUARD.TOP.
#include "traffic/traffic.h"

#include <array>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "guard/guarded_shop.h"
#include "guard/own_commands.h"

namespace cuckooguard::traffic {
namespace {

using guard::GuardedShop;
using std::chrono::seconds;
using testing::HasSubstr;
using testing::StartsWith;

constexpr int kReads = 6400;  // of which a hundred are seen

class GuardWithTraffic : public testing::Test {
 protected:
  GuardWithTraffic() {
    for (guard::GuardedNamespace& space : shop_.spaces) {
      space.counts->traffic = kGuest.make(1);
    }
    shop_.shown.emplace_back(kGuest.show);
    shop_.client.came_from(text::Network::of_ipv4(std::array<unsigned char, 4>{10, 0, 0, 7}));
    commands_.emplace(*shop_.guard, kGuest.commands(*shop_.guard), guard_commands(*shop_.guard));
  }

  const Sketches& sketches(std::uint32_t ns = GuardedShop::kUsers) const {
    return *sketches_of(shop_.spaces[ns]);
  }
  Ranking absent() const { return sketches().keys(Sketches::Kind::absent, shop_.now); }
  Ranking read() const { return sketches().keys(Sketches::Kind::read, shop_.now); }
  std::uint64_t expiring() const { return sketches().expiring_total(); }
  void get(const std::string& key, int times = kReads) {
    for (int i = 0; i < times; ++i) {
      shop_.decide({"GET", key});
    }
  }
  std::string call(std::initializer_list<std::string_view> arguments) {
    const std::span<const std::string_view> words(arguments.begin(), arguments.size());
    const auto* const served = commands_->find(words, shop_.now);
    return std::string(commands_
                           ->serve(*served,
                                   words,
                                   shop_.client,
                                   {.now = shop_.now, .since = shop_.now, .has_room = true})
                           .reply);
  }
  // The user may GET this namespace's keys, and nothing else.
  void allow(std::uint32_t ns) {
    redis::UserAccess access{.may_write = false,
                             .namespaces = std::vector(shop_.spaces.size(), redis::KeyAccess::none),
                             .reads_no_key = std::vector<bool>(shop_.spaces.size(), true)};
    access.on_readable.set(redis::command_index(redis::find_command("get")));
    access.namespaces[ns] = redis::KeyAccess::read;
    access.reads_no_key[ns] = false;
    redis::Users users{.default_needs_no_password = true};
    users.restricted.emplace("default", std::move(access));
    shop_.facts.publish_users(shop_.facts.epoch(), std::move(users));
  }

  GuardedShop shop_;
  std::optional<guard::OwnCommands> commands_;
};

TEST_F(GuardWithTraffic, a_sample_of_reads_is_seen_with_their_verdict_and_client) {
  get("user:5000");
  get("user:7", kReads / 4);
  EXPECT_NEAR(absent().per_second, kReads, kReads / 4.0) << "in what counts as one second";
  EXPECT_NEAR(read().per_second, kReads * 1.25, kReads / 4.0);
  ASSERT_EQ(absent().rows.size(), 1U);
  EXPECT_EQ(absent().rows.front().key.view(), "user:5000");
  EXPECT_EQ(read().rows.size(), 2U);
  EXPECT_EQ(sketches().clients(Sketches::Kind::absent, shop_.now).rows.front().from.text(),
            "10.0.0.7");
  EXPECT_TRUE(sketches(GuardedShop::kItems).keys(Sketches::Kind::read, shop_.now).rows.empty());
}

TEST_F(GuardWithTraffic, observed_and_tolerated_keys_are_absent_too) {
  shop_.spaces[GuardedShop::kUsers].mode = config::Mode::observe;
  get("user:5000");
  EXPECT_NEAR(absent().rows.at(0).share, 1, 0.01);
  shop_.spaces[GuardedShop::kUsers].mode = config::Mode::enforce;
  shop_.spaces[GuardedShop::kUsers].tolerance->set_rate(1e6);
  get("user:6000");
  EXPECT_EQ(absent().rows.size(), 2U);
}

TEST_F(GuardWithTraffic, a_verdict_that_is_not_carried_out_is_not_seen) {
  for (int i = 0; i < kReads; ++i) {
    const std::array<std::string_view, 2> words{"GET", "user:5000"};
    shop_.guard->judge(shop_.guard->ask(words, shop_.client, shop_.now), shop_.room);
  }
  EXPECT_EQ(absent().per_second, 0);
}

TEST_F(GuardWithTraffic, keys_that_are_given_an_expiry_are_counted) {
  const std::string at = std::to_string(1'700'000'000'123 + 60'000);
  for (int i = 0; i < kReads; ++i) {
    shop_.write({"SET", "user:1", "v", "EX", "60"});
    shop_.write({"SETEX", "user:2", "60", "v"});
    shop_.write({"EXPIRE", "user:3", "60"}, ':');
    shop_.write({"SET", "user:4", "v", "PXAT", at});
    shop_.decide({"GETEX", "user:5", "EX", "60"});
  }
  const auto peak = sketches().expiring(shop_.now);
  ASSERT_TRUE(peak);
  EXPECT_NEAR(peak->keys, 5 * kReads, kReads / 4.0);
  EXPECT_EQ(peak->from_now, seconds(60));
  EXPECT_EQ(sketches().expiring_total(), peak->keys);
}

TEST_F(GuardWithTraffic, each_form_is_counted) {
  for (const auto& command : std::initializer_list<std::initializer_list<std::string_view>>{
           {"PSETEX", "user:1", "60000", "v"},
           {"PEXPIRE", "user:1", "60000"},
           {"GETEX", "user:1", "PX", "60000"}}) {
    const std::uint64_t before = expiring();
    for (int i = 0; i < kReads; ++i) {
      shop_.write(command);
    }
    EXPECT_GT(expiring(), before + kReads / 2) << *command.begin();
  }
}

TEST_F(GuardWithTraffic, what_gives_no_guarded_key_an_expiry_is_not_counted) {
  for (int i = 0; i < kReads; ++i) {
    shop_.write({"SET", "user:1", "v"});
    shop_.write({"SET", "nobody:1", "v", "EX", "60"});
    shop_.decide({"GETEX", "user:5000", "EX", "60"});
    shop_.decide({"GETEX", "user:5"});
    shop_.write({"SET", "item:x", "*", "EX", "60"});
  }
  EXPECT_EQ(expiring(), 0U);
  EXPECT_EQ(sketches(GuardedShop::kItems).expiring_total(), 0U) << "that it is absent";
}

TEST_F(GuardWithTraffic, who_may_not_write_cannot_have_keys_counted) {
  allow(GuardedShop::kUsers);
  for (int i = 0; i < kReads; ++i) {
    shop_.write({"SET", "user:1", "v", "EX", "60"}, '-');
  }
  EXPECT_EQ(expiring(), 0U);
}

TEST_F(GuardWithTraffic, top_shows_the_most_frequent_keys_and_clients) {
  get("user:5000");
  const std::string top = call({"GUARD.TOP", "users"});
  EXPECT_THAT(top, StartsWith("*8\r\n$7\r\npattern\r\n$8\r\nfew_keys\r\n$17\r\nabsent_per_second"));
  EXPECT_THAT(top,
              HasSubstr("$6\r\nabsent\r\n*1\r\n*4\r\n$9\r\nuser:5000\r\n$16\r\n" +
                        shop_.process.key_hash("user:5000") + "\r\n"));
  EXPECT_THAT(top, HasSubstr("$5\r\n1.000\r\n"));
  EXPECT_THAT(call({"guard.top", "users", "READ"}), HasSubstr("$4\r\nread\r\n*1\r\n*4\r\n"));
  EXPECT_THAT(call({"GUARD.TOP", "users", "clients"}),
              HasSubstr("$6\r\nabsent\r\n*1\r\n*3\r\n$8\r\n10.0.0.7\r\n"));
  EXPECT_THAT(call({"GUARD.TOP", "items"}), HasSubstr("$6\r\nabsent\r\n*0\r\n"));
}

TEST_F(GuardWithTraffic, top_refuses_what_it_does_not_know) {
  EXPECT_EQ(call({"GUARD.TOP", "nobody"}), "-ERR no such namespace: 'nobody'\r\n");
  EXPECT_EQ(call({"GUARD.TOP", "users", "all"}),
            "-ERR no such list: 'all'; use absent, read or clients\r\n");
  EXPECT_THAT(call({"GUARD.HELP"}), HasSubstr("TOP <namespace>"));
  EXPECT_THAT(call({"GUARD.TOPS"}), HasSubstr("unknown command"));
}

TEST_F(GuardWithTraffic, top_is_for_users_who_may_read_the_namespaces_keys) {
  allow(GuardedShop::kItems);
  EXPECT_THAT(call({"GUARD.TOP", "users"}), StartsWith("-NOPERM"));
  EXPECT_THAT(call({"GUARD.TOP", "items"}), StartsWith("*8\r\n"));
  EXPECT_THAT(call({"GUARD.TOP", "items", "clients"}), StartsWith("-NOPERM"));
  shop_.process.operators.users = {"default"};
  EXPECT_THAT(call({"GUARD.TOP", "items", "clients"}), StartsWith("*10\r\n"));
}

class ShownTraffic : public GuardWithTraffic {
 protected:
  std::string summary() const {
    const guard::FactTable table({.guarded = shop_.guard->parts(),
                                  .process = &shop_.process,
                                  .guards = {},
                                  .redis = shop_.guard->facts(),
                                  .now = shop_.now});
    for (const guard::FactSection& section : table.sections()) {
      for (const guard::Fact& fact : section.facts) {
        if (fact.name.json == "traffic.summary" && section.name == "users") {
          return std::get<std::string>(fact.value.any);
        }
      }
    }
    return "nothing is shown";
  }
};

TEST_F(ShownTraffic, is_told_in_one_line_with_keys_as_the_log_has_them) {
  EXPECT_EQ(summary(), "");
  get("user:5000");
  for (int i = 0; i < 200; ++i) {
    shop_.spaces[GuardedShop::kUsers].counts->traffic->expires(shop_.now + seconds(3000),
                                                               shop_.now);
  }
  const std::string hash = shop_.process.key_hash("user:5000");
  EXPECT_THAT(
      summary(),
      HasSubstr("pattern: few keys, 100 % of them from 10.0.0.7, most often key_hash " + hash));
  EXPECT_THAT(summary(), HasSubstr("most read: key_hash " + hash + " (100 %)"));
  EXPECT_THAT(summary(), HasSubstr("at most 1,600 keys expire in one second, in 50 min"));
  EXPECT_THAT(summary(), Not(HasSubstr("user:5000")));
  shop_.process.shows_keys = true;
  EXPECT_THAT(summary(), HasSubstr("most read: \"user:5000\" (100 %)"));
}

TEST_F(ShownTraffic, is_nothing_where_nobody_counts_it) {
  for (guard::GuardedNamespace& space : shop_.spaces) {
    space.counts->traffic.reset();
  }
  get("user:5000");
  shop_.write({"SET", "user:1", "v", "EX", "3000"});
  EXPECT_EQ(summary(), "nothing is shown");
  EXPECT_THAT(call({"GUARD.TOP", "users"}), StartsWith("-ERR"));
}

}  // namespace
}  // namespace cuckooguard::traffic
