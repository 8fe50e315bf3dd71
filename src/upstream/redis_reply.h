// A reply of hiredis, owned, and looking into one without trusting its shape.
//
// Threads: plain values. Lifetimes: views point into the reply. Errors: what is not there, or of
// another type, is empty.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include <hiredis/hiredis.h>

namespace cuckooguard::upstream {

struct FreeReply {
  void operator()(redisReply* reply) const { freeReplyObject(reply); }
};
using Reply = std::unique_ptr<redisReply, FreeReply>;

// The text of a string, a status or an error.
inline std::string_view text_of(const redisReply& reply) {
  const bool is_text = reply.type == REDIS_REPLY_STRING || reply.type == REDIS_REPLY_STATUS ||
                       reply.type == REDIS_REPLY_ERROR;
  return is_text && reply.str != nullptr ? std::string_view(reply.str, reply.len)
                                         : std::string_view{};
}

inline bool is_error(const redisReply& reply) {
  return reply.type == REDIS_REPLY_ERROR;
}

// Without '-'; empty: it is not an error.
inline std::string_view error_of(const redisReply& reply) {
  return is_error(reply) ? text_of(reply) : std::string_view{};
}

inline std::span<redisReply* const> elements_of(const redisReply& reply) {
  return reply.type == REDIS_REPLY_ARRAY
             ? std::span<redisReply* const>(reply.element, reply.elements)
             : std::span<redisReply* const>{};
}

// In a list of name, value, name, value; null if it is not there.
inline const redisReply* value_of(const redisReply& reply, std::string_view name) {
  const std::span<redisReply* const> elements = elements_of(reply);
  for (std::size_t i = 0; i + 1 < elements.size(); i += 2) {
    if (text_of(*elements[i]) == name) {
      return elements[i + 1];
    }
  }
  return nullptr;
}

}  // namespace cuckooguard::upstream
