#include "upstream/server_reply.h"

#include "text/number.h"
#include "upstream/redis_reply.h"

namespace cuckooguard::upstream {
namespace {

// The value in a line "name:value\r\n"; empty if there is none.
std::string_view line_value(std::string_view info, const std::string& name) {
  const std::string label = name + ":";
  std::size_t at = info.find(label);
  while (at != std::string_view::npos && at != 0 && info[at - 1] != '\n') {
    at = info.find(label, at + 1);
  }
  if (at == std::string_view::npos) {
    return {};
  }
  const std::string_view rest = info.substr(at + label.size());
  return rest.substr(0, rest.find_first_of("\r\n"));
}

}  // namespace

std::optional<ServerKind> kind_of_hello(const redisReply& reply) {
  const redisReply* const mode = value_of(reply, "mode");
  const redisReply* const role = value_of(reply, "role");
  if (mode == nullptr || text_of(*mode).empty()) {
    return std::nullopt;
  }
  ServerKind kind{.is_cluster = text_of(*mode) == "cluster",
                  .is_master = role != nullptr && text_of(*role) == "master"};
  if (const redisReply* const version = value_of(reply, "version")) {
    std::string_view text = text_of(*version);
    kind.version = text::take_number<decltype(kind.version)>(text).value_or(0);
  }
  return kind;
}

std::optional<ServerKind> kind_of_info(const redisReply& reply) {
  const std::string_view info = is_error(reply) ? std::string_view{} : text_of(reply);
  const std::string_view cluster = line_value(info, "cluster_enabled");
  if (cluster.empty()) {
    return std::nullopt;
  }
  return ServerKind{.is_cluster = cluster != "0",
                    .is_master = line_value(info, "role") == "master"};
}

bool takes_writes(const redisReply& reply) {
  const std::string_view info = is_error(reply) ? std::string_view{} : text_of(reply);
  return line_value(info, "role") == "master" &&
         line_value(info, "rdb_last_bgsave_status") == "ok" &&
         line_value(info, "aof_last_write_status") == "ok" &&
         line_value(info, "min_slaves_good_slaves").empty();
}

std::string run_id_of(const redisReply& reply) {
  return is_error(reply) ? std::string() : std::string(line_value(text_of(reply), "run_id"));
}

std::optional<std::chrono::seconds> uptime_of(const redisReply& reply) {
  std::string_view text =
      is_error(reply) ? std::string_view{} : line_value(text_of(reply), "uptime_in_seconds");
  const auto seconds = text::take_number<std::chrono::seconds::rep>(text);
  return seconds ? std::optional(std::chrono::seconds(*seconds)) : std::nullopt;
}

std::optional<redis::Availability> state_of_error(std::string_view error) {
  if (error.starts_with("LOADING ")) {
    return redis::Availability::loading;
  }
  if (error.starts_with("MASTERDOWN ")) {
    return redis::Availability::master_link_down;
  }
  if (error.starts_with("BUSY ")) {
    return redis::Availability::busy;
  }
  return std::nullopt;
}

std::optional<redis::Availability> state_of_info(const redisReply& reply) {
  if (is_error(reply)) {
    return state_of_error(text_of(reply));
  }
  const std::string_view info = text_of(reply);
  const std::string_view loading = line_value(info, "loading");
  if (loading.empty()) {
    return std::nullopt;
  }
  if (loading != "0") {
    return redis::Availability::loading;
  }
  return line_value(info, "master_link_status") == "down" ? redis::Availability::master_link_down
                                                          : redis::Availability::available;
}

}  // namespace cuckooguard::upstream
