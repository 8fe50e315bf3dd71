// Asks hiredis where replies end. hiredis 0.14 speaks RESP2 and nests seven deep; 1.0 and later
// refuse a line with a single CR in it.

#include <memory>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <hiredis/hiredis.h>

#include "resp/reply_framer.h"
#include "resp/reply_writer.h"

namespace cuckooguard::resp {
namespace {

constexpr int kDepthMax = 6;

std::string random_text(std::mt19937& random, std::size_t bytes, std::string_view alphabet) {
  std::string text(bytes, '\0');
  for (char& c : text) {
    c = alphabet[random() % alphabet.size()];
  }
  return text;
}

void append_random_reply(std::string& out, std::mt19937& random, int depth) {
  // What looks like protocol, inside of text, is what a framer could stumble over.
  constexpr std::string_view kBytes("\r\n$*+-:0123456789ax\0", 20);
  constexpr std::string_view kLineBytes("$*+-:0123456789ax \r", HIREDIS_MAJOR == 0 ? 19 : 18);
  switch (random() % (depth < kDepthMax ? 8 : 6)) {
    case 0:
      append_nil(out, Version::resp2);
      return;
    case 1:
      append_null_array(out, Version::resp2);
      return;
    case 2:
      append_integer(out, static_cast<std::int64_t>(random()) - 1'000'000'000);
      return;
    case 3:
      out += (random() % 2 == 0 ? "+" : "-") + random_text(random, random() % 30, kLineBytes) +
             "x\r\n";
      return;
    case 4:
      append_bulk(out, random_text(random, random() % 40, kBytes));
      return;
    case 5:
      append_bulk(out, random_text(random, random() % 3000, kBytes));
      return;
    default:
      break;
  }
  const std::size_t elements = random() % 5;
  append_array_header(out, elements);
  for (std::size_t i = 0; i < elements; ++i) {
    append_random_reply(out, random, depth + 1);
  }
}

// Counts bytes until a reply is complete. It builds nothing: null object functions.
class HiredisReader {
 public:
  HiredisReader() { reader_->fn = nullptr; }

  // Whether a reply ends exactly behind these bytes.
  bool ends_with(std::string_view bytes) {
    EXPECT_EQ(redisReaderFeed(reader_.get(), bytes.data(), bytes.size()), REDIS_OK);
    void* reply = nullptr;
    EXPECT_EQ(redisReaderGetReply(reader_.get(), &reply), REDIS_OK) << reader_->errstr;
    return reply != nullptr;
  }

 private:
  struct Free {
    void operator()(redisReader* reader) const { redisReaderFree(reader); }
  };
  std::unique_ptr<redisReader, Free> reader_{redisReaderCreateWithFunctions(nullptr)};
};

TEST(ReplyFramerAgainstHiredis, both_agree_where_each_reply_ends) {
  for (unsigned seed = 1; seed <= 40; ++seed) {
    std::mt19937 random(seed);
    std::string replies;
    for (int i = 0; i < 25; ++i) {
      append_random_reply(replies, random, 0);
    }
    HiredisReader hiredis;
    ReplyFramer framer;
    int ended = 0;
    for (std::size_t i = 0; i < replies.size(); ++i) {
      const std::string_view byte = std::string_view(replies).substr(i, 1);
      const ReplyFramer::Piece piece = framer.next(byte);
      ASSERT_FALSE(piece.malformed) << "seed " << seed << ", byte " << i;
      ASSERT_EQ(piece.ends, hiredis.ends_with(byte)) << "seed " << seed << ", byte " << i;
      ended += piece.ends ? 1 : 0;
    }
    EXPECT_EQ(ended, 25) << "seed " << seed;
    EXPECT_TRUE(framer.at_reply_boundary());
  }
}

// The quick way through whole replies takes other paths than the byte by byte one above.
TEST(ReplyFramerAgainstHiredis, both_agree_when_whole_replies_arrive) {
  for (unsigned seed = 1; seed <= 400; ++seed) {
    std::mt19937 random(seed);
    std::string replies;
    for (int i = 0; i < 25; ++i) {
      append_random_reply(replies, random, 0);
    }
    ReplyFramer framer;
    std::string_view rest = replies;
    int ended = 0;
    for (HiredisReader hiredis; !rest.empty(); ++ended) {
      const ReplyFramer::Piece piece = framer.next(rest);
      ASSERT_TRUE(piece.ends && !piece.malformed) << "seed " << seed;
      ASSERT_FALSE(hiredis.ends_with(rest.substr(0, piece.bytes - 1))) << "seed " << seed;
      ASSERT_TRUE(hiredis.ends_with(rest.substr(piece.bytes - 1, 1))) << "seed " << seed;
      rest.remove_prefix(piece.bytes);
    }
    EXPECT_EQ(ended, 25) << "seed " << seed;
  }
}

}  // namespace
}  // namespace cuckooguard::resp
