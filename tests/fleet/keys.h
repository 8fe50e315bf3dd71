// Keys for tests, made when they are asked for.
#pragma once

#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <unistd.h>

#include "fleet/signature.h"

namespace cuckooguard::fleet {

class KeyFiles {
 public:
  KeyFiles() {
    std::string folder = "/tmp/cuckooguard-keys-XXXXXX";
    if (::mkdtemp(folder.data()) == nullptr) {
      throw std::runtime_error("no temporary folder");
    }
    folder_ = folder;
    const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key(
        EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519"), EVP_PKEY_free);
    write(private_path(), [&](std::FILE* file) {
      return PEM_write_PrivateKey(file, key.get(), nullptr, nullptr, 0, nullptr, nullptr);
    });
    write(public_path(), [&](std::FILE* file) { return PEM_write_PUBKEY(file, key.get()); });
  }
  ~KeyFiles() {
    ::unlink(private_path().c_str());
    ::unlink(public_path().c_str());
    ::rmdir(folder_.c_str());
  }
  KeyFiles(const KeyFiles&) = delete;
  KeyFiles& operator=(const KeyFiles&) = delete;

  std::string private_path() const { return folder_ + "/fleet.key"; }
  std::string public_path() const { return folder_ + "/fleet.pub"; }

  SigningKey signing() const { return SigningKey::load(private_path()).value(); }
  VerifyingKeys verifying() const {
    const std::string path = public_path();
    return VerifyingKeys::load(std::span(&path, 1)).value();
  }

 private:
  template <typename Write>
  static void write(const std::string& path, const Write& write_to) {
    const std::unique_ptr<std::FILE, decltype(&std::fclose)> file(std::fopen(path.c_str(), "w"),
                                                                  std::fclose);
    if (!file || write_to(file.get()) != 1) {
      throw std::runtime_error("cannot write " + path);
    }
  }

  std::string folder_;
};

}  // namespace cuckooguard::fleet
