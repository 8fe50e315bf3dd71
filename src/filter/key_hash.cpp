#include "filter/key_hash.h"

#include <cerrno>
#include <system_error>

#include <sys/random.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace cuckooguard::filter {

std::uint64_t HashSecret::id() const noexcept {
  return XXH3_64bits(bytes.data(), bytes.size());
}

HashSecret random_secret() {
  HashSecret secret;
  // Up to 256 bytes come whole once the generator is seeded.
  const ssize_t got = ::getrandom(secret.bytes.data(), secret.bytes.size(), 0);
  if (got != static_cast<ssize_t>(secret.bytes.size())) {
    throw std::system_error(errno, std::generic_category(), "getrandom");
  }
  return secret;
}

std::uint64_t KeyHash::operator()(std::string_view identity) const noexcept {
  return XXH3_64bits_withSecret(
      identity.data(), identity.size(), secret_.bytes.data(), secret_.bytes.size());
}

}  // namespace cuckooguard::filter
