#include "harness/certificates.h"

#include <atomic>
#include <stdexcept>

#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include "harness/temporary_directory.h"

namespace cuckooguard::harness {
namespace {

constexpr std::chrono::seconds kValidBefore{std::chrono::hours(48)};
constexpr unsigned kRsaBits = 2048;

template <typename Pointer>
Pointer checked(Pointer made) {
  if (!made) {
    throw std::runtime_error("OpenSSL makes no certificate");
  }
  return made;
}

std::string text_of(BIO* memory) {
  char* bytes = nullptr;
  const long size = BIO_get_mem_data(memory, &bytes);
  std::string text(bytes, static_cast<std::size_t>(size));
  BIO_free(memory);
  return text;
}

std::string pem(X509* certificate) {
  BIO* const memory = checked(BIO_new(BIO_s_mem()));
  PEM_write_bio_X509(memory, certificate);
  return text_of(memory);
}

std::string pem(EVP_PKEY* key) {
  BIO* const memory = checked(BIO_new(BIO_s_mem()));
  PEM_write_bio_PrivateKey(memory, key, nullptr, nullptr, 0, nullptr, nullptr);
  return text_of(memory);
}

void extend(X509* certificate, X509* issuer, int nid, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* const extension =
      checked(X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str()));
  X509_add_ext(certificate, extension, -1);
  X509_EXTENSION_free(extension);
}

X509* unsigned_certificate(const std::string& name, EVP_PKEY* key, std::chrono::seconds expires) {
  static std::atomic<long> serial{1};
  X509* const certificate = checked(X509_new());
  X509_set_version(certificate, X509_VERSION_3);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate), ++serial);
  X509_gmtime_adj(X509_getm_notBefore(certificate), -kValidBefore.count());
  X509_gmtime_adj(X509_getm_notAfter(certificate), expires.count());
  X509_set_pubkey(certificate, key);
  X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate),
                             "CN",
                             MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>(name.c_str()),
                             -1,
                             -1,
                             0);
  return certificate;
}

}  // namespace

void Authority::Free::operator()(X509* certificate) const {
  X509_free(certificate);
}

void Authority::Free::operator()(EVP_PKEY* key) const {
  EVP_PKEY_free(key);
}

Authority::Authority(const std::string& name)
    : key_(checked(EVP_EC_gen("P-256"))),
      certificate_(unsigned_certificate(name, key_.get(), std::chrono::hours(24))) {
  X509* const own = certificate_.get();
  X509_set_issuer_name(own, X509_get_subject_name(own));
  extend(own, own, NID_basic_constraints, "critical,CA:TRUE");
  extend(own, own, NID_subject_key_identifier, "hash");
  checked(X509_sign(own, key_.get(), EVP_sha256()));
}

std::string Authority::certificate() const {
  return pem(certificate_.get());
}

Certificate Authority::issue(const std::string& name, const Wish& wish) const {
  const std::unique_ptr<EVP_PKEY, Free> key(
      checked(wish.is_rsa ? EVP_RSA_gen(kRsaBits) : EVP_EC_gen("P-256")));
  const std::unique_ptr<X509, Free> made(unsigned_certificate(name, key.get(), wish.expires_in));
  X509_set_issuer_name(made.get(), X509_get_subject_name(certificate_.get()));
  if (!wish.alternative_names.empty()) {
    extend(made.get(), certificate_.get(), NID_subject_alt_name, wish.alternative_names);
  }
  checked(X509_sign(made.get(), key_.get(), EVP_sha256()));
  return {pem(made.get()), pem(key.get())};
}

void write_certificates(const std::filesystem::path& folder) {
  const Authority authority("test authority");
  write_whole_file(folder / "ca.crt", authority.certificate());
  for (const std::string name : {"server", "client"}) {
    const Certificate issued = authority.issue(name);
    write_whole_file(folder / (name + ".crt"), issued.certificate);
    write_whole_file(folder / (name + ".key"), issued.key);
  }
}

std::vector<std::string> redis_tls_arguments(const std::filesystem::path& folder,
                                             std::uint16_t port,
                                             const std::string& asks_clients) {
  return {"--tls-port",
          std::to_string(port),
          "--tls-cert-file",
          folder / "server.crt",
          "--tls-key-file",
          folder / "server.key",
          "--tls-ca-cert-file",
          folder / "ca.crt",
          "--tls-auth-clients",
          asks_clients};
}

}  // namespace cuckooguard::harness
