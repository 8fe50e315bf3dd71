// Replies for the readers of upstream/, from the bytes that Redis sends; read by hiredis as they
// are by the product.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

#include "upstream/redis_reply.h"

namespace cuckooguard::upstream {

inline Reply reply_of(std::string_view bytes) {
  redisReader* const reader = redisReaderCreate();
  redisReaderFeed(reader, bytes.data(), bytes.size());
  void* reply = nullptr;
  const int outcome = redisReaderGetReply(reader, &reply);
  redisReaderFree(reader);
  if (outcome != REDIS_OK || reply == nullptr) {
    throw std::logic_error("no whole reply: " + std::string(bytes));
  }
  return Reply(static_cast<redisReply*>(reply));
}

inline std::string bulk(std::string_view text) {
  return "$" + std::to_string(text.size()) + "\r\n" + std::string(text) + "\r\n";
}

template <typename... Elements>
std::string array(const Elements&... elements) {
  std::string text = "*" + std::to_string(sizeof...(elements)) + "\r\n";
  (text.append(elements), ...);
  return text;
}

inline std::string status(std::string_view text) {
  return "+" + std::string(text) + "\r\n";
}
inline std::string number(long long value) {
  return ":" + std::to_string(value) + "\r\n";
}

// Of any shape but the right one.
inline const std::string kStrange[] = {
    "$-1\r\n",
    "*-1\r\n",
    "*0\r\n",
    ":7\r\n",
    "+OK\r\n",
    "-ERR no\r\n",
    "*1\r\n*0\r\n",
    "*2\r\n$-1\r\n*-1\r\n",
    "*1\r\n*6\r\n:1\r\n:2\r\n:3\r\n:4\r\n:5\r\n:6\r\n",
    "*1\r\n*6\r\n$1\r\na\r\n$1\r\n1\r\n$1\r\nf\r\n+1\r\n*0\r\n$-1\r\n",
    "*3\r\n$5\r\nflags\r\n:1\r\n$8\r\ncommands\r\n",
    std::string("*8\r\n$5\r\nflags\r\n*1\r\n$-1\r\n$4\r\nkeys\r\n*1\r\n:1\r\n") +
        "$8\r\ncommands\r\n*0\r\n$9\r\nselectors\r\n+x\r\n",
    "*4\r\n$4\r\nmode\r\n:1\r\n$4\r\nrole\r\n*0\r\n",
};

}  // namespace cuckooguard::upstream
