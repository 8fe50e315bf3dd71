// The names of all events that the log can have. They are an interface: alerts and dashboards
// search for them. docs/operations.md says what each means, and a test compares the two.
//
// Threads: constants.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace cuckooguard::log {

// clang-format off: one a line, so that additions merge
inline constexpr auto kEventNames = std::to_array<std::string_view>({
    "accept_failed",
    "admin_accept_failed",
    "admin_listening",
    "admin_without_token",
    "advice",
    "attack_began",
    "attack_ended",
    "certificate_ends",
    "client_tls_failed",
    "cluster_node",
    "cluster_nodes_not_kept",
    "cluster_nodes_without_port",
    "cluster_silent",
    "contradiction_unknown",
    "control_allowed",
    "control_not_allowed",
    "drain_timeout",
    "drained",
    "draining",
    "failover",
    "filters_state",
    "filters_trouble",
    "fleet",
    "guards_nothing",
    "hidden_by_lag",
    "hidden_row",
    "hidden_value",
    "late_row",
    "leases_trouble",
    "listening",
    "loaded",
    "loading",
    "log_dropped",
    "loop_stalled",
    "loopback_in_container",
    "mode_reset",
    "namespace",
    "needs_restart",
    "operator",
    "overlays_trouble",
    "redis_master",
    "reload_asked",
    "reload_refused",
    "reloaded",
    "renamed_setting",
    "sentinels_silent",
    "slots_moved",
    "source_trouble",
    "starting",
    "state",
    "suppressed",
    "tls_loaded",
    "tls_warning",
    "unused_source",
    "upstream_changed",
    "upstream_down",
    "upstream_refused",
    "upstream_tls_failed",
    "upstream_up",
});
// clang-format on

// Events that answer an operator's request: every line is written, however many (event_log.h).
inline constexpr auto kUnlimitedEvents = std::to_array<std::string_view>({"reload_refused"});

// One of them.
class EventName {
 public:
  consteval EventName(const char* name) : text_(name) {  // NOLINT(google-explicit-constructor)
    if (std::ranges::find(kEventNames, text_) == kEventNames.end()) {
      throw "kEventNames does not have this name";
    }
  }

  constexpr std::string_view text() const { return text_; }

 private:
  std::string_view text_;
};

}  // namespace cuckooguard::log
