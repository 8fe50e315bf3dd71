#include "fleet/signature.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <stdexcept>
#include <utility>

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include "text/try.h"

namespace cuckooguard::fleet {
namespace {

struct Free {
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
  void operator()(std::FILE* file) const { std::fclose(file); }
};

unsigned char* bytes_of(char* text) {
  return reinterpret_cast<unsigned char*>(text);
}
const unsigned char* bytes_of(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

// No password is asked for on a terminal.
int no_password(char* /*room*/, int /*size*/, int /*is_written*/, void* /*of*/) {
  return 0;
}

using Read = EVP_PKEY* (*)(std::FILE*, EVP_PKEY**, pem_password_cb*, void*);
std::expected<Key, std::string> load_key(const std::string& path, Read read, const char* what) {
  const std::unique_ptr<std::FILE, Free> file(std::fopen(path.c_str(), "re"));
  if (!file) {
    return std::unexpected(path + ": cannot open the file");
  }
  Key key(read(file.get(), nullptr, no_password, nullptr), EVP_PKEY_free);
  ERR_clear_error();
  if (!key || EVP_PKEY_get_base_id(key.get()) != EVP_PKEY_ED25519) {
    return std::unexpected(path + ": is not an Ed25519 " + what +
                           " key in PEM format without a password");
  }
  return key;
}

}  // namespace

std::string hash_of(std::string_view bytes) {
  std::string hash(kHashBytes, '\0');
  if (EVP_Digest(
          bytes.data(), bytes.size(), bytes_of(hash.data()), nullptr, EVP_sha256(), nullptr) != 1) {
    throw std::runtime_error("OpenSSL cannot compute a SHA-256");
  }
  return hash;
}

std::expected<SigningKey, std::string> SigningKey::load(const std::string& path) {
  return SigningKey(TRY(load_key(path, PEM_read_PrivateKey, "private")));
}

std::string SigningKey::sign(std::string_view text) const {
  const std::unique_ptr<EVP_MD_CTX, Free> context(EVP_MD_CTX_new());
  std::string signature(kSignatureBytes, '\0');
  std::size_t size = signature.size();
  if (!context || EVP_DigestSignInit(context.get(), nullptr, nullptr, nullptr, key_.get()) != 1 ||
      EVP_DigestSign(
          context.get(), bytes_of(signature.data()), &size, bytes_of(text), text.size()) != 1) {
    throw std::runtime_error("OpenSSL cannot sign with this key");
  }
  return signature;
}

std::expected<VerifyingKeys, std::string> VerifyingKeys::load(std::span<const std::string> paths) {
  VerifyingKeys keys;
  for (const std::string& path : paths) {
    keys.keys_.push_back(TRY(load_key(path, PEM_read_PUBKEY, "public")));
  }
  return keys;
}

bool VerifyingKeys::has_signed(std::string_view text, std::string_view signature) const {
  return std::ranges::any_of(keys_, [&](const Key& key) {
    const std::unique_ptr<EVP_MD_CTX, Free> context(EVP_MD_CTX_new());
    const bool is_its =
        context && EVP_DigestVerifyInit(context.get(), nullptr, nullptr, nullptr, key.get()) == 1 &&
        EVP_DigestVerify(
            context.get(), bytes_of(signature), signature.size(), bytes_of(text), text.size()) == 1;
    ERR_clear_error();
    return is_its;
  });
}

std::string with_signature(std::string_view domain, std::string_view text, const SigningKey& key) {
  return std::string(text).append(key.sign(std::string(domain).append(hash_of(text))));
}

std::optional<SignedText> read_signed(std::string_view domain,
                                      std::string_view bytes,
                                      const VerifyingKeys& keys) {
  if (bytes.size() < kSignatureBytes) {
    return std::nullopt;
  }
  const std::string_view text = bytes.substr(0, bytes.size() - kSignatureBytes);
  std::string tag = hash_of(text);
  if (!keys.has_signed(std::string(domain).append(tag), bytes.substr(text.size()))) {
    return std::nullopt;
  }
  return SignedText{.text = text, .tag = std::move(tag)};
}

}  // namespace cuckooguard::fleet
