// An entry of the log that several guards share, and its authentication.
//
//   seq      number in the log; the tag does not cover it, since the writer does not know it yet
//   writer   kWriterBytes at random, for one connection of one guard
//   counter  of the writer's entries, rising
//   after    number of the last entry that the writer had applied
//   body     u8 sort, then operations: u32 how many, each; or a digest: the writer's Chain at
//            `after`
//   tag      HMAC-SHA-256 of generation and all of these but `seq`, with the guards' key
//
// Threads:   plain values; LogKey and Mac one thread at a time. Lifetimes: none.
// Errors:    bytes that are no body are nothing. A LogKey throws std::runtime_error if OpenSSL has
//            no HMAC, or there is no memory.
// Limits:    none of its own. Source: RFC 2104, FIPS 180-4.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "filled/operation.h"

using EVP_MAC_CTX = struct evp_mac_ctx_st;

namespace cuckooguard::filled {

inline constexpr std::size_t kTagBytes = 32;
inline constexpr std::size_t kWriterBytes = 16;

struct Entry {
  std::uint64_t seq = 0;
  std::string writer;
  std::uint64_t counter = 0;
  std::uint64_t after = 0;
  std::string body;
  std::string tag;
};

class Mac {
 public:
  void add(std::string_view bytes);
  // With its length: what follows cannot be taken for a part of it.
  void add_text(std::string_view text);
  void add_number(std::uint64_t number);
  std::string finish();  // kTagBytes; then no more

 private:
  friend class LogKey;
  struct Free {
    void operator()(EVP_MAC_CTX* context) const;
  };
  using Owned = std::unique_ptr<EVP_MAC_CTX, Free>;

  explicit Mac(Owned context) : context_(std::move(context)) {}

  Owned context_;
};

class LogKey {
 public:
  explicit LogKey(std::string_view key);

  // `what` is vouched for: a tag of something else is not one of this.
  Mac begin(std::string_view what) const;
  std::string tag_of(const Entry& entry, std::string_view generation) const;

 private:
  Mac keyed_;
};

// Takes as long wherever they differ.
bool is_same_tag(std::string_view one, std::string_view other);

std::string body_of(std::span<const Operation> operations);
std::string digest_body_of(std::string_view chain);

struct Body {
  std::vector<Operation> operations{};
  std::string digest{};  // empty: it is none
};
std::optional<Body> read_body(std::string_view bytes);

// The part of an outcome that is the same on every guard.
void put_trace(std::string& out, const Outcome& outcome);

}  // namespace cuckooguard::filled
