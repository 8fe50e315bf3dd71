// Reads `listen.tls` and `upstream.tls`: true, false, or a section.
//
// Errors: to the Report. What stands in the files is looked at when they are used
//   (io/tls_credentials.h).
#pragma once

#include <span>

#include "config/config.h"
#include "config/section.h"

namespace cuckooguard::config {

void read_listen_tls(const Section& section, Listen& out);
std::span<const KeyList> listen_tls_sections();

// Once the address is read.
void read_upstream_tls(const Section& upstream, Upstream& out);
std::span<const KeyList> upstream_tls_sections();

}  // namespace cuckooguard::config
