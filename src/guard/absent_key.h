// A key that the guard takes for absent, in a read that is forwarded all the same (mode observe,
// order redis-first, verify_sample): what Redis replies is compared with the guard's word, and a
// nil may be replaced.
//
//   Guard::decide ─ AbsentKey ─▶ ReplyOrder ─ the reply's bytes ─▶ AbsentKeyReply ─▶ Guard::compare
//
// Which reads are compared: those of one key, and each element of an MGET. Of a read of several
// keys whose reply is one (EXISTS a b, SINTER) nobody could say which key it was; they count as
// unverified.
//
// Threads: a worker's. Lifetimes: an AbsentKey's views are the guard's, valid until its next call;
// those of an AbsentKeyReply until the call returns.
// Limits: of a reply no more is kept than what it is compared with; one that is longer equals
// nothing.
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
  // Goes to the client in place of `missing`; empty: nothing is replaced.
  std::string_view replacement{};
  // It is replaced only if the key is still absent then, with a proof that is newer than this
  // (strict namespaces). Nothing: as it is.
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
