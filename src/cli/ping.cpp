#include "cli/ping.h"

#include <hiredis/hiredis.h>

#include "cli/redis_call.h"

namespace cuckooguard::cli {

std::expected<std::string, std::string> ping(const Ping& options) {
  auto connection = RedisCall::open(options.address, options.timeout, options.tls.chosen());
  if (!connection) {
    return std::unexpected(connection.error());
  }
  const auto called = connection->call({"PING"});
  if (!called) {
    return std::unexpected(called.error());
  }
  const redisReply& reply = **called;
  return reply.str == nullptr ? "a reply\n" : std::string(reply.str, reply.len) + "\n";
}

}  // namespace cuckooguard::cli
