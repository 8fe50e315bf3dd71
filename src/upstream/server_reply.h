// Reads what Redis says of its state: HELLO and INFO (cluster, role), an error (LOADING, BUSY ...).
//
// Threads: pure functions. Errors: what is not said is nullopt.
// Source: recorded from Redis 7.0.15.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "redis/reading.h"

struct redisReply;

namespace cuckooguard::upstream {

// From HELLO, which needs no permission and is answered while Redis is loading or busy; from Redis
// 6.
struct ServerKind {
  bool is_cluster = true;
  bool is_master = false;
  int version = 0;  // the major one; 0: it does not say
};
std::optional<ServerKind> kind_of_hello(const redisReply& reply);
// From INFO, for older ones.
std::optional<ServerKind> kind_of_info(const redisReply& reply);

// From INFO: whether Redis takes writes as far as its role, its snapshots, its log and its replicas
// go (-READONLY, -MISCONF, -NOREPLICAS). In doubt it does not: where replicas are wanted, INFO does
// not say how many.
bool takes_writes(const redisReply& reply);

// From INFO: what a server calls itself from its start to its end; empty: it does not say.
std::string run_id_of(const redisReply& reply);
// The same: how long ago it was started.
std::optional<std::chrono::seconds> uptime_of(const redisReply& reply);

// The state in which Redis refuses reads, from its error without '-'; nullopt: another error.
std::optional<redis::Availability> state_of_error(std::string_view error);
// From INFO. A replica without its master may serve old data or refuse to: INFO does not say which.
std::optional<redis::Availability> state_of_info(const redisReply& reply);

}  // namespace cuckooguard::upstream
