#include "io/asio_loop.h"

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "harness/temporary_directory.h"
#include "io/clock.h"
#include "sockets.h"

namespace cuckooguard::io {
namespace {

using std::chrono::milliseconds;

struct CallingWatcher final : Watcher {
  explicit CallingWatcher(std::function<void(Readiness)> call) : call_(std::move(call)) {}
  void on_ready(Readiness readiness) override { call_(readiness); }

 private:
  std::function<void(Readiness)> call_;
};

struct NamedFlush final : Flushable {
  NamedFlush(std::vector<std::string>& log, std::string name) : log_(log), name_(std::move(name)) {}
  void flush() override {
    log_.push_back(name_);
    if (then) {
      then();
    }
  }
  std::function<void()> then;

 private:
  std::vector<std::string>& log_;
  std::string name_;
};

struct NamedDisposable final : Disposable {
  NamedDisposable(std::vector<std::string>& log, std::string name)
      : log_(log), name_(std::move(name)) {}
  ~NamedDisposable() override { log_.push_back(name_); }
  NamedDisposable(const NamedDisposable&) = delete;
  NamedDisposable& operator=(const NamedDisposable&) = delete;

 private:
  std::vector<std::string>& log_;
  std::string name_;
};

class AsioLoopTest : public ::testing::Test {
 protected:
  // Until something calls loop_.stop().
  void run() {
    const auto deadline = loop_.after(milliseconds(kPatienceMs), [this] {
      ADD_FAILURE() << "nothing has stopped the loop";
      loop_.stop();
    });
    loop_.run();
  }

  std::vector<std::string> log_;
  AsioLoop loop_{{.begin = [this] { log_.emplace_back("begin"); },
                  .end = [this] { log_.emplace_back("end"); }}};
};

using Log = std::vector<std::string>;

TEST_F(AsioLoopTest, a_batch_flushes_upstreams_then_clients_then_disposes) {
  NamedFlush upstream(log_, "upstream");
  NamedFlush client(log_, "client");
  loop_.post([&] {
    loop_.dispose(std::make_unique<NamedDisposable>(log_, "disposed"));
    loop_.flush_at_batch_end(client, FlushOrder::client_last);
    loop_.flush_at_batch_end(upstream, FlushOrder::upstream_first);
    log_.emplace_back("work");
    loop_.stop();
  });
  run();
  EXPECT_EQ(log_, (Log{"begin", "work", "upstream", "client", "disposed", "end"}));
}

TEST_F(AsioLoopTest, what_a_flush_queues_is_flushed_in_the_same_batch) {
  NamedFlush first(log_, "first");
  NamedFlush second(log_, "second");
  first.then = [&] {
    loop_.flush_at_batch_end(second, FlushOrder::client_last);
    loop_.dispose(std::make_unique<NamedDisposable>(log_, "disposed"));
  };
  loop_.post([&] {
    loop_.flush_at_batch_end(first, FlushOrder::upstream_first);
    loop_.stop();
  });
  run();
  EXPECT_EQ(log_, (Log{"begin", "first", "second", "disposed", "end"}));
}

TEST_F(AsioLoopTest, a_flush_is_of_one_batch) {
  NamedFlush flush(log_, "flush");
  loop_.post([&] { loop_.flush_at_batch_end(flush, FlushOrder::client_last); });
  loop_.post([&] { loop_.stop(); });
  run();
  EXPECT_EQ(log_, (Log{"begin", "flush", "end", "begin", "end"}));
}

TEST_F(AsioLoopTest, all_that_is_ready_is_one_batch) {
  constexpr std::size_t kSockets = 300;  // more than one epoll_wait takes
  std::vector<Pair> pairs;
  std::vector<std::unique_ptr<CallingWatcher>> watchers;
  std::vector<std::unique_ptr<Transport>> transports;
  std::size_t read = 0;
  for (std::size_t i = 0; i < kSockets; ++i) {
    pairs.push_back(Pair::local());
    transports.push_back(loop_.adopt(pairs.back().ours.release()));
    Transport& transport = *transports.back();
    watchers.push_back(std::make_unique<CallingWatcher>([&](Readiness) {
      EXPECT_EQ(transport.read(loop_.read_buffer()).bytes, 5U);
      if (++read == kSockets) {
        loop_.stop();
      }
    }));
    transport.bind(*watchers.back());
    transport.watch(Interest::read);
    pairs.back().theirs.send("hello");
  }
  run();
  EXPECT_EQ(read, kSockets);
  EXPECT_EQ(log_, (Log{"begin", "end"}));
}

TEST_F(AsioLoopTest, a_transport_closed_by_another_in_the_batch_is_not_told) {
  std::array<Pair, 2> pairs{Pair::local(), Pair::local()};
  std::array<std::unique_ptr<Transport>, 2> transports;
  int told = 0;
  const auto close_the_other = [&](std::size_t other) {
    return CallingWatcher([&, other](Readiness) {
      ++told;
      transports.at(other)->close();
      loop_.stop();
    });
  };
  std::array<CallingWatcher, 2> watchers{close_the_other(1), close_the_other(0)};
  for (std::size_t i = 0; i < 2; ++i) {
    transports.at(i) = loop_.adopt(pairs.at(i).ours.release());
    transports.at(i)->bind(watchers.at(i));
    transports.at(i)->watch(Interest::read);
    pairs.at(i).theirs.send("x");
  }
  run();
  EXPECT_EQ(told, 1);
}

TEST_F(AsioLoopTest, a_timer_is_a_batch_and_a_destroyed_one_never_comes) {
  auto never = loop_.after(milliseconds(1), [this] { log_.emplace_back("never"); });
  const auto timer = loop_.after(milliseconds(20), [this] {
    log_.emplace_back("timer");
    loop_.stop();
  });
  never.reset();
  run();
  EXPECT_EQ(log_, (Log{"begin", "timer", "end"}));
}

TEST_F(AsioLoopTest, a_timer_that_is_due_at_the_same_time_as_the_one_that_destroys_it_never_comes) {
  std::array<std::unique_ptr<Timer>, 2> timers;
  for (std::size_t i = 0; i < timers.size(); ++i) {
    timers[i] = loop_.after(milliseconds(1), [&, i] {
      timers[1 - i].reset();
      log_.emplace_back("timer");
    });
  }
  const auto end = loop_.after(milliseconds(20), [this] { loop_.stop(); });
  const TimePoint due = now_since_boot() + milliseconds(2);
  while (now_since_boot() < due) {
  }
  run();
  EXPECT_EQ(std::ranges::count(log_, "timer"), 1);
}

TEST_F(AsioLoopTest, a_timer_may_destroy_itself_while_it_is_called) {
  std::unique_ptr<Timer> timer;
  timer = loop_.after(milliseconds(1), [&, text = std::string(100, 'x')] {
    timer.reset();
    log_.push_back(text.substr(0, 1));
    loop_.stop();
  });
  run();
  EXPECT_EQ(log_, (Log{"begin", "x", "end"}));
}

class AsioConnectTest : public AsioLoopTest {
 protected:
  // The first thing the watcher of a connect() hears.
  Readiness outcome(const config::Address& address) {
    Readiness heard;
    bool within_connect = true;
    CallingWatcher watcher([&](Readiness readiness) {
      EXPECT_FALSE(within_connect);
      heard = readiness;
      loop_.stop();
    });
    transport_ = loop_.connect(address, watcher);
    within_connect = false;
    run();
    return heard;
  }

