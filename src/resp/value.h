// A reply as a tree, for questions that the guard asks Redis itself: not for replies that are
// relayed to clients.
//
// Threads: a plain value. Lifetimes: owns its contents. Errors: Redis's are values of kind `error`.
// Limits: the reader's.
// Source: https://redis.io/docs/latest/develop/reference/protocol-spec, RESP2.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace cuckooguard::resp {

struct Value {
  enum class Kind : std::uint8_t { text, number, list, nothing, error };
  Kind kind = Kind::nothing;
  std::string text{};  // of an error without '-'
  std::int64_t number = 0;
  std::vector<Value> list{};

  bool is_error() const { return kind == Kind::error; }
};

}  // namespace cuckooguard::resp
