#include "io/listener.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <netdb.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "harness/temporary_directory.h"
#include "sockets.h"

namespace cuckooguard::io {
namespace {

namespace fs = std::filesystem;

class ListenerTest : public ::testing::Test {
 protected:
  Listener::Calls calls() {
    return {.on_accept = [this](int socket) { accepted_.emplace_back(socket); },
            .on_failure = [this](std::error_code error) { failures_.push_back(error); }};
  }
  // Until `condition` holds.
  template <typename Condition>
  void run_until(const Condition& condition) {
    while (!condition() && io_.run_one_for(std::chrono::milliseconds(kPatienceMs)) > 0) {
    }
    EXPECT_TRUE(condition());
  }

  boost::asio::io_context io_;
  std::vector<Fd> accepted_;
  std::vector<std::error_code> failures_;
};

TEST_F(ListenerTest, hands_on_one_connection_after_the_other) {
  const Listener listener(io_, {.host = "127.0.0.1", .port = 0}, calls());
  ASSERT_NE(listener.port(), 0);
  const Fd first = connect_to(loopback(listener.port()));
  const Fd second = connect_to(loopback(listener.port()));
  run_until([this] { return accepted_.size() == 2; });
  accepted_[0].send("one");
  accepted_[1].send("two");
  EXPECT_EQ(first.receive(3), "one");
  EXPECT_EQ(second.receive(3), "two");
}

TEST_F(ListenerTest, nobody_is_let_in_after_close) {
  Listener listener(io_, {.host = "127.0.0.1", .port = 0}, calls());
  const SocketAddress address = loopback(listener.port());
  listener.close();
  listener.close();
  EXPECT_THROW(connect_to(address), std::system_error);
}

TEST_F(ListenerTest, who_waits_in_the_backlog_is_let_in_before_it_is_closed) {
  Listener listener(io_, {.host = "127.0.0.1", .port = 0}, calls());
  const Fd first = connect_to(loopback(listener.port()));
  const Fd second = connect_to(loopback(listener.port()));
  listener.close();
  ASSERT_EQ(accepted_.size(), 2U);
  accepted_[1].send("here");
  EXPECT_EQ(second.receive(4), "here");
}

// A socket that somebody else has opened, and keeps.
class InheritedListenerTest : public ListenerTest {
 protected:
  InheritedListenerTest() {
    const SocketAddress any = loopback(0);
    checked(::bind(kept_.get(), reinterpret_cast<const sockaddr*>(&any.storage), any.length),
            "bind");
    checked(::listen(kept_.get(), 10), "listen");
    sockaddr_in bound{};
    socklen_t length = sizeof bound;
    checked(::getsockname(kept_.get(), reinterpret_cast<sockaddr*>(&bound), &length), "name");
    address_ = {.host = "127.0.0.1", .port = ntohs(bound.sin_port), .unix_path = {}};
  }
  std::vector<int> handed_over() const { return {::dup(kept_.get())}; }

