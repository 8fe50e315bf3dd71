#include "io/socket_transport.h"

#include <array>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>

#include "harness/temporary_directory.h"
#include "sockets.h"

namespace cuckooguard::io {
namespace {

struct Recorder final : Watcher {
  void on_ready(Readiness readiness) override { heard.push_back(readiness); }
  std::vector<Readiness> heard;
};

// A transport in an epoll set of the test's own: nothing happens but what the test asks for.
class SocketTransportTest : public ::testing::Test {
 protected:
  // Waits for events and delivers them; 0: only those that are there. The number delivered.
  int deliver(int wait_ms = kPatienceMs) {
    std::array<epoll_event, 16> events;
    const int count = ::epoll_wait(epoll_.get(), events.data(), 16, wait_ms);
    for (int i = 0; i < count; ++i) {
      static_cast<SocketTransport*>(events.at(static_cast<std::size_t>(i)).data.ptr)
          ->deliver(events.at(static_cast<std::size_t>(i)).events);
    }
    return count;
  }

  std::unique_ptr<SocketTransport> adopted(Fd& socket) {
    EXPECT_FALSE(prepare_socket(socket.get()));
    auto transport = std::make_unique<SocketTransport>(epoll_.get(), socket.release());
    transport->bind(watcher_);
    return transport;
  }

  std::unique_ptr<SocketTransport> connecting(std::vector<SocketAddress> addresses) {
    auto transport = std::make_unique<SocketTransport>(epoll_.get(), -1);
    transport->bind(watcher_);
    EXPECT_TRUE(transport->connect(std::move(addresses)));
    return transport;
  }

  static std::string read(SocketTransport& transport) {
    std::array<char, 64> buffer;
    const Transfer transfer = transport.read(buffer);
    EXPECT_EQ(transfer.status, Status::ok);
    return {buffer.data(), transfer.bytes};
  }

  static Transfer write(SocketTransport& transport, std::string_view text) {
    return transport.write(std::array{text});
  }

