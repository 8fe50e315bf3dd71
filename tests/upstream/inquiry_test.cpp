// What is learned is compared with what Redis does: against a real one.
#include "upstream/inquiry.h"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "harness/redis_command.h"
#include "harness/redis_server.h"
#include "io/sockets.h"

namespace cuckooguard::upstream {
namespace {

constexpr auto kNone = redis::KeyAccess::none;
constexpr auto kRead = redis::KeyAccess::read;
constexpr auto kReadWrite = redis::KeyAccess::read_write;

const Questions kQuestions{.keys = {{"user:"}, {"cart:", "basket:"}}};

// Of some commands: whether they are among these.
using May = std::vector<bool>;
May some_of(const redis::CommandSet& commands) {
  May may;
  for (const char* const name : {"get", "mget", "zscore", "getex", "zinter"}) {
    may.push_back(commands[redis::command_index(redis::find_command(name))]);
  }
  return may;
}
const May kAll{true, true, true, true, true};

May readable(const redis::UserAccess& user) {
  return some_of(user.on_readable);
}
May writable(const redis::UserAccess& user) {
  return some_of(user.on_writable);
}

std::unique_ptr<RedisClient> client_at(std::uint16_t port) {
  return RedisClient::open(
             nullptr, {.address = {.host = "127.0.0.1", .port = port}}, std::chrono::seconds(2))
      .value();
}

class InquiryTest : public testing::Test {
 protected:
  explicit InquiryTest(std::vector<std::string> arguments = {}) : redis_(std::move(arguments)) {}

  void set_user(const std::string& rules) {
    std::string command = "ACL SETUSER bob reset on nopass " + rules;
    std::vector<std::string> words;
    for (std::size_t at = 0; at != std::string::npos;) {
      const std::size_t end = command.find(' ', at);
      words.push_back(command.substr(at, end == std::string::npos ? end : end - at));
      at = end == std::string::npos ? end : end + 1;
    }
    const Reply reply = client_->call(std::vector<std::string_view>(words.begin(), words.end()));
    ASSERT_TRUE(reply);
    ASSERT_EQ(text_of(*reply), "OK") << command;
  }

  Answers ask() {
    const std::vector<std::string> names{"default", "bob"};
    return inquiry_.ask(names).value();
  }
  redis::UserAccess bob() {
    const redis::Users users = ask().reading.users;
    const redis::UserAccess* const bob = users.find("bob");
    return bob == nullptr ? redis::UserAccess{} : *bob;
  }
  redis::UserAccess bob_with(const std::string& rules) {
    set_user(rules);
    return bob();
  }

