// Ed25519 signatures: what a builder says, those who have its public key can tell from what others
// say; they cannot say it themselves.
//
// Keys are PEM files, as `openssl genpkey -algorithm ed25519` and `openssl pkey -pubout` write
// them.
//
// Threads:   const members from any. Lifetimes: none.
// Errors:    a key that cannot be read is a sentence. std::runtime_error if OpenSSL cannot sign.
// Limits:    VerifyingKeys::kKeysMax. A signature takes some 50 us to make, and 130 us to verify.
// Source:    RFC 8032 (Ed25519, not Ed25519ph).
#pragma once

#include <cstddef>
#include <expected>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

using EVP_PKEY = struct evp_pkey_st;

namespace cuckooguard::fleet {

inline constexpr std::size_t kSignatureBytes = 64;
inline constexpr std::size_t kHashBytes = 32;

// SHA-256.
std::string hash_of(std::string_view bytes);

using Key = std::shared_ptr<EVP_PKEY>;

class SigningKey {
 public:
  static std::expected<SigningKey, std::string> load(const std::string& path);

  std::string sign(std::string_view text) const;

 private:
  explicit SigningKey(Key key) : key_(std::move(key)) {}

  Key key_;
};

// Those of which one must have signed: two while a key is replaced.
class VerifyingKeys {
 public:
  static constexpr std::size_t kKeysMax = 2;

  static std::expected<VerifyingKeys, std::string> load(std::span<const std::string> paths);

  bool has_signed(std::string_view text, std::string_view signature) const;

 private:
  std::vector<Key> keys_;
};

// A text and its signature behind it. `domain`: what kind of text it is, so that the signature of
// one kind is none of another.
std::string with_signature(std::string_view domain, std::string_view text, const SigningKey& key);

struct SignedText {
  std::string_view text;
  std::string tag;  // its hash
};
// Nothing: nobody has signed it.
std::optional<SignedText> read_signed(std::string_view domain,
                                      std::string_view bytes,
                                      const VerifyingKeys& keys);

}  // namespace cuckooguard::fleet
