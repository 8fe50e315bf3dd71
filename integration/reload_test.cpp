// The configuration is loaded anew while the guard runs: what changes at once, what stays, what is
// listed as needing a restart, and a file that cannot be used changes nothing and says why. (Under
// load: reload_under_load_test.cpp.)

#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "harness/admin_client.h"
#include "harness/child_process.h"
#include "harness/guard_process.h"
#include "harness/redis_command.h"
#include "harness/shop.h"
#include "harness/temporary_directory.h"

namespace cuckooguard::harness {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr std::string_view kLoadedUsers = "event=loaded namespace=users ";
constexpr std::string_view kAsBefore = "+OK no setting has changed\r\n";
constexpr std::string_view kLoadedTags = "event=loaded namespace=tags ";

std::string with(std::string text, std::string_view part, std::string_view instead) {
  const std::size_t at = text.find(part);
  EXPECT_NE(at, std::string::npos) << part;
  return text.replace(at, part.size(), instead);
}

class Reload : public testing::Test {
 protected:
  Reload() { shop_.wait_until_it_answers(); }

  // GUARD.RELOAD's reply to a file with this.
  std::string reload(const std::string& yaml) {
    shop_.guard().set_configuration(yaml);
    return shop_.guard().call({"GUARD.RELOAD"});
  }
  HttpAnswer post(const std::string& yaml) {
    shop_.guard().set_configuration(yaml);
    return admin_.post("/-/reload", "");
  }
  std::string log() { return shop_.guard().log(); }
  std::string metric(const std::string& name) {
    const std::string text = admin_.get("/metrics").body;
    const std::string wanted = "\n" + name + " ";
    const std::size_t at = text.find(wanted);
    return at == std::string::npos
               ? "?"
               : text.substr(at + wanted.size(), text.find('\n', at + 1) - at - wanted.size());
  }
  bool is_visible(RawClient& client, const std::string& key) {
    return client.call({"GET", key}) != absent_reply();
  }

