// Nobody reads the guard's standard error any more (a log shipper that hangs): clients are served,
// and SIGTERM ends it, as ever. What could not be written is counted, and said once somebody reads
// again.

#include <csignal>
#include <string>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/certificates.h"
#include "harness/child_process.h"
#include "harness/guard_process.h"
#include "harness/ports.h"
#include "harness/redis_command.h"
#include "harness/redis_server.h"

namespace cuckooguard::harness {
namespace {

using testing::HasSubstr;

constexpr int kPipeBytes = 4096;  // the least that the kernel gives

class UnreadLog : public testing::Test {
 protected:
  UnreadLog() {
    write_certificates(directory_.path());
    write_configuration("");
    EXPECT_EQ(::mkfifo(directory_.file("log").c_str(), 0600), 0);
    reader_ = ::open(directory_.file("log").c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    EXPECT_EQ(::fcntl(reader_, F_SETPIPE_SZ, kPipeBytes), kPipeBytes);
    guard_.emplace(
        std::vector<std::string>{guard_binary(), "--config", directory_.file("guard.yaml")},
        ChildProcess::Output{directory_ / "output", directory_ / "log"});
    EXPECT_TRUE(eventually([this] { return read_some().contains("event=listening"); })) << log_;
  }
  void TearDown() override { ::close(reader_); }

  void write_configuration(const std::string& more) {
    write_whole_file(directory_ / "guard.yaml",
                     "listen: [ " + local(port_) + ", { address: '" + local(tls_port_) +
                         "', tls: { cert: " + directory_.file("server.crt") +
                         ", key: " + directory_.file("server.key") +
                         " } } ]\nupstream: " + local(redis_.port()) + "\nadmin: { address: '" +
                         local(admin_port_) + "' }\nworkers: 1\ndrain_timeout: 0s\n" + more);
  }
  static std::string local(std::uint16_t port) { return "127.0.0.1:" + std::to_string(port); }

  RawClient client() const { return RawClient::to_port(port_); }
  // A line per wrong key, each time: so many are written whoever asks.
  void have_log(std::size_t lines) {
    constexpr std::size_t kOfOne = 1000;
    std::string wrong;
    for (std::size_t i = 0; i < kOfOne; ++i) {
      wrong += "wrong" + std::to_string(i) + ": 1\n";
    }
    write_configuration(wrong);
    for (std::size_t written = 0; written < lines; written += kOfOne) {
      ASSERT_THAT(ask("POST /-/reload"), HasSubstr("wrong"));
    }
  }
  void have_worker_log() const {
    RawClient plain = RawClient::to_port(tls_port_);
    plain.send("GET / HTTP/1.1\r\n\r\n");
    plain.read_until_closed();
  }
  const std::string& read_some() {
    std::string bytes(kPipeBytes, '\0');
    const ssize_t count = ::read(reader_, bytes.data(), bytes.size());
    return log_.append(bytes, 0, static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
  }
  std::string ask(const std::string& request) const {
    RawClient admin = RawClient::to_port(admin_port_);
    admin.send(request + " HTTP/1.0\r\nHost: 127.0.0.1\r\nContent-Length: 0\r\n\r\n");
    return admin.read_until_closed();
  }
  std::string dropped_lines() const {
    const std::string text = ask("GET /metrics");
    constexpr std::string_view kName = "\ncuckooguard_log_dropped_lines_total ";
    const std::size_t at = text.find(kName);
    return at == std::string::npos
               ? text
               : text.substr(at + kName.size(), text.find('\n', at + 1) - at - kName.size());
  }

  const TemporaryDirectory directory_;
  RedisServer redis_;
  std::uint16_t port_ = free_port();
  std::uint16_t tls_port_ = free_port();
  std::uint16_t admin_port_ = free_port();
  int reader_ = -1;
  std::string log_;  // what has been read
  std::optional<ChildProcess> guard_;
};

TEST_F(UnreadLog, holds_up_no_client_and_no_end) {
  constexpr std::size_t kMoreThanWaits = 10'000;
  have_log(kMoreThanWaits);
  have_worker_log();
  EXPECT_EQ(client().call({"SET", "key", "value"}), kOk);
  guard_->send_signal(SIGTERM);
  EXPECT_EQ(guard_->exit_code(milliseconds(10'000)), 0);
}

TEST_F(UnreadLog, is_counted_where_it_is_missing) {
  constexpr std::size_t kMoreThanWaits = 10'000;
  have_log(kMoreThanWaits);
  const std::string dropped = dropped_lines();
  EXPECT_GT(std::stoul(dropped), 0U);
  ASSERT_TRUE(eventually([&] {
    return read_some().contains("event=log_dropped count=" + dropped + "\n");
  })) << dropped;
  have_worker_log();
  EXPECT_TRUE(eventually([&] { return read_some().contains("event=client_tls_failed"); }));
  guard_->send_signal(SIGTERM);
  EXPECT_TRUE(eventually([&] { return read_some().contains("event=drained"); }));
  EXPECT_EQ(guard_->exit_code(), 0);
}

}  // namespace
}  // namespace cuckooguard::harness