  std::unique_ptr<Transport> transport_;
};

TEST_F(AsioConnectTest, connects_to_a_numeric_address) {
  const Port port;
  EXPECT_TRUE(outcome({.host = "127.0.0.1", .port = port.number()}).writable);
  transport_->write(std::array{std::string_view("hello")});
  EXPECT_EQ(port.accept().receive(5), "hello");
}

TEST_F(AsioConnectTest, connects_to_a_name_whichever_of_its_addresses_answers) {
  const Port port;  // on 127.0.0.1 only; localhost may be ::1 first
  EXPECT_TRUE(outcome({.host = "localhost", .port = port.number()}).writable);
}

TEST_F(AsioConnectTest, connects_to_a_unix_socket) {
  const harness::TemporaryDirectory directory;
  const Fd listening(::socket(AF_UNIX, SOCK_STREAM, 0));
  const SocketAddress address = unix_at(directory / "socket");
  checked(
      ::bind(listening.get(), reinterpret_cast<const sockaddr*>(&address.storage), address.length),
      "bind");
  checked(::listen(listening.get(), 1), "listen");
  EXPECT_TRUE(outcome({.unix_path = (directory / "socket").string()}).writable);
}

// A Unix socket does not wait for room as TCP does: it refuses for the moment.
TEST_F(AsioConnectTest, a_unix_socket_with_a_full_backlog_is_waited_for) {
  const harness::TemporaryDirectory directory;
  const Fd listening(::socket(AF_UNIX, SOCK_STREAM, 0));
  const SocketAddress address = unix_at(directory / "socket");
  const auto* const target = reinterpret_cast<const sockaddr*>(&address.storage);
  checked(::bind(listening.get(), target, address.length), "bind");
  checked(::listen(listening.get(), 1), "listen");
  std::vector<Fd> others;
  for (bool has_room = true; has_room;) {
    others.emplace_back(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0));
    has_room = ::connect(others.back().get(), target, address.length) == 0;
  }
  ASSERT_EQ(errno, EAGAIN);
  std::vector<Fd> accepted;
  const auto timer = loop_.after(std::chrono::milliseconds(30), [&] {
    for (std::size_t i = 0; i + 1 < others.size(); ++i) {
      accepted.emplace_back(::accept(listening.get(), nullptr, nullptr));
    }
  });
  EXPECT_TRUE(outcome({.unix_path = (directory / "socket").string()}).writable);
  EXPECT_FALSE(accepted.empty());
}

TEST_F(AsioConnectTest, a_port_or_a_path_that_nobody_answers_on_hangs_up) {
  const Port silent(false);
  EXPECT_TRUE(outcome({.host = "127.0.0.1", .port = silent.number()}).hung_up);
}

TEST_F(AsioConnectTest, a_unix_path_that_is_not_there_hangs_up) {
  const harness::TemporaryDirectory directory;
  EXPECT_TRUE(outcome({.unix_path = (directory / "nobody").string()}).hung_up);
}

TEST_F(AsioConnectTest, a_transport_destroyed_before_its_name_is_resolved_is_not_told) {
  const Port port;
  CallingWatcher watcher([](Readiness) { ADD_FAILURE() << "told of a connection that is gone"; });
  loop_.connect({.host = "localhost", .port = port.number()}, watcher).reset();
  loop_.connect({.host = "127.0.0.1", .port = port.number()}, watcher).reset();
  // The resolver answers in the order it is asked.
  EXPECT_TRUE(outcome({.host = "localhost", .port = port.number()}).writable);
}

TEST_F(AsioLoopTest, what_cannot_be_adopted_is_said_so) {
  EXPECT_EQ(loop_.adopt(-1), nullptr);
}

}  // namespace
}  // namespace cuckooguard::io
