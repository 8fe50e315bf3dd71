// Names whose look-up hangs, as with a resolver that does not answer: for whom the loop connects to
// another one, and whoever ends it, that is nothing.
#include <array>
#include <atomic>
#include <cstring>
#include <functional>
#include <memory>
#include <semaphore>
#include <string>
#include <string_view>

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <netdb.h>

#include "io/asio_loop.h"
#include "sockets.h"

namespace {

constexpr std::string_view kHangs = "hangs.test";  // then it is 127.0.0.1

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

}  // namespace
}  // namespace cuckooguard::io
