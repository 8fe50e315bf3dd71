// OpenSSL's way to read and write: a BIO over a Transport, without a copy in between.
//
// Threads: the transport's. Lifetimes: the Wire outlives the BIO, and so does its transport.
// Errors: a transport that would block makes OpenSSL say so (SSL_ERROR_WANT_READ,
// SSL_ERROR_WANT_WRITE).
#pragma once

#include "io/transport.h"

struct bio_st;

namespace cuckooguard::io {

struct Wire {
  Transport* transport = nullptr;
  bool has_ended = false;  // the peer has said that it sends no more
};

// Throws std::bad_alloc.
bio_st* new_transport_bio(Wire& wire);

}  // namespace cuckooguard::io
