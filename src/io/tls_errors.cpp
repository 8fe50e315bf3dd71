#include "io/tls_errors.h"

#include <system_error>

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/sslerr.h>
#include <openssl/x509_vfy.h>

namespace cuckooguard::io {

// The first error is the cause, those behind it say who has passed it on.
std::string openssl_error_text() {
  const unsigned long error = ERR_peek_error();
  if (error == 0) {
    return {};
  }
  std::string words;
  if (ERR_SYSTEM_ERROR(error)) {
    words = std::system_category().message(ERR_GET_REASON(error));
  } else if (const char* const reason = ERR_reason_error_string(error)) {
    words = reason;
  } else {
    words = "OpenSSL error " + std::to_string(error);
  }
  const bool is_no_pem =
      (ERR_GET_LIB(error) == ERR_LIB_PEM && ERR_GET_REASON(error) == PEM_R_NO_START_LINE) ||
      ERR_GET_LIB(error) == ERR_LIB_OSSL_DECODER;
  ERR_clear_error();
  return is_no_pem ? "the file is not PEM, or not of the expected kind (" + words + ")" : words;
}

std::string handshake_error_text(const ssl_st* connection) {
  const unsigned long error = ERR_peek_error();
  const bool is_ours = ERR_GET_LIB(error) == ERR_LIB_SSL;
  std::string words = openssl_error_text();
  const long verified = SSL_get_verify_result(connection);
  if (is_ours && ERR_GET_REASON(error) == SSL_R_CERTIFICATE_VERIFY_FAILED &&
      verified != X509_V_OK) {
    return words + ": " + X509_verify_cert_error_string(verified);
  }
  if (is_ours && (ERR_GET_REASON(error) == SSL_R_WRONG_VERSION_NUMBER ||
                  ERR_GET_REASON(error) == SSL_R_HTTP_REQUEST)) {
    return "the peer does not use TLS (" + words + ")";
  }
  if (words.empty() && SSL_is_server(connection) == 0 && SSL_in_init(connection) == 1) {
    return "the connection was closed during the handshake";
  }
  return words;
}

}  // namespace cuckooguard::io
