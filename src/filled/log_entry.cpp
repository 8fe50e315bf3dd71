#include "filled/log_entry.h"

#include <array>
#include <new>
#include <stdexcept>

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/params.h>

namespace cuckooguard::filled {
namespace {

enum class Sort : std::uint8_t { operations = 1, digest = 2 };

void require(int outcome) {
  if (outcome != 1) {
    throw std::runtime_error("OpenSSL cannot compute an HMAC-SHA-256");
  }
}

const unsigned char* bytes_of(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

}  // namespace

void Mac::Free::operator()(EVP_MAC_CTX* context) const {
  EVP_MAC_CTX_free(context);
}

void Mac::add(std::string_view bytes) {
  require(EVP_MAC_update(context_.get(), bytes_of(bytes), bytes.size()));
}

void Mac::add_text(std::string_view text) {
  add_number(text.size());
  add(text);
}

void Mac::add_number(std::uint64_t number) {
  std::string bytes;
  put(bytes, number);
  add(bytes);
}

std::string Mac::finish() {
  std::array<char, kTagBytes> tag{};
  std::size_t size = 0;
  require(EVP_MAC_final(
      context_.get(), reinterpret_cast<unsigned char*>(tag.data()), &size, tag.size()));
  return {tag.data(), size};
}

LogKey::LogKey(std::string_view key) : keyed_(nullptr) {
  EVP_MAC* const mac = EVP_MAC_fetch(nullptr, "HMAC", nullptr);
  keyed_.context_.reset(EVP_MAC_CTX_new(mac));
  EVP_MAC_free(mac);  // the context has it
  require(keyed_.context_ != nullptr ? 1 : 0);
  std::string digest = "SHA256";
  const std::array<OSSL_PARAM, 2> parameters{
      OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest.data(), 0),
      OSSL_PARAM_construct_end()};
  require(EVP_MAC_init(keyed_.context_.get(), bytes_of(key), key.size(), parameters.data()));
}

Mac LogKey::begin(std::string_view what) const {
  Mac mac(Mac::Owned(EVP_MAC_CTX_dup(keyed_.context_.get())));
  if (!mac.context_) {
    throw std::bad_alloc();
  }
  mac.add_text(what);
  return mac;
}

std::string LogKey::tag_of(const Entry& entry, std::string_view generation) const {
  Mac mac = begin("entry");
  mac.add_text(generation);
  mac.add_text(entry.writer);
  mac.add_number(entry.counter);
  mac.add_number(entry.after);
  mac.add_text(entry.body);
  return mac.finish();
}

bool is_same_tag(std::string_view one, std::string_view other) {
  return one.size() == other.size() && CRYPTO_memcmp(one.data(), other.data(), one.size()) == 0;
}

std::string body_of(std::span<const Operation> operations) {
  std::string body;
  put(body, static_cast<std::uint8_t>(Sort::operations));
  put(body, static_cast<std::uint32_t>(operations.size()));
  for (const Operation& operation : operations) {
    put(body, operation);
  }
  return body;
}

std::string digest_body_of(std::string_view chain) {
  std::string body;
  put(body, static_cast<std::uint8_t>(Sort::digest));
  text::put_text(body, chain);
  return body;
}

std::optional<Body> read_body(std::string_view bytes) {
  text::LittleEndianCursor reader(bytes);
  Body body;
  const auto sort = static_cast<Sort>(reader.take<std::uint8_t>());
  if (sort == Sort::digest) {
    body.digest = reader.take_text();
  } else if (sort == Sort::operations) {
    for (auto left = reader.take<std::uint32_t>(); left > 0; --left) {
      auto operation = take_operation(reader);
      if (!operation) {
        return std::nullopt;
      }
      body.operations.push_back(*std::move(operation));
    }
  } else {
    return std::nullopt;
  }
  return reader.at_end() ? std::optional(std::move(body)) : std::nullopt;
}

void put_trace(std::string& out, const Outcome& outcome) {
  put(out, static_cast<std::uint8_t>(outcome.status));
  put(out, static_cast<std::uint32_t>(outcome.items.size()));
  for (const ItemOutcome item : outcome.items) {
    put(out, static_cast<std::uint8_t>(item));
  }
  put(out, static_cast<std::uint32_t>(outcome.counts.size()));
  for (const std::uint64_t count : outcome.counts) {
    put(out, count);
  }
}

}  // namespace cuckooguard::filled
