// What the guard asks of others may never return: a look-up of a name, a word to the service
// manager. Clients whom that is no business of are served, and SIGTERM ends the process, as ever
// (docs/design.md, "Calls that may block"). Of the log: unread_log_test.cpp.

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "harness/guard_process.h"
#include "harness/redis_command.h"
#include "harness/redis_server.h"

namespace cuckooguard::harness {
namespace {

constexpr milliseconds kEndsWithin{10'000};

// In this program's environment, and so in its guard's.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) {
    ::setenv(name, value.c_str(), 1);  // NOLINT(concurrency-mt-unsafe): one thread
  }
  ~Variable() { ::unsetenv(name_); }  // NOLINT(concurrency-mt-unsafe): one thread
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
};

TEST(HangingCalls, a_name_whose_look_up_hangs_does_not_hold_up_the_end) {
  const TemporaryDirectory directory;
  // The look-up reads it, and waits for who writes.
  ASSERT_EQ(::mkfifo(directory.file("port").c_str(), 0600), 0);
  const Variable file("CUCKOOGUARD_MOVING_NAME", directory.file("port"));
  std::optional<GuardProcess> guard;
  {
    const Variable preload("LD_PRELOAD", CUCKOOGUARD_MOVING_NAME);
    guard.emplace(GuardProcess::on_port("upstream: server.moving:6379\nworkers: 1\n"));
  }
  RawClient waiting = guard->client();
  waiting.send(command({"GET", "key"}));
  // To open it takes somebody who reads, and so the look-up is under way.
  int writer = -1;
  EXPECT_TRUE(eventually([&] {
    writer = ::open(directory.file("port").c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    return writer >= 0;
  }));
  guard->send_signal(SIGTERM);
  EXPECT_EQ(guard->exit_code(kEndsWithin), 0);
  ::close(writer);
}

// A service manager that does not read, so that its socket is full.
class FullNotifySocket {
 public:
  FullNotifySocket() {
    sockaddr_un at{};
    at.sun_family = AF_UNIX;
    std::strncpy(&at.sun_path[0], path().c_str(), sizeof at.sun_path - 1);
    const auto* const address = reinterpret_cast<const sockaddr*>(&at);
    EXPECT_EQ(::bind(socket_, address, sizeof at), 0);
    const int sender = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    while (::sendto(sender, "X", 1, MSG_DONTWAIT, address, sizeof at) == 1) {
    }
    EXPECT_EQ(errno, EAGAIN);
    ::close(sender);
  }
  ~FullNotifySocket() { ::close(socket_); }
  FullNotifySocket(const FullNotifySocket&) = delete;
  FullNotifySocket& operator=(const FullNotifySocket&) = delete;

  std::string path() const { return directory_.file("notify"); }

 private:
  const TemporaryDirectory directory_;
  int socket_ = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
};

TEST(HangingCalls, a_service_manager_that_does_not_read_holds_up_neither_clients_nor_the_end) {
  const FullNotifySocket manager;
  RedisServer redis;
  const Variable socket("NOTIFY_SOCKET", manager.path());
  GuardProcess guard = GuardProcess::on_port("upstream: " + redis.address() + "\n");
  EXPECT_EQ(guard.call({"SET", "key", "value"}), kOk);
  guard.send_signal(SIGHUP);
  EXPECT_TRUE(eventually([&] { return guard.log().contains("event=reloaded"); })) << guard.log();
  EXPECT_EQ(guard.call({"GET", "key"}), bulk("value"));
  guard.send_signal(SIGTERM);
  EXPECT_EQ(guard.exit_code(kEndsWithin), 0);
}

}  // namespace
}  // namespace cuckooguard::harness
