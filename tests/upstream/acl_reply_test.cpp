#include <gtest/gtest.h>

#include "reply_text.h"
#include "upstream/inquiry.h"
#include "upstream/redis_reply.h"

namespace cuckooguard::upstream {
namespace {

AclUser user_with_keys(std::vector<std::string> keys) {
  return {.flags = {"on"}, .commands = "+@all", .keys = std::move(keys), .has_selectors = false};
}

TEST(AclReply, is_read_as_redis_7_writes_it) {
  const Reply reply = reply_of(array(bulk("flags"),
                                     array(bulk("on"), bulk("sanitize-payload")),
                                     bulk("passwords"),
                                     array(bulk("2d71")),
                                     bulk("commands"),
                                     bulk("-@all +@read +set"),
                                     bulk("keys"),
                                     bulk("%R~user:* ~app:* %W~w:*"),
                                     bulk("channels"),
                                     bulk(""),
                                     bulk("selectors"),
                                     array(array(bulk("commands"), bulk("-@all +get")))));
  const AclUser user = acl_user_of(*reply);
  EXPECT_TRUE(user.has("on"));
  EXPECT_FALSE(user.has("nopass"));
  EXPECT_EQ(user.commands, "-@all +@read +set");
  EXPECT_EQ(user.keys, (std::vector<std::string>{"%R~user:*", "~app:*", "%W~w:*"}));
  EXPECT_TRUE(user.has_selectors);
}

TEST(AclReply, of_a_list_is_read_as_redis_7_writes_it) {
  constexpr std::string_view kLine =
      "user app on skip-sanitize-payload #50e721e4 ~user:* %R~x* resetchannels &c* -@all +@read "
      "+config|get -get (~a* resetchannels -@all +get)";
  EXPECT_EQ(acl_name_in(kLine), "app");
  EXPECT_EQ(acl_user_in(kLine),
            (AclUser{.flags = {"on", "skip-sanitize-payload"},
                     .commands = "-@all +@read +config|get -get",
                     .keys = {"~user:*", "%R~x*"},
                     .has_selectors = true}));
  EXPECT_EQ(acl_user_in("user default on nopass ~* &* +@all"),
            (AclUser{.flags = {"on", "nopass"}, .commands = "+@all", .keys = {"~*"}}));
  EXPECT_EQ(acl_user_in("user app on nopass ~* &* db=0,1 +@all"), std::nullopt) << "Valkey 9.1";
  EXPECT_EQ(acl_name_in("another line"), "");
}

TEST(AclReply, is_read_as_redis_6_writes_it) {
  const Reply reply = reply_of(array(bulk("flags"),
                                     array(bulk("on"), bulk("allkeys"), bulk("nopass")),
                                     bulk("passwords"),
                                     array(),
                                     bulk("commands"),
                                     bulk("+@all"),
                                     bulk("keys"),
                                     array(bulk("*"), bulk("%R~x*"))));
  const AclUser user = acl_user_of(*reply);
  EXPECT_TRUE(user.has("nopass"));
  EXPECT_EQ(user.keys, (std::vector<std::string>{"~*", "~%R~x*"}));
  EXPECT_FALSE(user.has_selectors);
  EXPECT_TRUE(may_run_every_command(user));
}

TEST(AclReply, of_a_user_whom_valkey_keeps_out_of_databases_allows_nothing) {
  const std::vector<std::string> any{""};
  for (const std::string_view databases : {"alldbs", "db=0,1", ""}) {
    const Reply reply = reply_of(array(bulk("flags"),
                                       array(bulk("on"), bulk("nopass")),
                                       bulk("commands"),
                                       bulk("+@all"),
                                       bulk("keys"),
                                       bulk("~*"),
                                       bulk("channels"),
                                       bulk("&*"),
                                       bulk("databases"),
                                       bulk(databases),
                                       bulk("selectors"),
                                       array()));
    const AclUser user = acl_user_of(*reply);
    const bool may_all = databases == "alldbs";
    EXPECT_TRUE(user.has("nopass"));
    EXPECT_EQ(may_run_every_command(user), may_all) << databases;
    EXPECT_EQ(key_access(user, any),
              may_all ? redis::KeyAccess::read_write : redis::KeyAccess::none)
        << databases;
  }
}

TEST(AclReply, of_a_strange_shape_allows_nothing) {
  const std::vector<std::string> any{""};
  for (const std::string& bytes : kStrange) {
    const AclUser user = acl_user_of(*reply_of(bytes));
    EXPECT_FALSE(user.has("on")) << bytes;
    EXPECT_FALSE(may_run_every_command(user)) << bytes;
    EXPECT_EQ(key_access(user, any), redis::KeyAccess::none) << bytes;
  }
}

TEST(AclReply, every_command_is_said_only_of_who_lacks_none) {
  EXPECT_TRUE(may_run_every_command({.commands = "+@all"}));
  for (const char* const less :
       {"+@all -debug", "-@all +@all", "-@all +get", "-@all", "+@ALL", ""}) {
    EXPECT_FALSE(may_run_every_command({.commands = less})) << less;
  }
}

TEST(AclReply, who_may_write_nothing_is_said_only_of_who_may_run_what_is_harmless) {
  const std::set<std::string, std::less<>> harmless{"get", "client", "ping"};
  for (const char* const nothing :
       {"-@all", "-@all +ping", "-@all +@read -mget", "-@all +client|reply +get"}) {
    EXPECT_FALSE(may_write({.commands = nothing}, harmless)) << nothing;
    EXPECT_TRUE(may_write({.commands = nothing, .has_selectors = true}, harmless)) << nothing;
  }
  for (const char* const something : {"",
                                      "+@all",
                                      "+@all -@write",
                                      "-@all +set",
                                      "-@all +ping +eval",
                                      "-@all +@write",
                                      "-@all +@fast",
                                      "-@all +xgroup|create"}) {
    EXPECT_TRUE(may_write({.commands = something}, harmless)) << something;
  }
}

struct AccessCase {
  const char* pattern;
  const char* prefix;
  redis::KeyAccess access;
};

class KeyPattern : public testing::TestWithParam<AccessCase> {};

TEST_P(KeyPattern, gives_access_to_prefixes_that_it_covers_for_certain) {
  const std::vector<std::string> prefixes{GetParam().prefix};
  EXPECT_EQ(key_access(user_with_keys({GetParam().pattern}), prefixes), GetParam().access)
      << GetParam().pattern << " of " << GetParam().prefix;
}

constexpr auto kNone = redis::KeyAccess::none;
constexpr auto kRead = redis::KeyAccess::read;
constexpr auto kReadWrite = redis::KeyAccess::read_write;

INSTANTIATE_TEST_SUITE_P(AclReply,
                         KeyPattern,
                         testing::Values(AccessCase{"~*", "user:", kReadWrite},
                                         AccessCase{"~*", "", kReadWrite},
                                         AccessCase{"~user:*", "user:", kReadWrite},
                                         AccessCase{"~use*", "user:", kReadWrite},
                                         AccessCase{"~user:1*", "user:", kNone},
                                         AccessCase{"~user:", "user:", kNone},
                                         AccessCase{"~user:*", "", kNone},
                                         AccessCase{"%R~user:*", "user:", kRead},
                                         AccessCase{"%R~*", "user:", kRead},
                                         AccessCase{"%RW~user:*", "user:", kReadWrite},
                                         AccessCase{"%WR~user:*", "user:", kReadWrite},
                                         AccessCase{"%W~user:*", "user:", kNone},
                                         AccessCase{"%W~*", "user:", kNone},
                                         AccessCase{"~u?er:*", "user:", kNone},
                                         AccessCase{"~u[s]er:*", "user:", kNone},
                                         AccessCase{"~user\\:*", "user:", kNone},
                                         // What is a pattern to Redis is no text.
                                         AccessCase{"~user\\:*", "user\\:", kNone},
                                         AccessCase{"~u?er:*", "u?er:", kNone},
                                         AccessCase{"~u[s]er:*", "u[s]er:", kNone},
                                         AccessCase{"~u*r:*", "u*r:", kNone},
                                         AccessCase{"~*:*", "user:", kNone},
                                         AccessCase{"~user:**", "user:", kNone},
                                         AccessCase{"~user:*:p", "user:", kNone},
                                         AccessCase{"~User:*", "user:", kNone},
                                         AccessCase{"~", "user:", kNone},
                                         AccessCase{"*", "user:", kNone},
                                         AccessCase{"", "user:", kNone}));

TEST(AclReply, who_may_read_no_key_is_said_only_of_who_surely_may_not) {
  const std::vector<std::string> prefixes{"user:", "u:"};
  const auto may = [&](std::vector<std::string> keys) {
    AclUser user = user_with_keys(std::move(keys));
    user.flags = {"on"};
    return may_read_some_key(user, prefixes);
  };
  for (const char* const other : {"~cart:*", "%W~*", "%W~user:*", "~userx*", "%R~tag:1"}) {
    EXPECT_FALSE(may({other})) << other;
  }
  EXPECT_FALSE(may({}));
  for (const char* const some :
       {"~*", "~us[e]r:*", "~user:1", "~u:*", "%R~u*", "~user\\:*", "~?ser:*"}) {
    EXPECT_TRUE(may({"~cart:*", some})) << some;
  }
  EXPECT_TRUE(may_read_some_key({.flags = {"on"}, .has_selectors = true}, prefixes));
  EXPECT_TRUE(may_read_some_key({.flags = {"off"}}, prefixes)) << "who has logged in stays so";
}

TEST(AclReply, the_best_pattern_counts_for_a_prefix_and_the_worst_prefix_for_a_namespace) {
  const AclUser user = user_with_keys({"%R~*", "~user:*", "%W~cart:*"});
  const auto access = [&user](std::vector<std::string> prefixes) {
    return key_access(user, prefixes);
  };
  EXPECT_EQ(access({"user:"}), kReadWrite);
  EXPECT_EQ(access({"cart:"}), kRead);
  EXPECT_EQ(access({"user:", "cart:"}), kRead);
  EXPECT_EQ(key_access(user_with_keys({"~user:*"}), std::vector<std::string>{"user:", "u:"}),
            kNone);
  EXPECT_EQ(access({}), kNone);
}

TEST(AclReply, who_is_off_needs_more_than_no_password) {
  EXPECT_TRUE((AclUser{.flags = {"on", "nopass"}}).needs_no_password());
  EXPECT_FALSE((AclUser{.flags = {"off", "nopass"}}).needs_no_password());
  EXPECT_FALSE((AclUser{.flags = {"on"}}).needs_no_password());
}

}  // namespace
}  // namespace cuckooguard::upstream
