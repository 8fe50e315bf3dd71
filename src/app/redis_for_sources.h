// The connections to Redis that sources ask for (source/redis_session.h): to wherever a key is at
// the moment, and of no use any more once that is elsewhere.
//
// Threads: any. Lifetimes: `endpoints` and `tls` outlive the sources. Errors: as RedisSession.
#pragma once

#include "app/endpoints.h"
#include "io/tls_credentials.h"
#include "source/redis_session.h"

namespace cuckooguard::app {

source::OpenRedis redis_for_sources(const Endpoints& endpoints, const io::TlsSlot& tls);

}  // namespace cuckooguard::app
