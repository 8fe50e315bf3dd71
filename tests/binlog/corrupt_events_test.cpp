// Events of real servers, cut short and with bits turned over: refused, and never read beyond.

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "binlog/event_decoder.h"
#include "drain.h"
#include "recording.h"

namespace cuckooguard::binlog {
namespace {

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

bool is_format(const std::string& event) {
  return static_cast<EventType>(event[4]) == EventType::format_description;
}

class CorruptEvents : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    events_ = recorded_events(GetParam());
    ASSERT_TRUE(is_format(events_.front()));
    ASSERT_TRUE(decoder_.decode(events_.front()));
    ASSERT_EQ(decoder_.checksum(), ChecksumAlgorithm::crc32);
  }

  std::vector<std::string> events_;
  EventDecoder decoder_;
};

TEST_P(CorruptEvents, cut_at_any_byte_are_refused) {
  for (const std::string& event : events_) {
    for (std::size_t size = 0; size < event.size(); ++size) {
      const Exactly cut(std::string_view(event).substr(0, size));
      ASSERT_FALSE(decoder_.decode(cut.view())) << size << " of " << event.size();
    }
  }
}

TEST_P(CorruptEvents, with_any_byte_turned_over_are_refused) {
  for (const std::string& event : events_) {
    for (std::size_t i = 0; i < event.size(); ++i) {
      std::string turned = event;
      turned[i] = static_cast<char>(~turned[i]);
      ASSERT_FALSE(decoder_.decode(turned)) << "byte " << i << " of " << event.size();
    }
  }
}

// The server sets it in an open file, without a new checksum.
TEST_P(CorruptEvents, are_not_those_whose_file_is_in_use) {
  std::string open = events_.front();
  open[17] = static_cast<char>(open[17] ^ static_cast<char>(EventHeader::kInUse));
  EXPECT_TRUE(decoder_.decode(open));
  open[17] = static_cast<char>(open[17] ^ 2);
  EXPECT_FALSE(decoder_.decode(open));
}

// Without checksums anything goes: what comes out is not said, only that nothing is read that is
// not there.
TEST_P(CorruptEvents, without_checksums_are_read_within_their_bytes) {
  for (std::size_t turned = 0; turned < 2; ++turned) {
    Drain drain;
    drain.feed(without_checksum_algorithm(events_.front()));
    for (std::size_t k = 1; k < events_.size(); ++k) {
      const std::string whole = without_checksum(events_[k]);
      const std::size_t step = 1 + whole.size() / 64;
      for (std::size_t i = kEventHeaderBytes; i < whole.size(); i += step) {
        std::string changed = turned != 0 ? whole : whole.substr(0, i);
        if (turned != 0) {
          changed[i] = static_cast<char>(~changed[i]);
        }
        set_event_bytes(changed);
        drain.feed(Exactly(changed).view());
      }
      drain.feed(whole);
    }
    EXPECT_GT(drain.values(), 0U);
  }
}

INSTANTIATE_TEST_SUITE_P(All,
                         CorruptEvents,
                         ::testing::Values("mariadb_types_full",
                                           "mariadb_11_types_full",
                                           "mariadb_images",
                                           "mariadb_statements",
                                           "mariadb_compressed",
                                           "mysql_types_full",
                                           "mysql_images",
                                           "mysql_statements",
                                           "mysql_gtids",
                                           "mysql_compressed"),
                         [](const auto& instance) { return instance.param; });

}  // namespace
}  // namespace cuckooguard::binlog
