// Scripts and functions run in Redis with Redis's own eyes; keys that they are given to write are
// found behind them.

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "fixtures/side_by_side.h"
#include "harness/redis_command.h"

namespace cuckooguard::harness {
namespace {

constexpr std::string_view kGet = "return redis.call('get', KEYS[1])";
constexpr std::string_view kSet = "return redis.call('set', KEYS[1], ARGV[1])";
constexpr std::string_view kLibrary =
    "#!lua name=shop\n"
    "redis.register_function('put', function(keys, args)\n"
    "  return redis.call('set', keys[1], args[1])\n"
    "end)\n"
    "redis.register_function{function_name='look', flags={'no-writes'}, callback=function(keys)\n"
    "  return redis.call('get', keys[1])\n"
    "end}\n";

class Scripts : public SideBySide {
 protected:
  Scripts() { client_.expect_answered(); }

  // The digest in SCRIPT LOAD's reply.
  std::string load(std::string_view script) {
    return client_.same({"SCRIPT", "LOAD", script}).substr(5, 40);
  }

  Connection client_ = connect();
};

TEST_F(Scripts, see_what_redis_has) {
  client_.same({"EVAL", kGet, "1", absent_user()});
  client_.same({"EVAL", kGet, "1", user(1)});
  client_.same({"EVAL_RO", kGet, "1", absent_user(1)});
  client_.same({"EVAL", "return redis.call('mget', unpack(KEYS))", "2", absent_user(2), user(1)});
  client_.same({"EVAL", "return redis.call('exists', KEYS[1])", "1", absent_user(3)});
  client_.same({"EVALSHA", load(kGet), "1", user(1)});
  client_.same({"EVALSHA_RO", load(kGet), "1", absent_user(4)});
  client_.expect_answered();
}

TEST_F(Scripts, that_only_read_leave_their_keys_guarded) {
  const std::string key = absent_user(100);
  client_.same({"EVAL_RO", kGet, "1", key});
  client_.same({"EVALSHA_RO", load(kGet), "1", key});
  client_.same({"FUNCTION", "LOAD", kLibrary});
  client_.same({"FCALL_RO", "look", "1", key});
  EXPECT_EQ(client_.guarded().call({"GET", key}), absent_reply());
}

TEST_F(Scripts, that_may_write_let_their_keys_pass) {
  const std::string digest = load(kSet);
  client_.same({"FUNCTION", "LOAD", kLibrary});
  const std::vector<std::vector<std::string_view>> writes{
      {"EVAL", kSet, "1", "KEY", "a"},
      {"eval", kSet, "1", "KEY", "a"},
      {"EVALSHA", digest, "1", "KEY", "a"},
      {"FCALL", "put", "1", "KEY", "a"},
      {"EVAL", "redis.call('set', KEYS[2], 'a'); return 1", "2", "other", "KEY"},
  };
  std::uint64_t next = 200;
  for (std::vector<std::string_view> write : writes) {
    const std::string key = absent_user(next++);
    EXPECT_EQ(client_.guarded().call({"GET", key}), absent_reply()) << write.front();
    std::ranges::replace(write, "KEY", std::string_view(key));
    client_.same(command(write) + command({"GET", key}), 2);
    EXPECT_EQ(connect().same({"GET", key}), bulk("a")) << write.front();
  }
  client_.expect_answered();
}

TEST_F(Scripts, inside_multi_let_their_keys_pass_too) {
  const std::string key = absent_user(300);
  client_.same(command({"MULTI"}) + command({"EVAL", kSet, "1", key, "a"}) + command({"EXEC"}) +
                   command({"GET", key}),
               4);
  EXPECT_EQ(client_.same({"GET", key}), bulk("a"));
  client_.expect_answered();
}

TEST_F(Scripts, longer_than_a_command_that_is_held_let_their_keys_pass_too) {
  const std::string script = "-- " + std::string(200'000, 'x') + "\n" + std::string(kSet);
  const std::string key = absent_user(301);
  client_.same(command({"EVAL", script, "1", key, "a"}) + command({"GET", key}), 2);
  EXPECT_EQ(connect().same({"GET", key}), bulk("a"));
  client_.expect_answered();
}

TEST_F(Scripts, that_name_more_keys_than_they_have_are_refused) {
  client_.same({"EVAL", kGet, "2", absent_user()});
  client_.same({"EVAL", kGet, "-1", absent_user()});
  client_.same({"EVAL", kGet, "x", absent_user()});
  client_.same({"EVAL", kGet});
  client_.same({"EVAL", "no lua", "0"});
  client_.same({"EVALSHA", std::string(40, '0'), "0"});
  client_.same({"EVALSHA", "short", "0"});
  client_.same({"FCALL", "nosuch", "0"});
  client_.expect_answered();
}

TEST_F(Scripts, give_replies_of_every_type) {
  for (const std::string_view version : {"3", "2"}) {
    client_.same({"HELLO", version});
    client_.same({"EVAL", "return {1, 'two', {3, {}}, false, {ok='fine'}, {err='MY own'}}", "0"});
    client_.same({"EVAL", "redis.setresp(3); return {double=3.5}", "0"});
    client_.same({"EVAL", "redis.setresp(3); return {map={a=1}}", "0"});
    client_.same({"EVAL", "redis.setresp(3); return redis.call('hgetall', 'none')", "0"});
    client_.same({"EVAL", "return redis.error_reply('MY error')", "0"});
    client_.same({"EVAL", "return redis.call('nosuch')", "0"});
    client_.same({"EVAL", "return string.rep('x', 300000)", "0"});
    client_.same({"EVAL", "return", "0"});
    client_.expect_answered();
  }
}

TEST_F(Scripts, are_kept_and_forgotten_by_redis) {
  const std::string digest = load(kGet);
  client_.same({"SCRIPT", "EXISTS", digest, std::string(40, 'f')});
  client_.same({"SCRIPT", "FLUSH"});
  client_.same({"SCRIPT", "EXISTS", digest});
  client_.same({"EVALSHA", digest, "1", absent_user()});
  client_.same({"SCRIPT", "NOSUCH"});
  client_.expect_answered();
}

TEST_F(Scripts, of_libraries_are_listed_dumped_and_deleted) {
  client_.same({"FUNCTION", "LOAD", kLibrary});
  client_.same({"FUNCTION", "LOAD", kLibrary});
  client_.same({"FUNCTION", "LOAD", "REPLACE", kLibrary});
  client_.same({"FCALL", "look", "1", user(1)});
  client_.same({"FCALL", "look", "1", absent_user()});
  client_.same({"FUNCTION", "LIST", "LIBRARYNAME", "none"});
  client_.same({"FUNCTION", "STATS"});
  client_.same({"FUNCTION", "DUMP"});
  client_.same({"FUNCTION", "DELETE", "shop"});
  client_.same({"FCALL", "look", "1", user(1)});
  client_.expect_answered();
}

}  // namespace
}  // namespace cuckooguard::harness
