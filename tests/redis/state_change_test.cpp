#include "redis/state_change.h"

#include <vector>

#include <gtest/gtest.h>

namespace cuckooguard::redis {
namespace {

using resp::Version;
using Words = std::vector<std::string_view>;

std::optional<StateChange> read(const Words& arguments, bool may_be_in_multi = false) {
  return state_change_of(find_command(arguments.front()), arguments, may_be_in_multi);
}

TEST(StateChange, select_names_a_db) {
  EXPECT_EQ(read({"SELECT", "0"})->kind, ChangeKind::select);
  EXPECT_EQ(read({"SELECT", "0"})->db, 0);
  EXPECT_EQ(read({"select", "15"})->db, 15);
}

TEST(StateChange, select_of_what_redis_takes_for_no_number_leads_to_no_db) {
  for (const Words& arguments : std::vector<Words>{{"SELECT"},
                                                   {"SELECT", ""},
                                                   {"SELECT", "01"},
                                                   {"SELECT", "+1"},
                                                   {"SELECT", " 1"},
                                                   {"SELECT", "1 "},
                                                   {"SELECT", "-1"},
                                                   {"SELECT", "-2"},
                                                   {"SELECT", "x"},
                                                   {"SELECT", "4294967296"},
                                                   {"SELECT", "1", "2"}}) {
    EXPECT_EQ(read(arguments)->kind, ChangeKind::select);
    EXPECT_EQ(read(arguments)->db, kNoDb) << testing::PrintToString(arguments);
  }
}

TEST(StateChange, auth_names_a_user) {
  EXPECT_EQ(read({"AUTH", "secret"})->kind, ChangeKind::auth);
  EXPECT_EQ(read({"AUTH", "secret"})->user, "default");
  EXPECT_EQ(read({"AUTH", "alice", "secret"})->user, "alice");
  EXPECT_EQ(read({"AUTH"})->kind, ChangeKind::unclear);
  EXPECT_EQ(read({"AUTH", "a", "b", "c"})->kind, ChangeKind::unclear);
}

TEST(StateChange, a_cluster_s_client_says_whom_it_wants_to_read_from) {
  EXPECT_EQ(read({"READONLY"})->kind, ChangeKind::readonly);
  EXPECT_EQ(read({"readwrite"})->kind, ChangeKind::readwrite);
  EXPECT_EQ(read({"ASKING"})->kind, ChangeKind::asking);
  EXPECT_EQ(read({"READONLY"}, true)->kind, ChangeKind::unknown) << "at EXEC, or never";
}

TEST(StateChange, hello_alone_only_asks) {
  EXPECT_FALSE(read({"HELLO"}));
}

TEST(StateChange, hello_names_a_version_and_perhaps_a_user) {
  EXPECT_EQ(read({"HELLO", "3"})->kind, ChangeKind::hello);
  EXPECT_EQ(read({"HELLO", "3"})->version, Version::resp3);
  EXPECT_FALSE(read({"HELLO", "3"})->authenticates);
  EXPECT_EQ(read({"HELLO", "2"})->version, Version::resp2);
  EXPECT_FALSE(read({"HELLO", "3", "SETNAME", "auth"})->authenticates);

  const auto change = read({"HELLO", "3", "SETNAME", "app", "auth", "alice", "secret"});
  EXPECT_EQ(change->kind, ChangeKind::hello);
  EXPECT_TRUE(change->authenticates);
  EXPECT_EQ(change->user, "alice");
  EXPECT_EQ(read({"HELLO", "3", "AUTH", "a", "x", "AUTH", "b", "y"})->user, "b") << "as in Redis";
}

// Redis looks at the version first, so its refusal says that nothing has changed.
TEST(StateChange, a_hello_of_another_version_changes_nothing_unless_redis_takes_it) {
  for (const Words& arguments : std::vector<Words>{{"HELLO", "4"},
                                                   {"HELLO", ""},
                                                   {"HELLO", "03"},
                                                   {"HELLO", "4", "AUTH", "a", "b"},
                                                   {"HELLO", "AUTH", "a", "b"}}) {
    EXPECT_EQ(read(arguments)->kind, ChangeKind::unknown) << testing::PrintToString(arguments);
  }
}

TEST(StateChange, a_hello_with_options_that_redis_should_refuse_is_unclear) {
  for (const Words& arguments : std::vector<Words>{{"HELLO", "3", "AUTH"},
                                                   {"HELLO", "3", "AUTH", "alice"},
                                                   {"HELLO", "3", "SETNAME"},
                                                   {"HELLO", "3", "AUTH", "a", "b", "x"}}) {
    EXPECT_EQ(read(arguments)->kind, ChangeKind::unclear) << testing::PrintToString(arguments);
  }
}

TEST(StateChange, what_multi_may_queue_does_not_take_effect_with_its_reply) {
  EXPECT_EQ(read({"SELECT", "1"}, true)->kind, ChangeKind::unknown);
  EXPECT_EQ(read({"AUTH", "secret"}, true)->kind, ChangeKind::unknown);
  EXPECT_EQ(read({"HELLO", "3"}, true)->kind, ChangeKind::unknown);
  EXPECT_EQ(read({"AUTH"}, true)->kind, ChangeKind::unclear);
}

// Redis 7.0: "MULTI x", "HELLO 3 AUTH reader word SETNAME 'a b'" in one pipeline: two errors, and
// the user is reader.
TEST(StateChange, hello_with_auth_behind_multi_is_unclear_since_its_refusal_says_nothing) {
  EXPECT_EQ(read({"HELLO", "3", "AUTH", "reader", "word"}, true)->kind, ChangeKind::unclear);
  EXPECT_EQ(read({"HELLO", "3", "SETNAME", "n"}, true)->kind, ChangeKind::unknown);
}

TEST(StateChange, the_frame_of_a_transaction_is_never_queued) {
  for (const bool may_be_in_multi : {false, true}) {
    EXPECT_EQ(read({"MULTI"}, may_be_in_multi)->kind, ChangeKind::multi);
    EXPECT_EQ(read({"EXEC"}, may_be_in_multi)->kind, ChangeKind::end_multi);
    EXPECT_EQ(read({"DISCARD"}, may_be_in_multi)->kind, ChangeKind::end_multi);
    EXPECT_EQ(read({"WATCH", "k"}, may_be_in_multi)->kind, ChangeKind::watch);
    EXPECT_EQ(read({"UNWATCH"}, may_be_in_multi)->kind, ChangeKind::unwatch);
    EXPECT_EQ(read({"RESET"}, may_be_in_multi)->kind, ChangeKind::reset);
  }
}

TEST(StateChange, other_commands_change_nothing) {
  for (const std::string_view name : {"GET", "SET", "PING", "SCRIPT", "JSON.GET"}) {
    EXPECT_FALSE(read({name, "x"})) << name;
  }
  EXPECT_FALSE(read({"CLIENT", "ID"}));
  EXPECT_FALSE(read({"client", "getname"}));
}

TEST(StateChange, labels_are_told) {
  const auto name = read({"client", "setname", "x"}, true);
  EXPECT_EQ(name->kind, ChangeKind::label);
  EXPECT_EQ(name->label, Label::name);
  EXPECT_EQ(name->label_text, "x");
  EXPECT_EQ(read({"CLIENT", "SETINFO", "lib-ver", "1"})->label, Label::library_version);
  EXPECT_EQ(read({"CLIENT", "SETINFO", "LIB-NAME", "l"})->label, Label::library);
  EXPECT_FALSE(read({"CLIENT", "SETINFO", "other", "l"}));
  EXPECT_EQ(read({"HELLO", "3", "SETNAME", "n"})->label_text, "n");
}

TEST(StateChange, a_login_is_told_as_it_was_given) {
  const auto alone = read({"AUTH", "word"});
  EXPECT_EQ(alone->secret, "word");
  EXPECT_FALSE(alone->names_user);
  EXPECT_EQ(alone->user, "default");
  EXPECT_TRUE(read({"AUTH", "shop", "word"})->names_user);
  EXPECT_EQ(read({"HELLO", "3", "AUTH", "shop", "word"})->secret, "word");
}

TEST(StateChange, a_subcommand_of_client_that_nobody_knows_may_change_anything_for_good) {
  for (const bool may_be_in_multi : {false, true}) {
    EXPECT_EQ(read({"CLIENT", "NOSUCH"}, may_be_in_multi)->kind, ChangeKind::lasting);
    EXPECT_EQ(read({"CLIENT", "CAPA", "redirect"}, may_be_in_multi)->kind, ChangeKind::redirects);
    EXPECT_EQ(read({"CLIENT", "CAPA", "other"}, may_be_in_multi)->kind, ChangeKind::lasting);
    EXPECT_EQ(read({"CLIENT", "CAPA", "redirect", "other"}, may_be_in_multi)->kind,
              ChangeKind::lasting);
    EXPECT_EQ(read({"client", "import-source", "on"}, may_be_in_multi)->kind, ChangeKind::lasting);
    EXPECT_EQ(read({"CLIENT"}, may_be_in_multi)->kind, ChangeKind::lasting);
  }
  EXPECT_FALSE(read({"CLIENT", "NO-TOUCH", "ON"}));
  EXPECT_FALSE(read({"CLIENT", "MAINT_NOTIFICATIONS", "ON", "moving-endpoint-type", "none"}));
}

}  // namespace
}  // namespace cuckooguard::redis