  Fd kept_{::socket(AF_INET, SOCK_STREAM, 0)};
  config::Address address_;
};

TEST_F(InheritedListenerTest, is_recognised_by_its_address) {
  EXPECT_TRUE(Listener::listens_on(kept_.get(), address_));
  const auto other_port = static_cast<std::uint16_t>(address_.port ^ 1U);
  EXPECT_FALSE(Listener::listens_on(kept_.get(), {.host = "127.0.0.1", .port = other_port}));
  EXPECT_FALSE(Listener::listens_on(kept_.get(), {.host = "0.0.0.0", .port = address_.port}));
  EXPECT_FALSE(Listener::listens_on(kept_.get(), {.unix_path = "/run/guard.sock"}));
}

TEST_F(InheritedListenerTest, leaves_who_waits_to_the_next) {
  Listener listener(io_, address_, calls(), handed_over());
  const Fd first = connect_to(loopback(address_.port));
  run_until([this] { return accepted_.size() == 1; });
  const Fd waiting = connect_to(loopback(address_.port));
  listener.close();
  EXPECT_EQ(accepted_.size(), 1U);
  const Listener next(io_, address_, calls(), handed_over());
  run_until([this] { return accepted_.size() == 2; });
  accepted_[1].send("here");
  EXPECT_EQ(waiting.receive(4), "here");
}

TEST_F(InheritedListenerTest, lets_a_unix_socket_stay) {
  const harness::TemporaryDirectory directory;
  const fs::path path = directory / "listener";
  const Fd kept(::socket(AF_UNIX, SOCK_STREAM, 0));
  const SocketAddress at = unix_at(path);
  checked(::bind(kept.get(), reinterpret_cast<const sockaddr*>(&at.storage), at.length), "bind");
  checked(::listen(kept.get(), 10), "listen");
  EXPECT_TRUE(Listener::listens_on(kept.get(), {.unix_path = path.string()}));
  EXPECT_FALSE(Listener::listens_on(kept.get(), {.unix_path = path.string() + "2"}));
  EXPECT_FALSE(Listener::listens_on(kept.get(), address_));
  {
    const Listener listener(io_, {.unix_path = path.string()}, calls(), {::dup(kept.get())});
    const Fd client = connect_to(unix_at(path));
    run_until([this] { return accepted_.size() == 1; });
  }
  EXPECT_TRUE(fs::exists(path));
}

// And a name for it.
bool has_ipv6_loopback() {
  sockaddr_in6 any{};
  any.sin6_family = AF_INET6;
  any.sin6_addr = in6addr_loopback;
  const int socket = ::socket(AF_INET6, SOCK_STREAM, 0);
  const bool can_bind = ::bind(socket, reinterpret_cast<const sockaddr*>(&any), sizeof any) == 0;
  ::close(socket);
  addrinfo wanted{};
  wanted.ai_family = AF_INET6;
  addrinfo* found = nullptr;
  const bool has_name = ::getaddrinfo("localhost", nullptr, &wanted, &found) == 0;
  ::freeaddrinfo(found);
  return can_bind && has_name;
}

TEST_F(ListenerTest, listens_on_all_addresses_of_a_name) {
  const Listener listener(io_, {.host = "localhost", .port = 0}, calls());
  std::vector<std::string> hosts;
  for (const config::Address& address : listener.addresses()) {
    EXPECT_EQ(address.port, listener.port());
    hosts.push_back(address.host);
  }
  EXPECT_THAT(hosts, testing::Contains("127.0.0.1"));
  EXPECT_EQ(std::ranges::count(hosts, "::1"), has_ipv6_loopback() ? 1 : 0);
  const Fd client = connect_to(loopback(listener.port()));
  run_until([this] { return accepted_.size() == 1; });
}

TEST_F(ListenerTest, a_port_that_is_taken_at_one_address_of_a_name_is_an_error) {
  const Port taken;
  EXPECT_THROW(Listener(io_, {.host = "localhost", .port = taken.number()}, calls()),
               std::system_error);
}

fs::perms permissions(const fs::path& path) {
  return fs::status(path).permissions();
}

TEST_F(ListenerTest, a_unix_socket_has_the_mode_and_the_group_that_are_wished_for) {
  const harness::TemporaryDirectory directory;
  const fs::path path = directory / "listener";
  const mode_t before = ::umask(0077);
  const auto listen = [&](const SocketFile& file) {
    return std::make_unique<Listener>(
        io_, config::Address{.unix_path = path.string()}, calls(), std::vector<int>{}, file);
  };
  auto listener = listen({});
  EXPECT_EQ(permissions(path), fs::perms(0700)) << "the umask's";
  listener.reset();
  listener = listen({.mode = 0660});
  EXPECT_EQ(permissions(path), fs::perms(0660));
  listener.reset();
  const group* const own = ::getgrgid(::getegid());  // NOLINT(concurrency-mt-unsafe): one thread
  ASSERT_NE(own, nullptr);
  listener = listen({.mode = 0606, .group = own->gr_name});
  EXPECT_EQ(permissions(path), fs::perms(0606));
  const Fd client = connect_to(unix_at(path));
  run_until([this] { return accepted_.size() == 1; });
  ::umask(before);
}

TEST_F(ListenerTest, a_group_that_there_is_not_is_an_error_that_leaves_nothing_behind) {
  const harness::TemporaryDirectory directory;
  const fs::path path = directory / "listener";
  try {
    const Listener listener(
        io_, {.unix_path = path.string()}, calls(), {}, {.group = "no-such-group"});
    FAIL();
  } catch (const std::system_error& failure) {
    EXPECT_THAT(failure.what(), testing::HasSubstr("group no-such-group"));
  }
  EXPECT_FALSE(fs::exists(path));
}

TEST_F(ListenerTest, a_port_that_is_taken_is_an_error_at_the_start) {
  const Port taken;
  EXPECT_THROW(Listener(io_, {.host = "127.0.0.1", .port = taken.number()}, calls()),
               std::system_error);
}

TEST_F(ListenerTest, a_unix_socket_is_removed_at_the_end) {
  const harness::TemporaryDirectory directory;
  const fs::path path = directory / "listener";
  {
    const Listener listener(io_, {.unix_path = path.string()}, calls());
    const Fd client = connect_to(unix_at(path));
    run_until([this] { return accepted_.size() == 1; });
  }
  EXPECT_FALSE(fs::exists(path));
}

TEST_F(ListenerTest, a_socket_that_a_crash_left_behind_is_replaced) {
  const harness::TemporaryDirectory directory;
  const fs::path path = directory / "listener";
  {
    const Fd crashed(::socket(AF_UNIX, SOCK_STREAM, 0));
    const SocketAddress address = unix_at(path);
    checked(
        ::bind(crashed.get(), reinterpret_cast<const sockaddr*>(&address.storage), address.length),
        "bind");
  }
  ASSERT_TRUE(fs::exists(path));
  const Listener listener(io_, {.unix_path = path.string()}, calls());
  const Fd client = connect_to(unix_at(path));
  run_until([this] { return accepted_.size() == 1; });
}

TEST_F(ListenerTest, a_socket_that_somebody_answers_on_is_left_alone) {
  const harness::TemporaryDirectory directory;
  const fs::path path = directory / "listener";
  const Listener first(io_, {.unix_path = path.string()}, calls());
  EXPECT_THROW(Listener(io_, {.unix_path = path.string()}, calls()), std::system_error);
  const Fd client = connect_to(unix_at(path));
  run_until([this] { return accepted_.size() == 1; });
}

TEST_F(ListenerTest, a_file_that_is_no_socket_is_not_removed) {
  const harness::TemporaryDirectory directory;
  const fs::path path = directory / "listener";
  fs::create_directory(path);
  EXPECT_THROW(Listener(io_, {.unix_path = path.string()}, calls()), std::system_error);
  EXPECT_TRUE(fs::exists(path));
}

// No descriptor can be had while it lives.
class NoDescriptors {
 public:
  NoDescriptors() {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    const Fd lowest(::dup(STDERR_FILENO));  // the next descriptor would be this one or above
    rlimit none = before_;
    none.rlim_cur = static_cast<rlim_t>(lowest.get());
    ::setrlimit(RLIMIT_NOFILE, &none);
  }
  ~NoDescriptors() { ::setrlimit(RLIMIT_NOFILE, &before_); }
  NoDescriptors(const NoDescriptors&) = delete;
  NoDescriptors& operator=(const NoDescriptors&) = delete;

