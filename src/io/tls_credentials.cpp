#include "io/tls_credentials.h"

#include <cerrno>
#include <ctime>
#include <fstream>
#include <new>
#include <string_view>
#include <system_error>

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "io/tls_errors.h"

namespace cuckooguard::io {
namespace {

struct FreeOpenssl {
  void operator()(BIO* bio) const { BIO_free_all(bio); }
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
};

std::string about(std::string_view file, std::string_view what) {
  return std::string(file).append(": ").append(what);
}

// What keeps a file from being read, in the system's words; nothing if it can be. Not all of
// OpenSSL's functions tell.
std::string unreadable(const std::string& file) {
  const std::ifstream stream(file);
  return stream ? std::string() : about(file, std::generic_category().message(errno));
}

std::chrono::sys_seconds seconds_of(const ASN1_TIME* time) {
  tm calendar{};
  ASN1_TIME_to_tm(time, &calendar);
  return std::chrono::sys_seconds(std::chrono::seconds(::timegm(&calendar)));
}

// OpenSSL would ask for it on the terminal.
int no_passphrase(char* /*into*/, int /*size*/, int /*writing*/, void* is_asked) {
  *static_cast<bool*>(is_asked) = true;
  return -1;
}

std::unique_ptr<ssl_ctx_st, FreeSsl> new_settings(const SSL_METHOD* method) {
  std::unique_ptr<ssl_ctx_st, FreeSsl> ssl(SSL_CTX_new(method));
  if (!ssl) {
    throw std::bad_alloc();
  }
  SSL_CTX_set_min_proto_version(ssl.get(), TLS1_2_VERSION);
  // Many clients of Redis close without TLS's own farewell. RESP says itself where a message ends,
  // so that one which was cut off is not taken for a whole one.
  SSL_CTX_set_options(
      ssl.get(), SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION | SSL_OP_IGNORE_UNEXPECTED_EOF);
  // Without its two buffers an idle connection is 34 KiB smaller.
  SSL_CTX_set_mode(ssl.get(),
                   SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                       SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_read_ahead(ssl.get(), 1);  // else two system calls per record
  SSL_CTX_set_session_cache_mode(ssl.get(), SSL_SESS_CACHE_OFF);  // tickets are kept by clients
  return ssl;
}

// An error, or nothing.
std::string trust(SSL_CTX* ssl, const std::string& authorities) {
  if (std::string trouble = unreadable(authorities); !trouble.empty()) {
    return trouble;
  }
  ERR_clear_error();
  return SSL_CTX_load_verify_file(ssl, authorities.c_str()) == 1
             ? std::string()
             : about(authorities, openssl_error_text());
}

constexpr const char* kNobody = "nobody.invalid";  // RFC 6761

bool is_ip(const std::string& host) {
  in6_addr ignored{};
  return ::inet_pton(AF_INET, host.c_str(), &ignored) == 1 ||
         ::inet_pton(AF_INET6, host.c_str(), &ignored) == 1;
}

}  // namespace

void FreeSsl::operator()(ssl_st* connection) const {
  SSL_free(connection);
}

void FreeSsl::operator()(ssl_ctx_st* context) const {
  SSL_CTX_free(context);
}

std::string TlsCredentials::use_certificate(const std::string& cert, const std::string& key) {
  for (const std::string& file : {cert, key}) {
    if (std::string trouble = unreadable(file); !trouble.empty()) {
      return trouble;
    }
  }
  ERR_clear_error();
  if (SSL_CTX_use_certificate_chain_file(ssl_.get(), cert.c_str()) != 1) {
    return about(cert, openssl_error_text());
  }
  // Asked for before the key, which could be one of another kind, and then is taken for that of
  // another certificate to come.
  X509* const own = SSL_CTX_get0_certificate(ssl_.get());
  const std::unique_ptr<BIO, FreeOpenssl> file(BIO_new_file(key.c_str(), "r"));
  bool needs_passphrase = false;
  const std::unique_ptr<EVP_PKEY, FreeOpenssl> read(
      file ? PEM_read_bio_PrivateKey(file.get(), nullptr, no_passphrase, &needs_passphrase)
           : nullptr);
  if (!read) {
    return about(key,
                 needs_passphrase ? "the key is protected by a passphrase, which is not supported"
                                  : openssl_error_text());
  }
  ERR_clear_error();
  if (X509_check_private_key(own, read.get()) != 1) {
    return about(key, "this key does not belong to the certificate " + cert);
  }
  if (SSL_CTX_use_PrivateKey(ssl_.get(), read.get()) != 1) {
    return about(key, openssl_error_text());
  }
  validity_ = {.from = seconds_of(X509_get0_notBefore(own)),
               .until = seconds_of(X509_get0_notAfter(own))};
  if (X509_cmp_current_time(X509_get0_notAfter(own)) < 0) {
    warnings_.push_back(about(cert, "the certificate has expired"));
  } else if (X509_cmp_current_time(X509_get0_notBefore(own)) > 0) {
    warnings_.push_back(about(cert, "the certificate is not valid yet"));
  }
  return {};
}

TlsCredentials::Loaded TlsCredentials::load(const config::ListenTls& settings) {
  std::shared_ptr<TlsCredentials> made(new TlsCredentials(new_settings(TLS_server_method())));
  if (std::string trouble = made->use_certificate(settings.cert, settings.key); !trouble.empty()) {
    return std::unexpected(std::move(trouble));
  }
  SSL_CTX* const ssl = made->ssl_.get();
  // Without a name of its own a session of a client with a certificate cannot be taken up.
  static constexpr std::string_view kSessions = "cuckooguard";
  SSL_CTX_set_session_id_context(
      ssl, reinterpret_cast<const unsigned char*>(kSessions.data()), kSessions.size());
  if (!settings.client_ca.empty()) {
    if (std::string trouble = trust(ssl, settings.client_ca); !trouble.empty()) {
      return std::unexpected(std::move(trouble));
    }
    // Their names, by which a client with several certificates chooses.
    SSL_CTX_set_client_CA_list(ssl, SSL_load_client_CA_file(settings.client_ca.c_str()));
    SSL_CTX_set_verify(ssl, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  }
  return made;
}

TlsCredentials::Loaded TlsCredentials::load(const config::UpstreamTls& settings) {
  std::shared_ptr<TlsCredentials> made(new TlsCredentials(new_settings(TLS_client_method())));
  SSL_CTX* const ssl = made->ssl_.get();
  if (!settings.cert.empty()) {
    if (std::string trouble = made->use_certificate(settings.cert, settings.key);
        !trouble.empty()) {
      return std::unexpected(std::move(trouble));
    }
  }
  if (!settings.ca.empty()) {
    if (std::string trouble = trust(ssl, settings.ca); !trouble.empty()) {
      return std::unexpected(std::move(trouble));
    }
  } else {
    SSL_CTX_set_default_verify_paths(ssl);
  }
  SSL_CTX_set_verify(ssl, settings.verify ? SSL_VERIFY_PEER : SSL_VERIFY_NONE, nullptr);
  made->verifies_name_ = settings.verify;
  made->name_ = settings.server_name;
  return made;
}

TlsConnection TlsCredentials::new_connection(const std::string& peer) const {
  TlsConnection connection(SSL_new(ssl_.get()));
  SSL* const ssl = connection.get();
  if (ssl == nullptr) {
    throw std::bad_alloc();
  }
  if (SSL_is_server(ssl) == 1) {
    SSL_set_accept_state(ssl);
    return connection;
  }
  SSL_set_connect_state(ssl);
  const std::string& name = name_.empty() ? peer : name_;
  const bool name_is_ip = is_ip(name);
  if (verifies_name_ && name_is_ip) {
    X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), name.c_str());
  } else if (verifies_name_) {
    SSL_set_hostflags(ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    // Without a name OpenSSL would take a certificate of anybody.
    SSL_set1_host(ssl, name.empty() ? kNobody : name.c_str());
  }
  if (!name_is_ip && !name.empty()) {
    SSL_set_tlsext_host_name(ssl, name.c_str());
  }
  return connection;
}

}  // namespace cuckooguard::io