  Shop shop_{ShopSettings{.more = "admin: { address: \"127.0.0.1:0\", operators: default }\n"}};
  AdminClient admin_{shop_.guard()};
  const std::string yaml_ = shop_.yaml();
};

TEST_F(Reload, is_asked_for_by_signal_command_and_http_and_existing_clients_see_it) {
  RawClient client = shop_.client();
  EXPECT_EQ(client.call({"GET", absent_user()}), absent_reply());
  EXPECT_EQ(reload(with(yaml_, "bytes:__ABSENT__", "bytes:one")), kOk);
  EXPECT_EQ(client.call({"GET", absent_user()}), bulk("one"));

  const HttpAnswer answer = post(with(yaml_, "bytes:__ABSENT__", "bytes:two"));
  EXPECT_EQ(answer.status, 200);
  EXPECT_THAT(answer.header, HasSubstr("Content-Type: text/plain"));
  EXPECT_EQ(client.call({"GET", absent_user()}), bulk("two"));

  shop_.guard().set_configuration(with(yaml_, "bytes:__ABSENT__", "bytes:three"));
  shop_.guard().send_signal(SIGHUP);
  EXPECT_TRUE(eventually([&] { return client.call({"GET", absent_user()}) == bulk("three"); }))
      << log();
  EXPECT_EQ(admin_.get("/-/reload").status, 405);
}

// A file that Docker mounts by itself stays what it was when an editor replaces it.
TEST_F(Reload, says_that_a_file_is_as_before) {
  EXPECT_EQ(reload(yaml_), kAsBefore);
  EXPECT_THAT(post("# the same\n" + yaml_).body, HasSubstr("no setting has changed"));
  EXPECT_EQ(count_in(log(), "event=reloaded unchanged=true hint="), 2U) << log();
  EXPECT_EQ(reload(with(yaml_, "bytes:__ABSENT__", "bytes:one")), kOk);
  EXPECT_THAT(post(yaml_).body, Not(HasSubstr("no setting has changed")));
  const std::string other = with(yaml_, "workers: 2", "workers: 3");
  EXPECT_EQ(reload(other), "+OK needs a restart: workers\r\n");
  EXPECT_EQ(reload(other), "+OK no setting has changed; needs a restart: workers\r\n");
  EXPECT_THAT(reload("nonsense"), StartsWith("-ERR "));
  EXPECT_EQ(reload(other), "+OK no setting has changed; needs a restart: workers\r\n");
}

TEST_F(Reload, is_for_operators_alone) {
  EXPECT_EQ(reload(with(yaml_, "operators: default", "operators: ops")),
            "-NOPERM this user has no permissions to run the 'guard.reload' command: it is not "
            "listed in admin.operators\r\n")
      << "who is none any more when it has ended";
  EXPECT_THAT(reload(yaml_), StartsWith("-NOPERM "));
  EXPECT_TRUE(eventually([&] { return count_in(log(), "event=reloaded") == 1; })) << log();
  EXPECT_EQ(post(yaml_).status, 200);
  EXPECT_EQ(reload(yaml_), kAsBefore);
}

TEST_F(Reload, keeps_the_filters_of_namespaces_that_are_defined_as_before_and_no_others) {
  RawClient client = shop_.client();
  const auto answers_at_once = [&] {
    return client.call({"GET", absent_user()}) == absent_reply();
  };
  // Policy, and the order in the file.
  std::string other = with(yaml_, "mode: enforce", "mode: enforce, order: redis-first");
  ASSERT_EQ(reload(other), kOk);
  EXPECT_TRUE(answers_at_once());
  const std::size_t users = other.find("  users:");
  const std::size_t tags = other.find("  tags:");
  const std::size_t admin = other.find("admin:");
  other = other.substr(0, users) + other.substr(tags, admin - tags) +
          other.substr(users, tags - users) + other.substr(admin);
  ASSERT_EQ(reload(other), kOk);
  EXPECT_TRUE(answers_at_once());
  // Another namespace of the same source, and then not.
  const std::string more =
      with(yaml_,
           "  tags:",
           "  names: { keys: \"name:{name}\", source: { from: shop, table: tag } }\n  tags:");
  ASSERT_EQ(reload(more), kOk);
  EXPECT_TRUE(answers_at_once());
  EXPECT_TRUE(eventually([&] { return log().contains("event=loaded namespace=names "); })) << log();
  ASSERT_EQ(reload(yaml_), kOk);
  EXPECT_TRUE(answers_at_once());
  EXPECT_EQ(client.call({"GUARD.CHECK", "name:blue"}), "*1\r\n:-1\r\n");
  // Another definition of the other one.
  ASSERT_EQ(reload(with(yaml_, "tag:{name}", "label:{name}")), kOk);
  EXPECT_TRUE(answers_at_once());
  EXPECT_TRUE(eventually([&] { return client.call({"GET", "label:blue"}) == absent_reply(); }));
  EXPECT_EQ(client.call({"GET", "label:red"}), kNil);
  EXPECT_EQ(client.call({"GET", "tag:blue"}), kNil) << "nobody's now";
  EXPECT_EQ(count_in(log(), kLoadedUsers), 1U) << log();
  EXPECT_EQ(count_in(log(), kLoadedTags), 2U) << log();
  // And of this one.
  ASSERT_EQ(reload(with(yaml_, "0.0001%", "0.001%")), kOk);
  EXPECT_TRUE(eventually(answers_at_once));
  EXPECT_EQ(count_in(log(), kLoadedUsers), 2U) << log();
}

TEST_F(Reload, goes_on_counting_where_the_definition_stays) {
  RawClient client = shop_.client();
  const auto answered = [&] { return info_field(shop_.guard(), "users", "keys_answered_absent"); };
  client.call({"GET", absent_user()});
  const std::string before = answered();
  EXPECT_GE(std::stoi(before), 1);
  ASSERT_EQ(reload(with(yaml_, "overlay: {", "overlay: { ttl: 5s,")), kOk);
  EXPECT_EQ(answered(), before);
  EXPECT_THAT(
      admin_.get("/metrics").body,
      HasSubstr("cuckooguard_keys_total{namespace=\"users\",verdict=\"absent\"} " + before + "\n"));
  ASSERT_EQ(reload(with(yaml_, "0.0001%", "0.001%")), kOk);
  EXPECT_EQ(answered(), "0") << "another namespace of the same name";
}

TEST_F(Reload, a_file_that_is_wrong_changes_nothing_and_says_why_everywhere) {
  RawClient client = shop_.client();
  const std::string loaded_at = metric("cuckooguard_config_last_reload_timestamp_seconds");
  EXPECT_EQ(metric("cuckooguard_config_last_reload_successful"), "1");
  const std::string bad =
      with(yaml_, "bytes:__ABSENT__", "bytes:other") + "limit: { max_clients: 1 }\nworkerz: 1\n";
  EXPECT_THAT(
      reload(bad),
      testing::AllOf(StartsWith("-ERR reload failed, the previous configuration stays active: "),
                     HasSubstr("guard.yaml:"),
                     HasSubstr("unknown key limit"),
                     HasSubstr("; "),
                     HasSubstr("unknown key workerz")));
  const HttpAnswer answer = post(bad);
  EXPECT_EQ(answer.status, 422);
  EXPECT_THAT(answer.body, testing::AllOf(HasSubstr("limit"), HasSubstr("workerz")));
  EXPECT_EQ(count_in(log(), "event=reload_refused why="), 4U) << log();
  EXPECT_EQ(metric("cuckooguard_config_last_reload_successful"), "0");
  EXPECT_EQ(metric("cuckooguard_config_last_reload_timestamp_seconds"), loaded_at);
  EXPECT_THAT(admin_.get("/status").body,
              testing::AllOf(HasSubstr("\"last_reload_successful\":false"), HasSubstr("workerz")));
  const std::string info = client.call({"GUARD.INFO"});
  EXPECT_THAT(info, HasSubstr("config_last_reload:failed\r\n"));
  EXPECT_THAT(info, testing::ContainsRegex("config_last_reload_error:.*limit"));
  EXPECT_EQ(client.call({"GET", absent_user()}), absent_reply());
  EXPECT_EQ(count_in(log(), kLoadedUsers), 1U);

  EXPECT_EQ(reload(yaml_), kAsBefore);
  EXPECT_EQ(metric("cuckooguard_config_last_reload_successful"), "1");
  EXPECT_THAT(client.call({"GUARD.INFO"}), HasSubstr("config_last_reload:ok\r\n"));
}

TEST_F(Reload, a_database_that_cannot_serve_the_file_is_such_a_reason) {
  RawClient client = shop_.client();
  const std::string nowhere = with(yaml_, "table: tag", "table: tugs");
  EXPECT_THAT(
      reload(with(nowhere, "bytes:__ABSENT__", "bytes:other")),
      testing::AllOf(StartsWith("-ERR "), HasSubstr("namespace tags: "), HasSubstr("tugs")));
  EXPECT_THAT(reload(with(nowhere,
                          "  tags:",
                          "  names: { keys: 'name:{name}', source: { from: shop, table: tugs } }\n"
                          "  tags:")),
              HasSubstr("source shop, namespaces names, tags: no such table: \"tugs\""))
      << "one cause, once";
  EXPECT_EQ(client.call({"GET", absent_user()}), absent_reply());
  EXPECT_EQ(client.call({"GET", "tag:blue"}), absent_reply());
  EXPECT_THAT(reload(with(yaml_, "operators: default", "operators: default, token_file: /nowhere")),
              testing::AllOf(StartsWith("-ERR "), HasSubstr("/nowhere")));
}

TEST_F(Reload, lists_what_needs_a_restart_and_does_the_rest) {
  RawClient client = shop_.client();
  std::string other = with(yaml_, "workers: 2", "workers: 1");
  other = with(other,
               "mode: " + upstream_mode(),
               upstream_mode() == "shared" ? "mode: pinned" : "mode: shared");
  other = with(other, "address: \"127.0.0.1:", "address: \"127.0.0.2:");
  other = with(other, "bytes:__ABSENT__", "bytes:other");
  other = with(other, "\"127.0.0.1:0\"", "\"127.0.0.1:1\"");
  other += "storage: { directory: /tmp/nowhere, checkpoint_every: 7s }\ndrain_timeout: 3s\n";
  const std::string listen = "listen: 127.0.0.1:2\n";
  EXPECT_EQ(reload(listen + other),
            "+OK needs a restart: listen, upstream.address, upstream.mode, storage.directory, "
            "storage.checkpoint_every, admin.address, workers, drain_timeout\r\n");
  EXPECT_EQ(client.call({"GET", absent_user()}), bulk("other"));
  EXPECT_EQ(client.call({"SET", "other", "1"}), kOk) << "in the same Redis, in the same mode";
  EXPECT_EQ(shop_.guard().call({"PING"}), kPong);
  EXPECT_THAT(post(listen + other).body,
              testing::AllOf(HasSubstr("needs a restart: upstream.mode\n"),
                             HasSubstr("needs a restart: workers\n")));
  EXPECT_THAT(log(),
              testing::ContainsRegex("event=needs_restart settings=.*listen, .*upstream.mode, "
                                     ".*storage.directory, .*drain_timeout"));
  EXPECT_EQ(metric("cuckooguard_config_settings_needing_restart"), "8");
  EXPECT_EQ(reload(yaml_), kOk);
}

TEST_F(Reload, changes_the_log_level) {
  ASSERT_EQ(reload(yaml_ + "log: { level: error }\n"), kOk);
  EXPECT_THAT(log(), Not(HasSubstr("event=reloaded")));
  ASSERT_EQ(reload(yaml_), kOk);
  EXPECT_THAT(log(), HasSubstr("event=reloaded"));
}

TEST_F(Reload, changes_limits_for_clients_that_are_there) {
  RawClient silent = shop_.client();
  RawClient blocked = shop_.client();
  EXPECT_EQ(silent.call({"PING"}), kPong);
  blocked.send(command({"BLPOP", "queue", "0"}));
  ASSERT_EQ(reload(yaml_ + "limits: { idle_timeout: 300ms }\n"), kOk);
  EXPECT_TRUE(eventually([&] { return silent.is_closed_by_peer(); }));
  EXPECT_FALSE(blocked.is_closed_by_peer());
  ASSERT_EQ(reload(yaml_ + "limits: { max_clients: 1 }\n"), kOk);
  EXPECT_EQ(shop_.client().read_until_closed(), "-ERR max number of clients reached\r\n");
  shop_.redis().call({"RPUSH", "queue", "x"});
  EXPECT_EQ(blocked.read_reply(), "*2\r\n" + bulk("queue") + bulk("x"));
}

TEST_F(Reload, takes_back_a_mode_that_an_operator_has_set_and_says_so) {
  RawClient client = shop_.client();
  ASSERT_EQ(client.call({"GUARD.MODE", "users", "observe"}), kOk);
  EXPECT_TRUE(is_visible(client, absent_user()));
  ASSERT_EQ(reload(yaml_), kAsBefore);
  EXPECT_FALSE(is_visible(client, absent_user()));
  EXPECT_THAT(log(), HasSubstr("event=mode_reset namespace=users was=observe"));
}

TEST_F(Reload, what_was_written_just_before_stays_visible) {
  RawClient client = shop_.client();
  const auto write = [&](std::uint64_t n) {
    EXPECT_EQ(client.call({"SET", absent_user(n), "written"}), kOk);
  };
  write(1);
  ASSERT_EQ(reload(with(yaml_, "overlay: {", "overlay: { ttl: 5m,")), kOk);
  EXPECT_EQ(client.call({"GET", absent_user(1)}), bulk("written"));
  EXPECT_FALSE(is_visible(client, absent_user(2))) << "no more than that";
  write(3);
  ASSERT_EQ(reload(with(yaml_, "overlay: {", "overlay: { max_keys: 5k,")), kOk);
  EXPECT_EQ(client.call({"GET", absent_user(1)}), bulk("written"));
  EXPECT_EQ(client.call({"GET", absent_user(3)}), bulk("written"));
}

// Where nothing is learned.
TEST_F(Reload, what_was_written_in_bypass_stays_visible) {
  RawClient client = shop_.client();
  ASSERT_EQ(reload(with(yaml_, "mode: enforce", "mode: bypass")), kOk);
  EXPECT_EQ(client.call({"SET", absent_user(1), "written"}), kOk);
  shop_.redis().call({"SET", absent_user(2), "written"});
  ASSERT_EQ(reload(yaml_), kOk);
  EXPECT_EQ(client.call({"GET", absent_user(1)}), bulk("written"));
  EXPECT_TRUE(is_visible(client, absent_user(2))) << "it may have been written through here";
}

// Users' rights are known by the namespaces' numbers.
TEST_F(Reload, nobody_is_answered_by_the_rights_on_another_namespace) {
  shop_.redis().call({"ACL", "SETUSER", "limited", "on", ">word", "~tag:*", "+@all"});
  RawClient limited = shop_.client();
  ASSERT_EQ(limited.call({"AUTH", "limited", "word"}), kOk);
  const std::size_t users = yaml_.find("  users:");
  const std::size_t tags = yaml_.find("  tags:");
  const std::size_t admin = yaml_.find("admin:");
  const std::string other = yaml_.substr(0, users) + yaml_.substr(tags, admin - tags) +
                            yaml_.substr(users, tags - users) + yaml_.substr(admin);
  const auto answers_tags = [&] { return limited.call({"GET", "tag:blue"}) == absent_reply(); };
  for (int round = 0; round < 20; ++round) {
    ASSERT_TRUE(eventually(answers_tags));
    ASSERT_EQ(reload(round % 2 == 0 ? other : yaml_), kOk);
    for (int i = 0; i < 20; ++i) {
      ASSERT_THAT(limited.call({"GET", absent_user()}), StartsWith("-NOPERM "));
    }
  }
}

// Its configuration is a pipe, which it has opened, and in which there is nothing yet.
TEST(ReloadAtTheStart, ends_nothing) {
  const TemporaryDirectory folder;
  const std::filesystem::path config = folder / "guard.yaml";
  ASSERT_EQ(::mkfifo(config.c_str(), S_IRUSR | S_IWUSR), 0);
  const ChildProcess guard({guard_binary(), "--config", config.string()},
                           {folder / "output", folder / "errors"});
  {
    std::ofstream written(config);  // waits for the reader
    guard.send_signal(SIGHUP);
    written << "listen: \"unix:" << (folder / "guard.sock").string() << "\"\n";
  }
  EXPECT_TRUE(eventually([&] {
    return read_whole_file(folder / "errors").contains("event=listening");
  })) << read_whole_file(folder / "errors");
}

}  // namespace
}  // namespace cuckooguard::harness