 private:
  rlimit before_{};
};

TEST_F(ListenerTest, without_descriptors_it_pauses_and_lets_in_who_waited) {
  const Listener listener(io_, {.host = "127.0.0.1", .port = 0}, calls());
  const Fd client = connect_to(loopback(listener.port()));
  {
    const NoDescriptors none;
    run_until([this] { return !failures_.empty(); });
  }
  EXPECT_EQ(failures_[0], std::errc::too_many_files_open);
  run_until([this] { return accepted_.size() == 1; });
  EXPECT_EQ(failures_.size(), 1U);
}

TEST_F(ListenerTest, a_failure_that_lasts_neither_spins_nor_repeats_itself) {
  constexpr int kPauses = 5;
  const Listener listener(io_, {.host = "127.0.0.1", .port = 0}, calls());
  const Fd client = connect_to(loopback(listener.port()));
  const NoDescriptors none;
  // Each attempt is two turns of the loop: the accept, and the end of the pause.
  const std::size_t turns = io_.run_for(kPauses * Listener::kPauseAfterFailure);
  EXPECT_GE(turns, 4U) << "it tries again";
  EXPECT_LE(turns, 2U * (kPauses + 1));
  EXPECT_EQ(failures_.size(), 1U);
}

}  // namespace
}  // namespace cuckooguard::io
