// Keys for tests, made when they are asked for.
#pragma once

#include <cstdio>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>

#include <openssl/evp.h>
#include <openssl/pem.h>

#include "fleet/signature.h"
#include "harness/temporary_directory.h"

namespace cuckooguard::fleet {

class KeyFiles {
 public:
  KeyFiles() {
    const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key(
        EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519"), EVP_PKEY_free);
    write(private_path(), [&](std::FILE* file) {
      return PEM_write_PrivateKey(file, key.get(), nullptr, nullptr, 0, nullptr, nullptr);
    });
    write(public_path(), [&](std::FILE* file) { return PEM_write_PUBKEY(file, key.get()); });
  }

  std::string private_path() const { return folder_.file("fleet.key"); }
  std::string public_path() const { return folder_.file("fleet.pub"); }

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

  harness::TemporaryDirectory folder_;
};

}  // namespace cuckooguard::fleet
