// The hash secret on disk: 192 raw bytes in a file only its owner may read.
//
// A filter file is useless without the secret it was hashed with, and anyone who reads the secret
// can compute keys that pass the filter. So it is stored next to the filter files, with mode 0600.
//
// Threads:   any; two processes that create at once agree on one secret.
// Errors:    a sentence for the operator, with the path and what to do.
#pragma once

#include <expected>
#include <string>

#include "filter/key_hash.h"

namespace cuckooguard::filter {

std::expected<HashSecret, std::string> read_secret(const std::string& path);

// Reads the secret, or creates the file with a random one.
std::expected<HashSecret, std::string> read_or_create_secret(const std::string& path);

}  // namespace cuckooguard::filter