  Fd epoll_{::epoll_create1(EPOLL_CLOEXEC)};
  Recorder watcher_;
};

TEST_F(SocketTransportTest, nothing_is_told_of_what_was_not_asked_for) {
  Pair pair = Pair::tcp();
  const auto transport = adopted(pair.ours);
  transport->watch(Interest::none);
  pair.theirs.send("x");
  EXPECT_EQ(deliver(0), 0);
  transport->watch(Interest::read);
  EXPECT_EQ(deliver(), 1);
  ASSERT_EQ(watcher_.heard.size(), 1U);
  EXPECT_TRUE(watcher_.heard[0].readable);
  EXPECT_FALSE(watcher_.heard[0].writable);
}

TEST_F(SocketTransportTest, readiness_is_told_until_all_is_read) {
  Pair pair = Pair::local();
  const auto transport = adopted(pair.ours);
  transport->watch(Interest::read);
  pair.theirs.send("abc");
  EXPECT_EQ(deliver(), 1);
  EXPECT_EQ(deliver(), 1);
  EXPECT_EQ(read(*transport), "abc");
  EXPECT_EQ(deliver(0), 0);
}

TEST_F(SocketTransportTest, a_peer_that_says_no_more_can_still_be_written_to) {
  Pair pair = Pair::tcp();
  const auto transport = adopted(pair.ours);
  transport->watch(Interest::read);
  ::shutdown(pair.theirs.get(), SHUT_WR);
  EXPECT_EQ(deliver(), 1);
  EXPECT_FALSE(watcher_.heard.back().hung_up);
  std::array<char, 8> buffer;
  EXPECT_EQ(transport->read(buffer).status, Status::closed);
  EXPECT_EQ(write(*transport, "still").bytes, 5U);
  EXPECT_EQ(pair.theirs.receive(5), "still");
}

TEST_F(SocketTransportTest, finish_writing_is_the_end_for_the_peer_and_not_for_us) {
  Pair pair = Pair::tcp();
  const auto transport = adopted(pair.ours);
  transport->watch(Interest::read);
  write(*transport, "last");
  transport->finish_writing();
  EXPECT_EQ(pair.theirs.receive(100), "last");
  pair.theirs.send("reply");
  EXPECT_EQ(deliver(), 1);
  EXPECT_EQ(read(*transport), "reply");
}

TEST_F(SocketTransportTest, a_hang_up_is_told_once_and_does_not_spin_when_nothing_is_asked_for) {
  for (const bool is_tcp : {true, false}) {
    Pair pair = is_tcp ? Pair::tcp() : Pair::local();
    const auto transport = adopted(pair.ours);
    watcher_.heard.clear();
    transport->watch(Interest::none);
    pair.theirs.reset_connection();
    EXPECT_EQ(deliver(), 1);
    ASSERT_EQ(watcher_.heard.size(), 1U);
    EXPECT_TRUE(watcher_.heard[0].hung_up);
    EXPECT_EQ(deliver(0), 0);
    transport->watch(Interest::none);
    EXPECT_EQ(deliver(0), 0);
  }
}

TEST_F(SocketTransportTest, a_peer_that_says_no_more_is_told_of_once_when_nothing_is_asked_for) {
  Pair pair = Pair::tcp();
  const auto transport = adopted(pair.ours);
  transport->watch(Interest::none);
  pair.theirs.send("unread");
  EXPECT_EQ(deliver(0), 0);
  ::shutdown(pair.theirs.get(), SHUT_WR);
  EXPECT_EQ(deliver(), 1);
  EXPECT_TRUE(watcher_.heard.back().has_finished);
  EXPECT_FALSE(watcher_.heard.back().hung_up);
  EXPECT_EQ(deliver(0), 0);
}

TEST_F(SocketTransportTest, what_arrived_before_a_hang_up_can_be_read) {
  Pair pair = Pair::local();
  const auto transport = adopted(pair.ours);
  transport->watch(Interest::read);
  pair.theirs.send("farewell");
  pair.theirs.reset();
  EXPECT_EQ(deliver(), 1);
  EXPECT_TRUE(watcher_.heard.back().readable);
  EXPECT_TRUE(watcher_.heard.back().hung_up);
  EXPECT_EQ(read(*transport), "farewell");
  std::array<char, 8> buffer;
  EXPECT_EQ(transport->read(buffer).status, Status::closed);
}

TEST_F(SocketTransportTest, a_full_socket_would_block_and_is_writable_when_the_peer_has_read) {
  Pair pair = Pair::local();
  const auto transport = adopted(pair.ours);
  const std::string block(100'000, 'x');
  std::size_t written = 0;
  Transfer transfer;
  while ((transfer = write(*transport, block)).status == Status::ok) {
    written += transfer.bytes;
  }
  EXPECT_EQ(transfer.status, Status::would_block);
  transport->watch(Interest::write);
  EXPECT_EQ(deliver(0), 0);
  EXPECT_EQ(pair.theirs.receive(written).size(), written);
  EXPECT_EQ(deliver(), 1);
  EXPECT_TRUE(watcher_.heard.back().writable);
}

TEST_F(SocketTransportTest, pieces_leave_as_one_and_no_more_than_the_limit_are_looked_at) {
  Pair pair = Pair::tcp();
  const auto transport = adopted(pair.ours);
  const std::vector<std::string_view> pieces(Transport::kPiecesMax + 10, "ab");
  const Transfer transfer = transport->write(pieces);
  EXPECT_EQ(transfer.status, Status::ok);
  EXPECT_EQ(transfer.bytes, 2 * Transport::kPiecesMax);
  EXPECT_EQ(pair.theirs.receive(4), "abab");
}

TEST_F(SocketTransportTest, writing_to_a_peer_that_is_gone_fails_without_a_signal) {
  Pair pair = Pair::local();
  const auto transport = adopted(pair.ours);
  pair.theirs.reset();
  EXPECT_EQ(write(*transport, "x").status, Status::failed);
}

TEST_F(SocketTransportTest, close_is_heard_by_the_peer_and_nothing_is_told_afterwards) {
  Pair pair = Pair::tcp();
  const auto transport = adopted(pair.ours);
  transport->watch(Interest::both);
  transport->close();
  transport->close();
  EXPECT_FALSE(transport->is_open());
  EXPECT_EQ(pair.theirs.receive(1), "");
  EXPECT_EQ(deliver(0), 0);
  transport->deliver(EPOLLIN);  // was in the batch at hand
  EXPECT_TRUE(watcher_.heard.empty());
  EXPECT_NE(write(*transport, "x").status, Status::ok);
}

TEST_F(SocketTransportTest, a_connection_that_is_up_is_told_as_writable) {
  const Port port;
  const auto transport = connecting({port.address()});
  EXPECT_EQ(write(*transport, "early").status, Status::would_block);
  EXPECT_EQ(deliver(), 1);
  ASSERT_EQ(watcher_.heard.size(), 1U);
  EXPECT_TRUE(watcher_.heard[0].writable);
  EXPECT_FALSE(watcher_.heard[0].hung_up);
  EXPECT_EQ(write(*transport, "hello").bytes, 5U);
  EXPECT_EQ(port.accept().receive(5), "hello");
}

TEST_F(SocketTransportTest, what_was_watched_for_while_connecting_counts_afterwards) {
  const Port port;
  const auto transport = connecting({port.address()});
  transport->watch(Interest::read);
  EXPECT_EQ(deliver(), 1);
  const Fd theirs = port.accept();
  theirs.send("hi");
  EXPECT_EQ(deliver(), 1);
  EXPECT_TRUE(watcher_.heard.back().readable);
}

TEST_F(SocketTransportTest, the_next_address_is_tried_when_one_refuses) {
  const Port silent(false);
  const Port port;
  const harness::TemporaryDirectory directory;
  const auto transport =
      connecting({unix_at(directory / "nobody"), silent.address(), port.address()});
  while (watcher_.heard.empty() && deliver() > 0) {
  }
  ASSERT_EQ(watcher_.heard.size(), 1U);
  EXPECT_TRUE(watcher_.heard[0].writable);
  EXPECT_EQ(write(*transport, "x").status, Status::ok);
  EXPECT_EQ(port.accept().receive(1), "x");
}

TEST_F(SocketTransportTest,
       when_every_address_refuses_the_watcher_hears_of_it_once_with_the_reason) {
  const Port silent(false);
  const auto transport = connecting({silent.address(), silent.address()});
  while (watcher_.heard.empty() && deliver() > 0) {
  }
  ASSERT_EQ(watcher_.heard.size(), 1U);
  EXPECT_TRUE(watcher_.heard[0].hung_up);
  EXPECT_EQ(transport->why_ended(), "Connection refused");
}

TEST_F(SocketTransportTest, a_name_without_addresses_is_a_connection_that_cannot_be) {
  const auto transport = connecting({});
  ASSERT_EQ(watcher_.heard.size(), 1U);
  EXPECT_TRUE(watcher_.heard[0].hung_up);
  EXPECT_EQ(transport->why_ended(), "Name or service not known");
}

TEST_F(SocketTransportTest, a_closed_transport_does_not_connect_any_more) {
  const Port port;
  auto transport = std::make_unique<SocketTransport>(epoll_.get(), -1);
  transport->bind(watcher_);
  const auto waiting = transport->weak_self();
  EXPECT_FALSE(waiting.expired());
  transport->close();
  EXPECT_TRUE(waiting.expired());
  EXPECT_TRUE(transport->connect({port.address()}));
  EXPECT_TRUE(watcher_.heard.empty());
}

TEST(PrepareSocket, does_not_block_is_not_inherited_and_does_not_wait_for_more) {
  const Pair pair = Pair::tcp();
  ASSERT_FALSE(prepare_socket(pair.ours.get()));
  std::array<char, 1> buffer;
  EXPECT_EQ(::recv(pair.ours.get(), buffer.data(), buffer.size(), 0), -1);
  EXPECT_EQ(errno, EAGAIN);
  for (const auto& [level, option] : {std::pair<int, int>{IPPROTO_TCP, TCP_NODELAY},
                                      std::pair<int, int>{SOL_SOCKET, SO_KEEPALIVE}}) {
    int value = 0;
    socklen_t length = sizeof value;
    ::getsockopt(pair.ours.get(), level, option, &value, &length);
    EXPECT_NE(value, 0);
  }
}

TEST(PrepareSocket, takes_unix_sockets_too_and_says_so_of_what_is_none) {
  const Pair pair = Pair::local();
  EXPECT_FALSE(prepare_socket(pair.ours.get()));
  EXPECT_TRUE(prepare_socket(-1));
}

}  // namespace
}  // namespace cuckooguard::io
