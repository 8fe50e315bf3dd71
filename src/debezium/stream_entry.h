// An entry of a Redis stream, as Debezium Server's Redis sink writes it, as a Message.
//
//   extended   key K value V [HEADER H]…   headers in capitals: __DEBEZIUM.NEWKEY
//   compact    K V                          one field, whose name is the key
//
// The sink writes null, of a table without a primary key and of a tombstone, as the word that
// null.key and null.value say.
//
// Threads: free function. Lifetimes: views of the fields. Errors: words.
// Source: Debezium Server 3, RedisStreamChangeConsumer.
#pragma once

#include <expected>
#include <span>
#include <string>
#include <string_view>

#include "debezium/message.h"

namespace cuckooguard::debezium {

struct NullWords {
  std::string key = "default";    // debezium.sink.redis.null.key
  std::string value = "default";  // debezium.sink.redis.null.value
};

// `fields`: names and values by turns. Which of the two formats it is, is in the entry.
std::expected<Message, std::string> message_of(std::span<const std::string_view> fields,
                                               const NullWords& nulls);

}  // namespace cuckooguard::debezium
