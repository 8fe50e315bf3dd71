// Under systemd, or whoever speaks as it does: the listening socket outlives the guard, which tells
// how it is.

#include <csignal>
#include <filesystem>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/counting_clients.h"
#include "harness/redis_command.h"
#include "harness/shop.h"
#include "harness/systemd_double.h"

namespace cuckooguard::harness {
namespace {

using testing::HasSubstr;

class SocketActivation : public testing::Test {
 protected:
  // Its own guard is of no matter here.
  std::string yaml() const { return shop_.yaml() + "drain_timeout: 1h\n"; }

  Shop shop_;
};

TEST_F(SocketActivation, refuses_nobody_and_loses_nothing_over_twenty_restarts_under_load) {
  constexpr int kRestarts = 20;
  SystemdDouble systemd(yaml());
  shop_.redis().call({"SET", user(1), "one"});
  systemd.start();
  CountingClients clients(8,
                          {.connect = [&systemd] { return systemd.client(); },
                           .existing_key = user(1),
                           .existing_reply = bulk("one"),
                           .absent_key = absent_user(),
                           .absent_replies = {absent_reply(), std::string(kNil)},
                           .comes_again = true});
  for (int restart = 0; restart < kRestarts; ++restart) {
    ASSERT_TRUE(systemd.hears("READY=1")) << systemd.log();
    const std::uint64_t before = clients.replies();
    ASSERT_TRUE(eventually([&] { return clients.replies() > before + 2'000; })) << systemd.log();
    systemd.guard().send_signal(SIGTERM);
    ASSERT_EQ(systemd.guard().exit_code(), 0) << systemd.log();
    EXPECT_THAT(systemd.log(), HasSubstr("how=all_clients_done clients=0"));
    systemd.start();
  }
  ASSERT_TRUE(systemd.hears("READY=1")) << systemd.log();
  clients.stop();
  for (const auto& client : clients.all()) {
    EXPECT_EQ(client->failure, "") << client->key;
    EXPECT_EQ(shop_.redis().call({"GET", client->key}), bulk(std::to_string(client->replies)));
    EXPECT_GT(client->connections, std::uint64_t{kRestarts} / 2);
  }
}

TEST_F(SocketActivation, lets_who_comes_between_two_guards_wait_for_the_next) {
  SystemdDouble systemd(yaml());
  RawClient early = systemd.client();
  early.send(command({"PING"}));
  systemd.start();
  EXPECT_EQ(early.read_reply(), kPong);
  early.close();
  systemd.guard().send_signal(SIGTERM);
  EXPECT_EQ(systemd.guard().exit_code(), 0);
  RawClient between = systemd.client();
  between.send(command({"PING"}));
  systemd.start();
  EXPECT_EQ(between.read_reply(), kPong);
}

TEST_F(SocketActivation, is_refused_where_the_socket_is_not_that_of_listen) {
  SystemdDouble systemd(yaml());
  systemd.start_with("127.0.0.1:1");
  EXPECT_EQ(systemd.guard().exit_code(), 78);
  EXPECT_THAT(systemd.log(),
              HasSubstr("ListenStream= of the socket unit must be an address of `listen`"));
}

TEST_F(SocketActivation, leaves_it_to_the_guard_to_open_what_is_not_handed_over) {
  SystemdDouble systemd(yaml());
  const TemporaryDirectory folder;
  const std::filesystem::path socket = folder / "guard.sock";
  systemd.start_with("[ 'unix:" + socket.string() + "', '" + systemd.address() + "' ]");
  ASSERT_TRUE(systemd.hears("READY=1")) << systemd.log();
  EXPECT_EQ(RawClient::to_unix(socket).call({"PING"}), kPong);
  EXPECT_EQ(systemd.client().call({"PING"}), kPong);
  systemd.guard().send_signal(SIGTERM);
  EXPECT_EQ(systemd.guard().exit_code(), 0);
}

TEST_F(SocketActivation, guard_tells_of_its_life) {
  SystemdDouble systemd(yaml());
  systemd.start();
  EXPECT_TRUE(systemd.hears("READY=1\nSTATUS=serving"));
  systemd.guard().send_signal(SIGTERM);
  EXPECT_TRUE(systemd.hears("STOPPING=1\nSTATUS=draining"));
  EXPECT_EQ(systemd.guard().exit_code(), 0);
}

TEST_F(SocketActivation, watchdog_hears_of_the_guard_as_long_as_it_works) {
  SystemdDouble systemd(yaml(), "WATCHDOG_USEC=20000");
  systemd.start();
  EXPECT_TRUE(systemd.hears("WATCHDOG=1\nWATCHDOG=1\nWATCHDOG=1")) << "again and again";
  systemd.guard().send_signal(SIGTERM);
  EXPECT_EQ(systemd.guard().exit_code(), 0);
}

TEST_F(SocketActivation, watchdog_is_not_told_of_by_a_guard_that_is_not_asked) {
  SystemdDouble systemd(yaml());
  systemd.start();
  EXPECT_TRUE(systemd.hears("READY=1"));
  systemd.guard().send_signal(SIGTERM);
  EXPECT_EQ(systemd.guard().exit_code(), 0);
  EXPECT_FALSE(systemd.hears("WATCHDOG"));
}

}  // namespace
}  // namespace cuckooguard::harness
