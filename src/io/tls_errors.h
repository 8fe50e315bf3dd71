// What OpenSSL has against it, in words for operators.
//
// Threads: OpenSSL keeps the errors per thread; they are taken away.
#pragma once

#include <string>

struct ssl_st;

namespace cuckooguard::io {

// Of the call before; it must have begun with an empty list (ERR_clear_error). Empty: it says
// nothing.
std::string openssl_error_text();

// Why the handshake has failed, or what came in place of the peer's first byte. Empty: a client has
// just left.
std::string handshake_error_text(const ssl_st* connection);

}  // namespace cuckooguard::io
