// Reads `listen.tls` and `upstream.tls`.
//
// Called by: config_file. Errors: to the Report. What stands in the files is looked at when they are used (io/tls_credentials.h).
#pragma once

#include <optional>

#include "config/config.h"
#include "config/section.h"

namespace cuckooguard::config {

std::optional<ListenTls> read_listen_tls(const Reading& reading, const Section& listen);

// Once the address is read.
void read_upstream_tls(const Reading& reading, const Section& section, Upstream& upstream);

}  // namespace cuckooguard::config
