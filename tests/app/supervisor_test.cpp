#include "app/supervisor.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "harness/deadline.h"
#include "harness/temporary_directory.h"

namespace cuckooguard::app {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::StartsWith;

class HeardObserver final : public source::Observer {
 public:
  void on_progress(const source::Progress& progress) override { heard.emplace_back(progress.ns); }
  void on_state(std::string_view ns, filter::State /*state*/, std::string_view /*why*/) override {
    heard.emplace_back(ns);
  }
  void on_trouble(std::string_view source, std::string_view /*what*/) override {
    heard.emplace_back(source);
  }
  void on_restored(std::string_view ns) override { heard.emplace_back(ns); }
  void on_resumed(std::string_view ns) override { heard.emplace_back(ns); }

  std::vector<std::string> heard;
};

// Hears what systemd would.
class SupervisorTest : public testing::Test {
 protected:
  SupervisorTest() {
    at_.sun_family = AF_UNIX;
    std::strncpy(&at_.sun_path[0], path_.c_str(), sizeof at_.sun_path - 1);
    EXPECT_EQ(::bind(socket_, reinterpret_cast<const sockaddr*>(&at_), sizeof at_), 0);
    ::setenv("NOTIFY_SOCKET", path_.c_str(), 1);  // NOLINT(concurrency-mt-unsafe): one thread
  }
  void TearDown() override {
    EXPECT_TRUE(manager_.finish(harness::kPatience));
    ::unsetenv("NOTIFY_SOCKET");  // NOLINT(concurrency-mt-unsafe): one thread
    ::close(socket_);
  }

  std::vector<std::string> heard() {
    EXPECT_TRUE(manager_.finish(harness::kPatience));
    return read();
  }
  std::vector<std::string> read() const {
    std::vector<std::string> all;
    std::array<char, 1024> message{};
    ssize_t bytes = 0;
    while ((bytes = ::recv(socket_, message.data(), message.size(), MSG_DONTWAIT)) > 0) {
      all.emplace_back(message.data(), static_cast<std::size_t>(bytes));
    }
    return all;
  }

