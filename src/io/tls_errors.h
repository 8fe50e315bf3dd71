// OpenSSL's errors in words for operators.
//
// Threads: OpenSSL keeps the errors per thread; they are taken away.
#pragma once

#include <string>

struct ssl_st;

namespace cuckooguard::io {

// Errors of the last call, which must have begun with an empty list (ERR_clear_error). Empty: none.
std::string openssl_error_text();

// Why the handshake has failed, or what came in place of the peer's first byte. Empty: a client has
// just left.
std::string handshake_error_text(const ssl_st* connection);

}  // namespace cuckooguard::io
