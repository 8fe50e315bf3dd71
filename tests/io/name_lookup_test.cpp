// Names whose look-up hangs, as with a resolver that does not answer: that is nothing to those who
// connect to another one, nor to the loop's end. And names with several addresses.
#include <array>
#include <atomic>
#include <cstring>
#include <functional>
#include <memory>
#include <semaphore>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netdb.h>

#include "io/asio_loop.h"
#include "io/listener.h"
#include "sockets.h"

namespace {

constexpr std::string_view kHangs = "hangs.test";  // then it is 127.0.0.1
// 127.0.0.1, 127.0.0.2, the first again, and one that no machine has (RFC 5737).
constexpr std::string_view kSeveral = "several.test";

std::atomic<int> asked{0};
std::counting_semaphore<> begun{0};
std::counting_semaphore<> may_end{0};

}  // namespace

// In place of the C library's, for this program.
extern "C" int getaddrinfo(const char* node,
                           const char* service,
                           const addrinfo* hints,
                           addrinfo** result) {
  using Lookup = int(const char*, const char*, const addrinfo*, addrinfo**);
  static auto* const kLookUp = reinterpret_cast<Lookup*>(::dlsym(RTLD_NEXT, "getaddrinfo"));
  if (node != nullptr && node == kSeveral) {
    for (const char* const each : {"127.0.0.1", "127.0.0.2", "127.0.0.1", "192.0.2.1"}) {
      if (const int error = kLookUp(each, service, hints, result)) {
        return error;
      }
      while (*result != nullptr) {
        result = &(*result)->ai_next;
      }
    }
    return 0;
  }
  if (node == nullptr || node != kHangs) {
    return kLookUp(node, service, hints, result);
  }
  ++asked;
  begun.release();
  may_end.acquire();
  return kLookUp("127.0.0.1", service, hints, result);
}

namespace cuckooguard::io {
namespace {

// Stops the loop when it has heard of this many connections.
class Connecting final : public Watcher {
 public:
  explicit Connecting(AsioLoop& loop, int connections = 1)
      : loop_(loop), connections_(connections) {}
  void on_ready(Readiness readiness) override {
    EXPECT_TRUE(readiness.writable);
    if (++heard_ == connections_) {
      loop_.stop();
    }
  }
  int heard() const { return heard_; }

 private:
  AsioLoop& loop_;
  int connections_;
  int heard_ = 0;
};

class NameLookup : public testing::Test {
 protected:
  NameLookup() { asked = 0; }

  // Until something stops it.
  void run() {
    const auto deadline = loop_->after(std::chrono::milliseconds(kPatienceMs), [this] {
      ADD_FAILURE() << "nothing has stopped the loop";
      loop_->stop();
    });
    loop_->run();
  }
  std::unique_ptr<Transport> connect(std::string_view host, Watcher& watcher) {
    auto transport = loop_->connect({.host = std::string(host), .port = port_.number()}, watcher);
    return transport;
  }

  const Port port_;
  std::unique_ptr<AsioLoop> loop_ = std::make_unique<AsioLoop>(BatchHooks{});
};

TEST_F(NameLookup, that_hangs_holds_up_no_other_name_and_not_the_end) {
  Connecting hanging(*loop_);
  Connecting other(*loop_);
  auto first = connect(kHangs, hanging);
  begun.acquire();
  auto second = connect("localhost", other);
  run();
  EXPECT_EQ(hanging.heard(), 0);
  EXPECT_EQ(other.heard(), 1);
  first.reset();
  second.reset();
  loop_.reset();  // would wait for ever
  may_end.release();
}

// An address may have moved since: who connects then must not be led to where it was.
TEST_F(NameLookup, that_had_begun_before_is_not_enough) {
  Connecting both(*loop_, 2);
  auto first = connect(kHangs, both);
  begun.acquire();
  auto second = connect(kHangs, both);
  auto third = connect(kHangs, both);
  third.reset();
  may_end.release(2);
  run();
  EXPECT_EQ(asked, 2) << "one for the first, one for those who came since";
  begun.acquire();
}

TEST(NamedListener, listens_on_each_address_of_a_name_that_there_is) {
  boost::asio::io_context io;
  std::vector<Fd> accepted;
  const auto listen = [&](std::uint16_t port) {
    return std::make_unique<Listener>(
        io,
        config::Address{.host = std::string(kSeveral), .port = port},
        Listener::Calls{.on_accept = [&](int socket) { accepted.emplace_back(socket); },
                        .on_failure = [](std::error_code) {}});
  };
  const auto listener = listen(0);
  std::vector<std::string> hosts;
  for (const config::Address& address : listener->addresses()) {
    EXPECT_EQ(address.port, listener->port());
    hosts.push_back(address.host);
  }
  EXPECT_THAT(hosts, testing::ElementsAre("127.0.0.1", "127.0.0.2"));
  const Fd first = connect_to(loopback(listener->port()));
  SocketAddress other = loopback(listener->port());
  reinterpret_cast<sockaddr_in*>(&other.storage)->sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1);
  const Fd second = connect_to(other);
  while (accepted.size() < 2 && io.run_one_for(std::chrono::milliseconds(kPatienceMs)) > 0) {
  }
  EXPECT_EQ(accepted.size(), 2U);
  EXPECT_THROW(listen(listener->port()), std::system_error) << "it is taken";
}

}  // namespace
}  // namespace cuckooguard::io
