#include "filter/key_hash.h"

#include <algorithm>
#include <cerrno>
#include <system_error>

#include <sys/random.h>

#define XXH_INLINE_ALL
#include <fcntl.h>
#include <sys/stat.h>
#include <xxhash.h>

#include "filter/file_descriptor.h"
#include "text/try.h"

namespace cuckooguard::filter {
namespace {

std::string reason() {
  return std::generic_category().message(errno);
}

// Written aside and linked into place: nobody ever reads half a secret, and whoever comes second
// takes the first one's.
std::expected<void, std::string> create(const std::string& path) {
  std::string temporary = path + ".XXXXXX";
  FileDescriptor file(::mkostemp(temporary.data(), O_CLOEXEC));  // creates with mode 0600
  if (!file.is_open()) {
    return std::unexpected(path + ": cannot create: " + write_error(errno, folder_of(path)));
  }
  const HashSecret secret = random_secret();
  const bool written = ::write(file.number(), secret.bytes.data(), secret.bytes.size()) ==
                           static_cast<ssize_t>(secret.bytes.size()) &&
                       ::fsync(file.number()) == 0 && file.close();
  const bool linked = written && (::link(temporary.c_str(), path.c_str()) == 0 || errno == EEXIST);
  const std::string why = linked ? "" : write_error(errno, folder_of(path));
  ::unlink(temporary.c_str());
  if (!linked) {
    return std::unexpected(path + ": cannot write: " + why);
  }
  return {};
}

}  // namespace

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

std::expected<HashSecret, std::string> read_secret(const std::string& path, bool may_group_read) {
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.is_open()) {
    return std::unexpected(path + ": cannot open: " + write_error(errno, path));
  }
  struct stat status{};
  if (::fstat(file.number(), &status) != 0) {
    return std::unexpected(path + ": cannot stat: " + reason());
  }
  const mode_t others = may_group_read ? S_IRWXO : S_IRWXG | S_IRWXO;
  if ((status.st_mode & others) != 0) {
    return std::unexpected(
        path + ": other users may read the secret: chmod 600 the file, or remove it (the " +
        "filters are then loaded again)");
  }
  HashSecret secret;
  std::array<std::byte, kSecretBytes + 1> bytes{};
  const ssize_t got = ::read(file.number(), bytes.data(), bytes.size());
  if (got != static_cast<ssize_t>(kSecretBytes)) {
    return std::unexpected(path + ": the file is not a secret of " + std::to_string(kSecretBytes) +
                           " bytes: remove the file (the filters are then loaded again)");
  }
  std::copy_n(bytes.begin(), kSecretBytes, secret.bytes.begin());
  return secret;
}

std::expected<HashSecret, std::string> read_or_create_secret(const std::string& path) {
  if (::access(path.c_str(), F_OK) != 0 && errno == ENOENT) {
    TRY(create(path));
  }
  return read_secret(path);
}

}  // namespace cuckooguard::filter