  harness::RedisServer redis_;
  std::unique_ptr<RedisClient> client_{client_at(redis_.port())};
  Inquiry inquiry_{*client_, kQuestions};
};

TEST_F(InquiryTest, a_fresh_redis_is_a_master_that_serves_and_whose_default_user_may_all) {
  const Answers answers = ask();
  EXPECT_EQ(answers.is_cluster, false);
  const redis::Reading& reading = answers.reading;
  EXPECT_EQ(reading.is_master, true);
  EXPECT_TRUE(reading.takes_writes);
  EXPECT_EQ(reading.availability, redis::Availability::available);
  EXPECT_EQ(reading.idle_timeout, std::chrono::seconds(0));
  EXPECT_THAT(reading.users.unrestricted, testing::ElementsAre("default")) << "there is no bob";
  EXPECT_TRUE(reading.users.restricted.empty());
  EXPECT_TRUE(reading.users.default_needs_no_password);
  ASSERT_TRUE(reading.commands);
  EXPECT_EQ(some_of(reading.commands->listed), kAll);
}

TEST_F(InquiryTest, who_may_all_is_not_asked_for_each_command) {
  EXPECT_TRUE(bob_with("+@all ~*").is_unrestricted);
  EXPECT_EQ(redis_.calls("acl|dryrun"), 0U);
  const redis::UserAccess prefix = bob_with("+@all ~user:*");
  EXPECT_FALSE(prefix.is_unrestricted);
  EXPECT_EQ(prefix.namespaces, (std::vector{kReadWrite, kNone}));
  EXPECT_EQ(writable(prefix), kAll);
  EXPECT_EQ(redis_.calls("acl|dryrun"), 0U);
}

TEST_F(InquiryTest, who_may_some_commands_may_those) {
  const redis::UserAccess some = bob_with("+get +zinter ~*");
  EXPECT_FALSE(some.is_unrestricted);
  EXPECT_EQ(some.namespaces, (std::vector{kReadWrite, kReadWrite}));
  EXPECT_EQ(writable(some), (May{true, false, false, false, true}));
  EXPECT_EQ(writable(bob_with("+@all -mget ~*")), (May{true, false, true, true, true}));
  EXPECT_EQ(writable(bob_with("-@all ~*")), (May{false, false, false, false, false}));
}

TEST_F(InquiryTest, who_may_only_read_keys_may_not_run_what_writes_them) {
  const redis::UserAccess reader = bob_with("+@all %R~user:*");
  EXPECT_EQ(reader.namespaces, (std::vector{kRead, kNone}));
  EXPECT_EQ(readable(reader), (May{true, true, true, false, true})) << "not GETEX";
  const redis::UserAccess both = bob_with("+@all %R~user:* ~cart:* ~basket:*");
  EXPECT_EQ(both.namespaces, (std::vector{kRead, kReadWrite}));
  EXPECT_EQ(readable(both), (May{true, true, true, false, true}));
  EXPECT_EQ(writable(both), kAll);
}

TEST_F(InquiryTest, who_may_surely_write_no_key_is_known) {
  for (const char* const nothing : {"+@read ~*", "+get +ping +client|reply ~*", "+config ~*"}) {
    EXPECT_FALSE(bob_with(nothing).may_write) << nothing;
  }
  for (const char* const something : {"+@all ~user:*",
                                      "+get +set ~user:1*",
                                      "+eval ~*",
                                      "+xgroup|create ~*",
                                      "+get (+set ~*)",
                                      "+@fast ~*",
                                      "off +@all ~*"}) {
    EXPECT_TRUE(bob_with(something).may_write) << something;
  }
}

TEST_F(InquiryTest, every_prefix_of_a_namespace_must_be_covered) {
  EXPECT_EQ(bob_with("+@all ~cart:*").namespaces, (std::vector{kNone, kNone}));
  EXPECT_EQ(bob_with("+@all %W~user:*").namespaces, (std::vector{kNone, kNone}));
}

TEST_F(InquiryTest, selectors_give_nothing) {
  const redis::UserAccess by_selector = bob_with("+get %R~user:* (+mget ~*)");
  EXPECT_EQ(by_selector.namespaces, (std::vector{kRead, kNone}));
  EXPECT_TRUE(by_selector.on_readable.none());
  EXPECT_EQ(writable(bob_with("+@all ~user:* (+mget ~*)")), kAll) << "the root says it";
}

TEST_F(InquiryTest, a_rule_for_one_first_argument_is_not_a_rule_for_all) {
  EXPECT_EQ(writable(bob_with("+get|user: ~user:*")), (May{false, false, false, false, false}));
}

TEST_F(InquiryTest, whether_redis_would_refuse_is_known_only_where_it_has_said_so) {
  EXPECT_TRUE(bob_with("+get ~user:*").knows_commands);
  EXPECT_EQ(bob().reads_no_key, (std::vector<bool>{false, true}));
  EXPECT_EQ(bob_with("+@all ~user:1* ~basket:*").reads_no_key, (std::vector<bool>{false, false}));
  EXPECT_FALSE(bob_with("+get ~user:* (+mget ~*)").knows_commands);
  redis_.call({"ACL", "SETUSER", "default", "-acl|dryrun"});
  EXPECT_FALSE(bob_with("+mget ~user:*").knows_commands);
  ASSERT_EQ(ask().refused.size(), 1U);
  EXPECT_EQ(ask().refused[0].question, Question::commands_of_users);
}

TEST_F(InquiryTest, a_user_that_is_off_or_gone_may_nothing) {
  const redis::UserAccess off = bob_with("off +@all ~*");
  EXPECT_FALSE(off.is_unrestricted);
  EXPECT_TRUE(off.namespaces.empty());
  EXPECT_TRUE(bob_with("+@all ~*").is_unrestricted);
  redis_.call({"ACL", "DELUSER", "bob"});
  EXPECT_EQ(ask().reading.users.find("bob"), nullptr);
}

TEST_F(InquiryTest, commands_are_tried_again_only_if_the_user_has_changed) {
  bob_with("+get ~user:*");
  const std::uint64_t tried = redis_.calls("acl|dryrun");
  EXPECT_EQ(tried, std::ranges::count_if(redis::all_commands(), [](const redis::Command& command) {
              return redis::may_be_answered(command.role);
            }));
  EXPECT_EQ(writable(bob()), (May{true, false, false, false, false}));
  EXPECT_EQ(redis_.calls("acl|dryrun"), tried);
  redis_.call({"ACL", "SETUSER", "bob", "+mget"});
  EXPECT_EQ(writable(bob()), (May{true, true, false, false, false}));
  EXPECT_EQ(redis_.calls("acl|dryrun"), 2 * tried);
}

// What ACL LIST says is the same in one round trip, for a fraction of the time.
TEST_F(InquiryTest, users_are_listed_and_not_asked_for_one_by_one) {
  constexpr std::array kRules{"+@all ~*",
                              "+@all ~user:* %R~x* %W~w:* &c*",
                              "-@all +@read +config|get -get ~user:* resetchannels",
                              "+@all -@dangerous >word >another ~*",
                              "+@all ~* skip-sanitize-payload",
                              "-@all +get ~user:*"};
  for (const char* const rules : kRules) {
    set_user(rules);
    Inquiry first(*client_, kQuestions);
    const std::vector<std::string> names{"default", "bob"};
    const redis::Users told = first.ask(names).value().reading.users;
    const std::uint64_t asked = redis_.calls("acl|getuser");
    const std::uint64_t listed = redis_.calls("acl|list");
    const redis::Users again = first.ask(names).value().reading.users;
    EXPECT_EQ(redis_.calls("acl|getuser"), asked) << rules;
    EXPECT_EQ(redis_.calls("acl|list"), listed + 1) << rules;
    EXPECT_TRUE(!told.are_listed && again.are_listed);
    EXPECT_EQ(again.unrestricted, told.unrestricted) << rules;
    EXPECT_EQ(again.default_needs_no_password, told.default_needs_no_password);
    ASSERT_EQ(again.find("bob") == nullptr, told.find("bob") == nullptr) << rules;
    if (told.find("bob") != nullptr) {
      EXPECT_EQ(writable(*again.find("bob")), writable(*told.find("bob"))) << rules;
      EXPECT_EQ(readable(*again.find("bob")), readable(*told.find("bob"))) << rules;
      EXPECT_EQ(again.find("bob")->namespaces, told.find("bob")->namespaces) << rules;
    }
  }
}

TEST_F(InquiryTest, users_are_asked_for_one_by_one_where_redis_has_very_many) {
  ask();
  for (std::size_t i = 0; i <= 2 * Inquiry::kListedPerAsked; ++i) {
    redis_.call({"ACL", "SETUSER", "user" + std::to_string(i)});
  }
  set_user("+@all ~user:*");
  EXPECT_EQ(bob().namespaces, (std::vector{kReadWrite, kNone})) << "all the same";
  const std::uint64_t listed = redis_.calls("acl|list");
  set_user("+@all ~cart:* ~basket:*");
  EXPECT_EQ(bob().namespaces, (std::vector{kNone, kReadWrite}));
  EXPECT_EQ(redis_.calls("acl|list"), listed);
  EXPECT_FALSE(ask().reading.users.are_listed);
}

// Between the asking and Redis; changes bob's rights before the first ACL DRYRUN gets there.
class ChangedWhileAsked : public testing::Test {
 protected:
  ChangedWhileAsked() {
    relay_ = std::jthread([this] { relay(); });
  }
  void TearDown() override {
    client_.reset();
    relay_.join();
  }

