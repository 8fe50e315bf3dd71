// What becomes of a FilterLog whose Redis is not what it was: by a crash, or by somebody's hand.
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "filled/log_reader.h"
#include "logged_guard.h"
#include "replicated/filter_log.h"

namespace cuckooguard::replicated {
namespace {

using testing::HasSubstr;
using Status = Outcome::Status;

// A bulk string of a reply.
std::string text_in(const std::string& reply) {
  const std::size_t begin = reply.find("\r\n") + 2;
  return reply.substr(begin, reply.size() - begin - 2);
}

// The value after a field of one entry in a reply to XRANGE.
std::string field_in(const std::string& reply, char name) {
  const std::string before = std::string("$1\r\n") + name + "\r\n$";
  const std::size_t size_at = reply.find(before) + before.size();
  const std::size_t begin = reply.find("\r\n", size_at) + 2;
  return reply.substr(begin, std::stoul(reply.substr(size_at)));
}

// The one that was appended as number `seq`; then put there once more, under another number.
void copy_entry(const RedisServer& redis, std::size_t place, std::uint64_t seq) {
  std::string begin = "-";
  std::string reply;
  for (std::size_t i = 0; i <= place; ++i) {
    reply = redis.call({"XRANGE", kLog, begin, "+", "COUNT", "1"});
    const std::size_t id = reply.find("*2\r\n$") + 5;
    begin = "(" + reply.substr(reply.find("\r\n", id) + 2, std::stoul(reply.substr(id)));
  }
  const auto field = [&](char name) { return field_in(reply, name); };
  redis.call({"XADD",
              kLog,
              "*",
              "s",
              std::to_string(seq),
              "w",
              field('w'),
              "c",
              field('c'),
              "a",
              field('a'),
              "b",
              field('b'),
              "t",
              field('t')});
}

// An item that another guard adds, of which this one has not heard.
void append_as_another(const RedisServer& redis,
                       const LoggedGuard& guard,
                       std::uint64_t seq,
                       const std::string& id = "*") {
  filled::Entry entry{.seq = seq,
                      .writer = std::string(filled::kWriterBytes, 'w'),
                      .counter = seq,
                      .after = seq - 1,
                      .body = filled::body_of(std::vector<Operation>{
                          guard.operation(Operation::Kind::add_if_new, numbered(seq))})};
  const std::string generation = text_in(redis.call({"HGET", kMeta, "generation"}));
  entry.tag = filled::LogKey(with_key().key).tag_of(entry, generation);
  std::string script(append_script());
  script.replace(script.find("'*'"), 3, "'" + id + "'");
  EXPECT_EQ(redis.call({"EVAL",
                        script,
                        "2",
                        kMeta,
                        kLog,
                        generation,
                        std::to_string(entry.after),
                        "65536",
                        entry.writer,
                        std::to_string(entry.counter),
                        entry.body,
                        entry.tag}),
            ":" + std::to_string(seq) + "\r\n");
}

// The least that an entry behind the first one can have.
std::string id_after_first(const RedisServer& redis) {
  const std::string reply = redis.call({"XRANGE", kLog, "-", "+", "COUNT", "1"});
  const std::size_t begin = reply.find("\r\n", reply.find('$')) + 2;
  return reply.substr(begin, reply.find('-', begin) - begin) + "-1";
}

TEST(FilterLogHistory, a_redis_that_comes_back_empty_begins_a_generation_without_filters) {
  const RedisServer redis;
  LoggedGuard guard(redis);
  LoggedGuard other(redis);
  ASSERT_TRUE(is_done(guard.add_if_new("a")));
  ASSERT_TRUE(other.catches_up_with(guard));
  const std::string before = guard.status().generation;
  redis.call({"FLUSHALL"});
  ASSERT_TRUE(eventually([&] { return guard.generations() == 2 && other.generations() == 2; }));
  EXPECT_NE(guard.status().generation, before);
  EXPECT_EQ(guard.status().generation, other.status().generation);
  EXPECT_FALSE(guard.has("a") || other.has("a"));
  EXPECT_TRUE(is_done(other.add_if_new("a")));
  EXPECT_TRUE(is_not_new(guard.add_if_new("a")));
  EXPECT_EQ(guard.troubles(), "") << "Redis is the truth";
}

TEST(FilterLogHistory, what_nobody_with_the_key_has_written_does_not_count) {
  const RedisServer redis;
  LoggedGuard guard(redis);
  ASSERT_TRUE(is_done(guard.add_if_new("a")));
  const std::string drop =
      filled::body_of(std::vector<Operation>{{.kind = Operation::Kind::drop, .filter = "seen"}});
  redis.call({"XADD",
              kLog,
              "*",
              "s",
              "2",
              "w",
              std::string(16, 'x'),
              "c",
              "1",
              "a",
              "1",
              "b",
              drop,
              "t",
              std::string(32, 't')});
  redis.call({"XADD", kLog, "*", "of", "another kind"});
  ASSERT_TRUE(eventually([&] { return guard.status().skipped == 2; }));
  EXPECT_THAT(guard.troubles(), HasSubstr("not signed with the guards' key"));
  EXPECT_TRUE(guard.has("a"));
  EXPECT_TRUE(is_done(guard.add_if_new("b")));
  LoggedGuard newcomer(redis);
  ASSERT_TRUE(newcomer.catches_up_with(guard));
  EXPECT_EQ(newcomer.dump(), guard.dump());
  EXPECT_EQ(guard.status().rereads + newcomer.status().rereads, 0U);
}

TEST(FilterLogHistory, a_copy_of_what_was_once_asked_for_is_not_done_again) {
  const RedisServer redis;
  LoggedGuard guard(redis);
  ASSERT_TRUE(is_done(guard.add_if_new("a")));
  ASSERT_TRUE(is_done(guard.call(guard.operation(Operation::Kind::erase, "a"))));
  ASSERT_TRUE(is_done(guard.add_if_new("a")));
  copy_entry(redis, 1, 4);  // the erasure
  copy_entry(redis, 1, 2);
  ASSERT_TRUE(eventually([&] { return guard.status().skipped == 2; }));
  EXPECT_TRUE(guard.has("a"));
  EXPECT_TRUE(is_done(guard.add_if_new("b")));
  LoggedGuard newcomer(redis);
  ASSERT_TRUE(newcomer.catches_up_with(guard));
  EXPECT_TRUE(newcomer.has("a"));
  EXPECT_EQ(guard.status().rereads + newcomer.status().rereads, 0U);
}

// As after a failover to a replica that did not have it yet.
TEST(FilterLogHistory, the_end_that_redis_has_lost_is_forgotten_by_all) {
  RedisServer redis;
  LoggedGuard guard(redis);
  LoggedGuard other(redis);
  for (std::size_t i = 0; i < 10; ++i) {
    ASSERT_TRUE(is_done(guard.add_if_new(numbered(i))));
  }
  redis.call({"SAVE"});
  ASSERT_TRUE(is_done(guard.add_if_new("lost")));
  ASSERT_TRUE(eventually([&] { return other.has("lost"); }));
  redis.kill();
  redis.start_again();
  ASSERT_TRUE(eventually([&] { return !guard.has("lost") && !other.has("lost"); }));
  ASSERT_TRUE(guard.becomes(State::ready));
  EXPECT_TRUE(is_done(guard.add_if_new("lost")));
  EXPECT_TRUE(other.catches_up_with(guard));
  EXPECT_EQ(guard.dump(), other.dump());
  EXPECT_TRUE(guard.has(numbered(0)));
  EXPECT_THAT(guard.troubles(), HasSubstr("lost the end of the log: it has 10 entries of 11"));
  EXPECT_GE(other.status().rereads, 1U);
}

// To a master that has never got the end of the log, and has got another one since.
class Switched : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Clocks,
                         Switched,
                         testing::Values("as_before", "behind"),
                         [](const auto& test) { return std::string(test.param); });

TEST_P(Switched, the_end_that_the_new_master_has_never_had_is_forgotten) {
  const RedisServer old({"--repl-diskless-sync-delay", "0"});
  const RedisServer replica({"--replicaof", "127.0.0.1 " + std::to_string(old.port())});
  LoggedGuard guard(old);
  LoggedGuard other(old);
  ASSERT_TRUE(is_done(guard.add_if_new("common")));
  ASSERT_TRUE(eventually([&] { return replica.call({"XLEN", kLog}) == ":1\r\n"; }));
  ASSERT_TRUE(other.catches_up_with(guard));
  other.follow(replica);  // which is none yet: it waits there
  ASSERT_TRUE(other.becomes(State::lost));
  replica.call({"REPLICAOF", "NO", "ONE"});
  ASSERT_TRUE(is_done(guard.add_if_new("lost")));
  for (std::size_t i = 0; i < 3; ++i) {
    // The entry in place of the one that is lost is before it.
    const std::string id =
        i == 0 && GetParam() == std::string("behind") ? id_after_first(replica) : "*";
    append_as_another(replica, guard, i + 2, id);
  }
  EXPECT_TRUE(guard.has("lost") && guard.is_current()) << "it has not heard of it";
  guard.follow(replica);
  ASSERT_TRUE(other.becomes(State::ready));
  ASSERT_TRUE(is_done(other.add_if_new("new")));
  ASSERT_TRUE(eventually([&] { return guard.has("new") && guard.is_current(); }));
  EXPECT_FALSE(guard.has("lost"));
  EXPECT_GE(guard.status().rereads, 1U);
  EXPECT_EQ(other.status().rereads, 0U);
  EXPECT_TRUE(other.catches_up_with(guard) && guard.catches_up_with(other));
  EXPECT_EQ(guard.dump(), other.dump());
  EXPECT_TRUE(is_done(guard.add_if_new("lost"))) << "and is acknowledged again";
}

// Which may be a master of before: all that it has may be old.
TEST(FilterLogHistory, what_must_not_be_written_to_tells_nothing) {
  const RedisServer redis;
  const RedisServer another;
  LoggedGuard guard(redis);
  const auto expect_lost = [&](const std::string& why) {
    ASSERT_TRUE(eventually([&] { return !guard.is_current() && guard.status().why.contains(why); }))
        << guard.status().why;
  };
  const auto expect_current = [&] { ASSERT_TRUE(eventually([&] { return guard.is_current(); })); };
  expect_current();
  redis.call({"CONFIG", "SET", "min-replicas-to-write", "1"});
  expect_lost("NOREPLICAS");
  redis.call({"CONFIG", "SET", "min-replicas-to-write", "0"});
  expect_current();
  redis.call({"REPLICAOF", "127.0.0.1", std::to_string(another.port())});
  expect_lost("READONLY");
}

// Those who were away meanwhile find as many entries as they know, and more.
TEST(FilterLogHistory, another_history_of_the_same_length_is_noticed) {
  RedisServer redis;
  LoggedGuard guard(redis);
  ASSERT_TRUE(is_done(guard.add_if_new("common")));
  redis.call({"SAVE"});
  ASSERT_TRUE(is_done(guard.add_if_new("lost")));
  // Away: it does not get in before others have written.
  redis.kill();
  redis.start_again_as({"--requirepass", "secret"}, "secret");
  for (std::uint64_t seq = 2; seq <= 4; ++seq) {
    append_as_another(redis, guard, seq);
  }
  EXPECT_EQ(guard.status().state, State::lost);
  redis.call({"CONFIG", "SET", "requirepass", ""});
  ASSERT_TRUE(eventually([&] { return guard.has(numbered(4)) && guard.is_current(); }));
  EXPECT_FALSE(guard.has("lost"));
  EXPECT_TRUE(guard.has("common") && guard.has(numbered(2)));
  EXPECT_GE(guard.status().rereads, 1U);
}

TEST(FilterLogHistory, an_entry_in_place_of_the_one_that_is_known_is_noticed) {
  const RedisServer redis;
  LoggedGuard guard(redis);
  ASSERT_TRUE(is_done(guard.add_if_new("a")));
  const std::string tag = text_in(redis.call({"HGET", kMeta, "tag"}));
  redis.call({"HSET", kMeta, "tag", "of another one"});
  ASSERT_TRUE(eventually([&] { return guard.status().rereads > 1 && !guard.is_current(); }));
  EXPECT_THAT(guard.troubles(), HasSubstr("a different history"));
  redis.call({"HSET", kMeta, "tag", tag});
  EXPECT_TRUE(eventually([&] { return guard.is_current(); }));
  EXPECT_TRUE(guard.has("a"));
}

TEST(FilterLogHistory, whoever_misses_entries_gets_them_from_a_guard_that_has_them) {
  const RedisServer redis;
  LoggedGuard guard(redis, {.snapshot_every = std::chrono::milliseconds(0)});
  for (std::size_t i = 0; i < 5; ++i) {
    ASSERT_TRUE(is_done(guard.add_if_new(numbered(i))));
  }
  redis.call({"XTRIM", kLog, "MAXLEN", "2"});
  LoggedGuard newcomer(redis);
  ASSERT_TRUE(newcomer.catches_up_with(guard));
  EXPECT_EQ(newcomer.dump(), guard.dump());
  EXPECT_THAT(newcomer.troubles(), HasSubstr("after entry 0 the log continues with 4"));
}

TEST(FilterLogHistory, a_guard_that_misses_entries_is_not_current_and_says_why) {
  const RedisServer redis;
  {
    LoggedGuard guard(redis);
    for (std::size_t i = 0; i < 5; ++i) {
      ASSERT_TRUE(is_done(guard.add_if_new(numbered(i))));
    }
  }
  redis.call({"XTRIM", kLog, "MAXLEN", "0"});
  LoggedGuard newcomer(redis);
  ASSERT_TRUE(eventually([&] { return newcomer.status().rereads > 1; }));
  EXPECT_FALSE(newcomer.is_current());
  EXPECT_THAT(newcomer.troubles(),
              HasSubstr("entries of the log are missing in Redis: it has 0 of 5"));
}

TEST(FilterLogHistory, a_damaged_snapshot_is_not_believed) {
  const RedisServer redis;
  LoggedGuard guard(redis, {.snapshot_entries = 5, .snapshot_every = std::chrono::milliseconds(0)});
  std::size_t items = 0;
  ASSERT_TRUE(eventually([&] {
    EXPECT_TRUE(is_done(guard.add_if_new(numbered(items++))));
    return guard.status().snapshot_seq > 0;
  }));
  ASSERT_TRUE(eventually([&] {  // no other one comes
    const auto status = guard.status();
    return status.seq - status.snapshot_seq < 5;
  }));
  const std::string piece =
      "{cuckooguard:filters}:snapshot:" + text_in(redis.call({"HGET", kMeta, "set"})) + ":0";
  const std::string whole = text_in(redis.call({"GET", piece}));
  redis.call({"SETRANGE", piece, "40", "?"});
  LoggedGuard newcomer(redis);
  ASSERT_TRUE(eventually([&] { return !newcomer.troubles().empty(); }));
  EXPECT_THAT(newcomer.troubles(), HasSubstr("was not written by a guard"));
  EXPECT_FALSE(newcomer.is_current());
  redis.call({"SET", piece, whole});
  EXPECT_TRUE(newcomer.catches_up_with(guard));
  EXPECT_EQ(newcomer.dump(), guard.dump());
}

TEST(FilterLogHistory, with_another_key_or_secret_nothing_is_read_or_written) {
  const RedisServer redis;
  LoggedGuard guard(redis);
  ASSERT_TRUE(is_done(guard.add_if_new("a")));
  LoggedGuard of_another_key(redis, {.key = "another key than the others"});
  LoggedGuard of_another_secret(redis, {}, secret(2));
  for (LoggedGuard* const other : {&of_another_key, &of_another_secret}) {
    ASSERT_TRUE(other->becomes(State::lost));
    EXPECT_THAT(other->status().why, HasSubstr("a different key or secret"));
    EXPECT_FALSE(other->is_current());
    EXPECT_EQ(other->add_if_new("b").status, Status::not_in_log);
  }
  EXPECT_TRUE(is_done(guard.add_if_new("b")));
  EXPECT_EQ(guard.status().rereads, 0U);
}

TEST(FilterLogHistory, guards_say_what_they_have_applied_and_agree) {
  const RedisServer redis;
  LoggedGuard guard(redis, {.digest_entries = 3});
  LoggedGuard other(redis, {.digest_entries = 4});
  for (std::size_t i = 0; i < 50; ++i) {
    ASSERT_TRUE(is_done((i % 2 == 0 ? guard : other).add_if_new(numbered(i))));
  }
  EXPECT_TRUE(eventually([&] { return guard.status().seq > 60; })) << "digests are entries";
  EXPECT_TRUE(other.catches_up_with(guard));
  EXPECT_EQ(guard.troubles() + other.troubles(), "");
}

TEST(FilterLogHistory, a_digest_that_differs_is_told_and_all_is_read_again) {
  const RedisServer redis;
  LoggedGuard guard(redis);
  ASSERT_TRUE(is_done(guard.add_if_new("a")));
  const std::string generation = guard.status().generation;
  filled::Entry entry{.writer = std::string(filled::kWriterBytes, 'w'),
                      .counter = 1,
                      .after = 1,
                      .body = filled::digest_body_of("of other filters")};
  entry.tag = filled::LogKey(with_key().key).tag_of(entry, generation);
  EXPECT_EQ(redis.call({"EVAL",
                        append_script(),
                        "2",
                        kMeta,
                        kLog,
                        generation,
                        "1",
                        "65536",
                        entry.writer,
                        "1",
                        entry.body,
                        entry.tag}),
            ":2\r\n");
  ASSERT_TRUE(eventually([&] { return guard.status().rereads == 1; }));
  EXPECT_THAT(guard.troubles(), HasSubstr("another guard has different filters"));
  ASSERT_TRUE(eventually([&] { return guard.is_current(); }));
  EXPECT_TRUE(guard.has("a"));
  EXPECT_TRUE(is_done(guard.add_if_new("b"))) << "it does not read it again for ever";
}

}  // namespace
}  // namespace cuckooguard::replicated
