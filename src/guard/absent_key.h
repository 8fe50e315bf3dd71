// A key judged absent in a read that is forwarded anyway (mode observe, order redis-first,
// verify_sample): Redis's reply is compared with the verdict, and a nil may be replaced.
//
//   Guard::decide ─ AbsentKey ─▶ ReplyOrder ─ the reply's bytes ─▶ AbsentKeyReply ─▶ Guard::compare
//
// Compared are reads of one key and each element of an MGET. A single reply to several keys (EXISTS
// a b, SINTER) cannot be assigned to one of them; those count as unverified.
//
// Threads: a worker's. Lifetimes: an AbsentKey's views are the guard's, valid until its next call;
// those of an AbsentKeyReply until the call returns.
// Limits: only as much of a reply is kept as is compared; a longer one equals nothing.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace cuckooguard::guard {

struct AbsentKey {
  std::uint64_t numbering = 0;  // Guard::Parts, of `ns`: the reply may come after a reload
  std::uint32_t ns = 0;
  std::uint32_t element = 0;  // of the client's MGET
  std::string_view key{};
  // What Redis replies if it has no such key either, whole.
  std::string_view missing{};
  // Sent to the client in place of `missing`; empty: nothing is replaced.
  std::string_view replacement{};
  // Replaced only if the key is still absent with a proof newer than this (strict namespaces).
  std::optional<std::chrono::steady_clock::time_point> read_at{};
  bool is_string_read = false;  // of which the absent reply's own bytes are no contradiction
  std::size_t kept_bytes = 0;   // so much of the reply is needed at most

  // What it costs to keep a copy until the reply has come.
  std::size_t bytes() const {
    constexpr std::size_t kStringBytes = 32;
    return sizeof(AbsentKey) + 3 * kStringBytes + key.size() + missing.size() + replacement.size();
  }
};

struct AbsentKeyReply {
  std::uint64_t numbering = 0;
  std::uint32_t ns = 0;
  std::string_view key{};
  std::optional<std::chrono::steady_clock::time_point> read_at{};
  std::string_view missing{};
  bool is_string_read = false;
  std::string_view reply{};  // its beginning, up to kept_bytes
  bool is_whole = false;     // all of it
  bool is_error = false;
};

}  // namespace cuckooguard::guard