  void relay() {
    harness::RawClient redis = redis_.client();
    std::string buffer(1U << 20U, ' ');
    for (ssize_t size = 0; (size = ::read(asking_.get(), buffer.data(), buffer.size())) > 0;) {
      const std::string_view asked(buffer.data(), static_cast<std::size_t>(size));
      if (asked.contains("DRYRUN") && !meanwhile_.empty()) {
        redis_.call({"ACL", "SETUSER", "bob", std::exchange(meanwhile_, {})});
      }
      redis.send(asked);
      const std::string replies = redis.read_replies(harness::count_in(asked, "\r\n*") + 1);
      asking_.send(replies);
    }
  }

  redis::Users users() {
    const std::vector<std::string> names{"default", "bob"};
    return inquiry_->ask(names).value().reading.users;
  }

  harness::RedisServer redis_;
  const io::Port port_;
  std::string meanwhile_;
  std::unique_ptr<RedisClient> client_{client_at(port_.number())};
  const io::Fd asking_{port_.accept()};
  std::optional<Inquiry> inquiry_;
  std::jthread relay_;
};

TEST_F(ChangedWhileAsked, rights_are_not_those_that_they_are_changed_back_from) {
  inquiry_.emplace(*client_, kQuestions);
  const auto set_bob = [this] {
    redis_.call({"ACL", "SETUSER", "bob", "reset", "on", "nopass", "+mget", "~user:*"});
  };
  set_bob();
  meanwhile_ = "+get";
  EXPECT_EQ(users().find("bob"), nullptr);
  EXPECT_EQ(meanwhile_, "") << "DRYRUN was asked";
  set_bob();
  const redis::Users known = users();
  ASSERT_NE(known.find("bob"), nullptr);
  EXPECT_EQ(writable(*known.find("bob")), (May{false, true, false, false, false}));
}

TEST_F(InquiryTest, all_of_them_are_asked_without_a_look_at_keys) {
  bob_with("+get ~user:*");
  EXPECT_EQ(redis_.info("stats", "keyspace_misses"), "0");
  EXPECT_EQ(redis_.info("stats", "keyspace_hits"), "0");
}

class RenamedCommands : public InquiryTest {
 protected:
  RenamedCommands()
      : InquiryTest({"--rename-command", "GET", "FETCH", "--rename-command", "MGET", ""}) {}
};

TEST_F(RenamedCommands, are_not_there_under_their_old_names) {
  EXPECT_EQ(some_of(ask().reading.commands->listed), (May{false, false, true, true, true}));
}

TEST_F(InquiryTest, what_redis_refuses_to_tell_is_not_known) {
  redis_.call({"ACL", "SETUSER", "default", "-info", "-command", "-dbsize", "-acl"});
  const Answers answers = ask();
  EXPECT_TRUE(answers.reading.users.unrestricted.empty());
  EXPECT_TRUE(answers.reading.users.restricted.empty());
  EXPECT_FALSE(answers.reading.commands);
  EXPECT_EQ(answers.is_cluster, false) << "HELLO needs no permission";
  EXPECT_EQ(answers.reading.is_master, true);
}

}  // namespace
}  // namespace cuckooguard::upstream
