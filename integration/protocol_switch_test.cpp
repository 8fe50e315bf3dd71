// HELLO on a live connection: from its reply on, replies are of the new protocol, Redis's and the
// guard's.

#include <string>

#include <gtest/gtest.h>

#include "fixtures/side_by_side.h"
#include "harness/redis_command.h"

namespace cuckooguard::harness {
namespace {

class ProtocolSwitch : public SideBySide {
 protected:
  // `mget` of an absent key and one that is not there in Redis either: the null is of the protocol.
  void expect_answered_in(std::string_view null) {
    client_.expect_answered();
    EXPECT_EQ(client_.guarded().call({"MGET", absent_user(), user(77), user(1)}),
              "*3\r\n" + absent_reply() + std::string(null) + bulk("one"));
    EXPECT_EQ(client_.guarded().call({"EXISTS", absent_user()}), ":0\r\n");
    client_.same({"GET", user(77)});
    client_.same({"CONFIG", "GET", "maxmemory"});  // array or map
  }

  Connection client_ = connect();
};

TEST_F(ProtocolSwitch, forth_and_back_on_one_connection) {
  for (int round = 0; round < 3; ++round) {
    client_.same({"HELLO", "3"});
    expect_answered_in("_\r\n");
    client_.same({"HELLO"});  // asks only
    expect_answered_in("_\r\n");
    client_.same({"hello", "2"});
    expect_answered_in(kNil);
    client_.same({"HELLO"});
    expect_answered_in(kNil);
  }
}

// While the reply is on its way what follows is Redis's.
TEST_F(ProtocolSwitch, within_a_pipeline_is_in_its_place) {
  const std::string mget = command({"MGET", absent_user(), user(1), user(77)});
  client_.same(command({"HELLO", "3"}) + get_absent() + mget + command({"HELLO", "2"}) +
                   get_absent() + mget + command({"HELLO", "3"}) + get_absent() + mget,
               9);
  expect_answered_in("_\r\n");
}

TEST_F(ProtocolSwitch, with_a_name_and_a_user) {
  client_.same({"HELLO", "3", "SETNAME", "somebody"});
  client_.same({"CLIENT", "GETNAME"});
  expect_answered_in("_\r\n");
  client_.same({"HELLO", "2", "AUTH", "default", "any word", "SETNAME", "another"});
  client_.same({"CLIENT", "GETNAME"});
  client_.same({"ACL", "WHOAMI"});
  expect_answered_in(kNil);
  client_.same({"HELLO", "3", "setname", "third", "auth", "default", ""});
  expect_answered_in("_\r\n");
}

// What a refused HELLO leaves behind is nothing where the version was wrong, else not always; RESET
// makes it certain.
TEST_F(ProtocolSwitch, refused_ones_get_redis_words_and_leave_the_protocol) {
  client_.same({"HELLO", "3"});
  for (const std::string_view version : {"4", "1", "three", "", "-3", "3.0"}) {
    client_.same({"HELLO", version});
    expect_answered_in("_\r\n");
  }
  client_.same({"HELLO", "2", "NOSUCH"});
  client_.same({"HELLO", "2", "AUTH", "nobody", "word"});
  client_.same({"HELLO", "2", "SETNAME", "not a name"});
  client_.same({"HELLO", "2", "SETNAME"});
  client_.same({"GET", user(77)});
  client_.same({"RESET"});
  expect_answered_in(kNil);
}

TEST_F(ProtocolSwitch, a_refused_login_in_hello_is_over_with_the_next_good_one) {
  client_.same({"HELLO", "3", "AUTH", "nobody", "word"});
  client_.same({"HELLO", "3", "AUTH", "default", "word"});
  expect_answered_in("_\r\n");
}

TEST_F(ProtocolSwitch, replies_of_every_resp3_type_are_relayed) {
  for (const std::string_view version : {"3", "2"}) {
    client_.same({"HELLO", version});
    for (const std::string_view type : {"string",
                                        "integer",
                                        "double",
                                        "null",
                                        "array",
                                        "set",
                                        "map",
                                        "attrib",
                                        "verbatim",
                                        "true",
                                        "false",
                                        "bignum"}) {
      client_.same({"DEBUG", "PROTOCOL", type});
      client_.expect_answered();
    }
  }
  client_.same({"HELLO", "3"});
  client_.same_through(command({"DEBUG", "PROTOCOL", "push"}) + command({"ECHO", "end"}),
                       bulk("end"));
  client_.expect_answered();
}

TEST_F(ProtocolSwitch, is_each_connection_s_own) {
  Connection other = connect();
  client_.same({"HELLO", "3"});
  other.same({"GET", user(77)});
  other.expect_answered();
  expect_answered_in("_\r\n");
  connect().same({"GET", user(77)});
}

TEST_F(ProtocolSwitch, ends_with_reset) {
  client_.same({"HELLO", "3", "SETNAME", "somebody"});
  client_.same(command({"RESET"}) + command({"GET", user(77)}) + command({"CLIENT", "GETNAME"}), 3);
  expect_answered_in(kNil);
}

}  // namespace
}  // namespace cuckooguard::harness
