// Messages of a real server, cut short and with bytes changed: never read beyond.

#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "made_messages.h"
#include "pgoutput/message_decoder.h"
#include "recording.h"

namespace cuckooguard::pgoutput {
namespace {

using Reason = DecodeError::Reason;

// Bytes that end where a sanitizer sees it.
class Exactly {
 public:
  explicit Exactly(std::string_view bytes) : bytes_(new char[bytes.size()]), size_(bytes.size()) {
    std::copy(bytes.begin(), bytes.end(), bytes_.get());
  }
  std::string_view view() const { return {bytes_.get(), size_}; }

 private:
  std::unique_ptr<char[]> bytes_;
  std::size_t size_;
};

class CorruptMessages : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    for (const std::string& bytes : recorded_messages(GetParam())) {
      const auto outer = decode_replication_message(bytes);
      ASSERT_TRUE(outer);
      if (const auto* data = std::get_if<WalMessage>(&*outer)) {
        payloads_.emplace_back(data->payload);
      }
    }
    ASSERT_FALSE(payloads_.empty());
  }

  MessageDecoder decoder_;
  std::vector<std::string> payloads_;
};

TEST_P(CorruptMessages, cut_at_any_byte_are_refused) {
  for (const std::string& payload : payloads_) {
    for (std::size_t size = 0; size < payload.size(); ++size) {
      const Exactly cut(std::string_view(payload).substr(0, size));
      const auto message = decoder_.decode(cut.view());
      ASSERT_FALSE(message) << payload[0] << " at " << size;
      ASSERT_EQ(message.error().reason, Reason::truncated) << payload[0] << " at " << size;
    }
  }
}

TEST_P(CorruptMessages, with_a_byte_too_many_are_refused) {
  for (const std::string& payload : payloads_) {
    for (const char more : {'\0', 'N', 't'}) {
      const auto message = decoder_.decode(payload + more);
      ASSERT_FALSE(message) << payload[0];
      ASSERT_EQ(message.error().reason, Reason::trailing_bytes) << payload[0];
    }
  }
}

// What comes out is not said, only that it is what the bytes say and nothing else.
TEST_P(CorruptMessages, with_bytes_changed_are_refused_or_read_as_they_are) {
  constexpr int kChanged = 200;
  std::mt19937 random(1);
  std::size_t read = 0;
  std::size_t refused = 0;
  for (const std::string& payload : payloads_) {
    for (int i = 0; i < kChanged; ++i) {
      std::string changed = payload;
      for (auto count = 1 + random() % 3; count != 0; --count) {
        // Mostly near the front, where a message has its structure.
        const std::size_t at = random() % std::min<std::size_t>(changed.size(), 64);
        changed[at] = static_cast<char>(random());
      }
      const Exactly exactly(changed);
      const auto message = decoder_.decode(exactly.view());
      ++(message ? read : refused);
      ASSERT_TRUE(!message || bytes_of(*message) == changed);
    }
  }
  EXPECT_GT(read, 0U);
  EXPECT_GT(refused, 0U);
}

INSTANTIATE_TEST_SUITE_P(All,
                         CorruptMessages,
                         ::testing::Values("changes", "two_phase", "binary"),
                         [](const auto& instance) { return instance.param; });

}  // namespace
}  // namespace cuckooguard::pgoutput
