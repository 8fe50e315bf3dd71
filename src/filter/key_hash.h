// The hash of an identity: XXH3-64 keyed with a random secret.
//
// The filter never sees keys, only these 64 bits. The secret makes them unpredictable: with a
// public hash anybody could compute keys that are false positives, or that all fall into one
// bucket. Two processes with different secrets have different false positives. XXH3 with a secret
// is fast (2 to 4 ns for short keys) and makes no cryptographic claim; the secret must not be shown
// to clients.
//
// Threads:   everything here is immutable after construction; any thread.
// Source:    xxHash 0.8, XXH3_64bits_withSecret; the secret must be at least 136 bytes of good
//            entropy.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

namespace cuckooguard::filter {

inline constexpr std::size_t kSecretBytes = 192;

// Belongs to a filter and to the files written from it: hashes made with another secret mean
// nothing to it.
struct HashSecret {
  std::array<std::byte, kSecretBytes> bytes{};

  // Names the secret without giving it away: what a filter file stores to know its secret again.
  [[nodiscard]] std::uint64_t id() const noexcept;

  friend bool operator==(const HashSecret&, const HashSecret&) = default;
};

// From the kernel's generator. Throws std::system_error if there is none (start-up only).
HashSecret random_secret();

class KeyHash {
 public:
  explicit KeyHash(const HashSecret& secret) noexcept : secret_(secret) {}

  std::uint64_t operator()(std::string_view identity) const noexcept;

  [[nodiscard]] const HashSecret& secret() const noexcept { return secret_; }

 private:
  HashSecret secret_;
};

// The hash secret on disk: 192 raw bytes in a file only its owner may read.
//
// A filter file is useless without the secret it was hashed with, and anyone who reads the secret
// can compute keys that pass the filter. So it is stored next to the filter files, with mode 0600.
//
// Threads:   any; two processes that create at once agree on one secret.
// Errors:    a sentence for the operator, with the path and what to do.
// `may_group_read`: of a file that somebody else looks after.
std::expected<HashSecret, std::string> read_secret(const std::string& path,
                                                   bool may_group_read = false);

// Reads the secret, or creates the file with a random one.
std::expected<HashSecret, std::string> read_or_create_secret(const std::string& path);

}  // namespace cuckooguard::filter