  sockaddr_un at_{};
  int socket_ = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  const harness::TemporaryDirectory directory_;
  const std::string path_ = directory_.file("notify");
  Supervisor manager_;
  log::EventLog log_{config::Log{}};
};

TEST_F(SupervisorTest, hears_of_each_state_in_its_own_words) {
  manager_.ready("serving");
  manager_.reloading();
  manager_.stopping("draining");
  manager_.tell("on its way");
  EXPECT_THAT(heard(),
              ElementsAre("READY=1\nSTATUS=serving",
                          StartsWith("RELOADING=1\nMONOTONIC_USEC="),
                          "STOPPING=1\nSTATUS=draining",
                          "STATUS=on its way"));
}

// Its socket is full (net.unix.max_dgram_qlen), and so a sender waits.
TEST_F(SupervisorTest, that_does_not_read_holds_up_nobody) {
  const int sender = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  while (
      ::sendto(sender, "X", 1, MSG_DONTWAIT, reinterpret_cast<const sockaddr*>(&at_), sizeof at_) ==
      1) {
  }
  ::close(sender);
  constexpr int kWords = 10'000;
  for (int i = 0; i < kWords; ++i) {
    manager_.tell(std::to_string(i));
  }
  EXPECT_FALSE(manager_.finish(std::chrono::milliseconds(0)));
  std::vector<std::string> all;
  while (!manager_.finish(std::chrono::milliseconds(1))) {
    std::ranges::move(read(), std::back_inserter(all));
  }
  std::ranges::move(read(), std::back_inserter(all));
  std::erase(all, "X");
  ASSERT_GE(all.size(), Supervisor::kWaitingMax);
  EXPECT_LT(all.size(), std::size_t{kWords});
  for (std::size_t i = 0; i < Supervisor::kWaitingMax; ++i) {
    EXPECT_EQ(all[i], "STATUS=" + std::to_string(i));
  }
}

TEST_F(SupervisorTest, hears_how_far_loads_are_and_of_their_end) {
  HeardObserver next;
  LoadStatus status(next, manager_);
  status.on_progress({.ns = "users", .fraction = 0.414});
  status.on_progress({.ns = "users", .fraction = 0.417});
  status.on_progress({.ns = "carts", .fraction = 0.5});
  status.on_progress({.ns = "users", .fraction = 1, .complete = true});
  status.on_progress({.ns = "carts", .fraction = 1, .complete = true});
  EXPECT_THAT(heard(),
              ElementsAre("STATUS=serving; loading users 41 %",
                          "STATUS=serving; loading carts 50 %, users 41 %",
                          "STATUS=serving; loading carts 50 %",
                          "STATUS=serving"));
}

TEST_F(SupervisorTest, does_not_wait_for_a_load_that_is_given_up) {
  HeardObserver next;
  LoadStatus status(next, manager_);
  status.on_progress({.ns = "users", .fraction = 0.5});
  status.forget("users");
  status.forget("carts");
  EXPECT_THAT(heard(), ElementsAre("STATUS=serving; loading users 50 %", "STATUS=serving"));
}

TEST_F(SupervisorTest, is_no_reason_to_tell_others_less) {
  HeardObserver next;
  LoadStatus status(next, manager_);
  status.on_progress({.ns = "progress"});
  status.on_state("state", filter::State::ready, "");
  status.on_trouble("trouble", "");
  status.on_restored("restored");
  status.on_resumed("resumed");
  EXPECT_THAT(next.heard, ElementsAre("progress", "state", "trouble", "restored", "resumed"));
}

TEST_F(SupervisorTest, hands_over_nothing_unless_it_says_so) {
  const auto sockets = manager_.sockets_for(config::Config{}.listen);
  ASSERT_TRUE(sockets) << sockets.error();
  EXPECT_THAT(*sockets, ElementsAre(IsEmpty()));
}

TEST_F(SupervisorTest, is_told_of_no_life_that_it_does_not_ask_for) {
  boost::asio::io_context io;
  const Watchdog watchdog(io, manager_, {}, log_);
  EXPECT_EQ(io.run(), 0U);
  EXPECT_THAT(heard(), IsEmpty());
}

// Told of the time between two words, as sd_watchdog_enabled(3) has it.
class WatchdogTest : public SupervisorTest {
 protected:
  void SetUp() override { ::setenv("WATCHDOG_USEC", "2000", 1); }  // NOLINT(concurrency-mt-unsafe)
  void TearDown() override {
    ::unsetenv("WATCHDOG_USEC");  // NOLINT(concurrency-mt-unsafe): one thread
    SupervisorTest::TearDown();
  }
};

TEST_F(WatchdogTest, hears_of_loops_that_turn) {
  boost::asio::io_context io;
  const Watchdog watchdog(
      io,
      manager_,
      {views::Heartbeat("loop", [](const std::function<void()>& beat) { beat(); })},
      log_);
  for (int turn = 0; turn < 3; ++turn) {
    io.run_one();
  }
  EXPECT_THAT(heard(), ElementsAre("WATCHDOG=1", "WATCHDOG=1", "WATCHDOG=1", "WATCHDOG=1"));
}

TEST_F(WatchdogTest, does_not_hear_of_a_process_of_which_one_loop_stands_still) {
  boost::asio::io_context io;
  io::TimePoint now{std::chrono::hours(1)};
  std::vector<views::Heartbeat> loops;
  loops.emplace_back("turns", [](const std::function<void()>& beat) { beat(); });
  loops.emplace_back("stands still", [](const std::function<void()>& /*beat*/) {});
  const Watchdog watchdog(io, manager_, std::move(loops), log_, [&now] { return now; });
  EXPECT_THAT(heard(), ElementsAre("WATCHDOG=1")) << "it may only be slow";
  now += views::Heartbeat::kStalledAfter;
  io.run_one();
  io.run_one();
  EXPECT_THAT(heard(), IsEmpty());
}

}  // namespace
}  // namespace cuckooguard::app
