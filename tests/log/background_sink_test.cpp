#include "log/background_sink.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace cuckooguard::log {
namespace {

using testing::EndsWith;
using testing::StartsWith;

constexpr std::chrono::seconds kPatience{20};

// In place of standard error.
class Pipe {
 public:
  Pipe() {
    constexpr int kBytes = 4096;  // the least that the kernel gives
    EXPECT_EQ(::pipe2(ends_.data(), O_CLOEXEC), 0);
    EXPECT_EQ(::fcntl(ends_[1], F_SETPIPE_SZ, kBytes), kBytes);
  }
  ~Pipe() {
    ::close(ends_[0]);
    ::close(ends_[1]);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  int writing() const { return ends_[1]; }
  std::string read_some() const {
    std::array<char, 4096> bytes{};
    const ssize_t count = ::read(ends_[0], bytes.data(), bytes.size());
    return {bytes.data(), static_cast<std::size_t>(std::max<ssize_t>(count, 0))};
  }
  void fill() const {
    ::fcntl(ends_[1], F_SETFL, O_NONBLOCK);
    const std::array<char, 4096> bytes{};
    while (::write(ends_[1], bytes.data(), bytes.size()) > 0) {
    }
    ::fcntl(ends_[1], F_SETFL, 0);
  }

 private:
  std::array<int, 2> ends_{};
};

class BackgroundSinkTest : public testing::Test {
 protected:
  void log_lines(std::size_t from, std::size_t to) {
    for (std::size_t i = from; i < to; ++i) {
      sink_->write("line " + std::to_string(i) + "\n");
    }
  }
  // Whether it does by itself. Else somebody reads, so that the test ends.
  bool ends(const std::function<void()>& call) const {
    const auto done = std::async(std::launch::async, call);
    if (done.wait_for(kPatience) == std::future_status::ready) {
      return true;
    }
    while (done.wait_for(std::chrono::seconds(0)) != std::future_status::ready) {
      pipe_.read_some();
    }
    return false;
  }
  std::vector<std::string> lines_until(const std::string& last) const {
    std::string text;
    while (!text.ends_with("\n") || !text.contains(last)) {
      text += pipe_.read_some();
    }
    std::vector<std::string> lines;
    std::istringstream all(text);
    for (std::string line; std::getline(all, line);) {
      lines.push_back(line);
    }
    return lines;
  }

  Pipe pipe_;
  std::unique_ptr<BackgroundSink> sink_ = std::make_unique<BackgroundSink>(pipe_.writing());
};

constexpr std::size_t kMore = 2 * BackgroundSink::kLinesMax;

TEST_F(BackgroundSinkTest, whoever_logs_does_not_wait_for_whoever_reads) {
  ASSERT_TRUE(ends([this] { log_lines(0, kMore); }));
  EXPECT_GE(sink_->dropped(), kMore - BackgroundSink::kLinesMax - 4096);
  lines_until("log_dropped");
}

TEST_F(BackgroundSinkTest, what_was_dropped_is_counted_where_it_is_missing) {
  ASSERT_TRUE(ends([this] { log_lines(0, kMore); }));
  const std::uint64_t dropped = sink_->dropped();
  const std::vector<std::string> lines = lines_until("log_dropped");
  ASSERT_EQ(lines.size(), kMore - dropped + 1);
  for (std::size_t i = 0; i + 1 < lines.size(); ++i) {
    ASSERT_EQ(lines[i], "line " + std::to_string(i));
  }
  EXPECT_THAT(lines.back(),
              EndsWith(" warning event=log_dropped count=" + std::to_string(dropped)));
  sink_->write("one more\n");
  EXPECT_EQ(lines_until("one more"), std::vector<std::string>{"one more"});
}

TEST_F(BackgroundSinkTest, each_gap_is_counted_by_itself_and_the_sum_kept) {
  ASSERT_TRUE(ends([this] { log_lines(0, kMore); }));
  const std::uint64_t first = sink_->dropped();
  lines_until("log_dropped");
  ASSERT_TRUE(ends([this] { log_lines(0, kMore); }));
  const std::string line = lines_until("log_dropped").back();
  EXPECT_THAT(
      line,
      EndsWith(" warning event=log_dropped count=" + std::to_string(sink_->dropped() - first)));
}

TEST_F(BackgroundSinkTest, the_count_is_json_among_json) {
  sink_->set_format(config::LogFormat::json);
  ASSERT_TRUE(ends([this] { log_lines(0, kMore); }));
  EXPECT_THAT(lines_until("log_dropped").back(), StartsWith("{\"time\":\""));
}

TEST_F(BackgroundSinkTest, a_reader_who_reads_gets_all) {
  auto lines = std::async(std::launch::async, [this] { return lines_until("the last"); });
  for (std::size_t i = 0; i < 100; ++i) {
    log_lines(i, i + 1);
    ASSERT_TRUE(sink_->finish(kPatience));
  }
  sink_->write("the last\n");
  EXPECT_EQ(lines.get().size(), 101U);
  EXPECT_EQ(sink_->dropped(), 0U);
}

TEST(BackgroundSink, ends_although_nobody_reads) {
  const Pipe pipe;
  pipe.fill();
  auto sink = std::make_unique<BackgroundSink>(pipe.writing());
  sink->write("the last\n");
  auto ended = std::async(std::launch::async, [&sink] { sink.reset(); });
  const bool has_ended = ended.wait_for(kPatience) == std::future_status::ready;
  EXPECT_TRUE(has_ended);
  while (!pipe.read_some().contains("the last")) {  // before the pipe goes
  }
}

}  // namespace
}  // namespace cuckooguard::log
