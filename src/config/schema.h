// Every key a configuration file can have, by section. The readers accept these and no others; a test demands that
// config/cuckooguard.yaml documents each.
#pragma once

#include <array>
#include <span>
#include <string_view>

namespace cuckooguard::config {

struct KeyList {
  std::string_view
      section;  // path in the file; `*` stands for a name the operator chooses; "" is the top
  std::span<const std::string_view> keys;
  bool may_hold_secrets = false;  // what stands here is never shown in a diagnostic
  std::string_view short_form{};  // the key that a value stands for where the section should be
};

namespace schema {

inline constexpr std::array<std::string_view, 10> kTopKeys = {"listen",
                                                              "upstream",
                                                              "sources",
                                                              "namespaces",
                                                              "storage",
                                                              "limits",
                                                              "admin",
                                                              "log",
                                                              "workers",
                                                              "drain_timeout"};
inline constexpr std::array<std::string_view, 5> kUpstreamKeys = {
    "address", "mode", "connect_timeout", "acl", "control"};
inline constexpr std::array<std::string_view, 3> kControlKeys = {
    "username", "password", "password_file"};
inline constexpr std::array<std::string_view, 6> kSqliteKeys = {
    "type", "path", "follow", "install_triggers", "poll_every", "max_lag"};
inline constexpr std::array<std::string_view, 10> kMysqlKeys = {"type",
                                                                "addresses",
                                                                "user",
                                                                "password",
                                                                "password_file",
                                                                "database",
                                                                "tls",
                                                                "ca_file",
                                                                "server_id",
                                                                "max_lag"};
inline constexpr std::array<std::string_view, 4> kFileKeys = {"type", "path", "format", "max_lag"};
inline constexpr std::array<std::string_view, 15> kAnySourceKeys = {"type",
                                                                    "path",
                                                                    "follow",
                                                                    "install_triggers",
                                                                    "poll_every",
                                                                    "format",
                                                                    "addresses",
                                                                    "user",
                                                                    "password",
                                                                    "password_file",
                                                                    "database",
                                                                    "tls",
                                                                    "ca_file",
                                                                    "server_id",
                                                                    "max_lag"};
inline constexpr std::array<std::string_view, 11> kNamespaceKeys = {"keys",
                                                                    "source",
                                                                    "mode",
                                                                    "order",
                                                                    "absent_reply",
                                                                    "verify_sample",
                                                                    "db",
                                                                    "strict",
                                                                    "fresh_ids",
                                                                    "filter",
                                                                    "overlay"};
inline constexpr std::array<std::string_view, 4> kTableKeys = {"from", "table", "columns", "where"};
inline constexpr std::array<std::string_view, 3> kFilterKeys = {
    "false_positive_rate", "capacity", "deletes"};
inline constexpr std::array<std::string_view, 3> kOverlayKeys = {
    "ttl", "max_keys", "pass_at_start"};
inline constexpr std::array<std::string_view, 2> kStorageKeys = {"directory", "checkpoint_every"};
inline constexpr std::array<std::string_view, 6> kLimitsKeys = {"max_clients",
                                                                "client_output_soft",
                                                                "client_output_hard",
                                                                "output_total",
                                                                "inflight_per_client",
                                                                "idle_timeout"};
inline constexpr std::array<std::string_view, 3> kAdminKeys = {
    "address", "token_file", "operators"};
inline constexpr std::array<std::string_view, 3> kLogKeys = {"level", "format", "keys"};

inline constexpr KeyList kTop{"", kTopKeys};
inline constexpr KeyList kUpstream{"upstream", kUpstreamKeys, false, "address"};
inline constexpr KeyList kControl{"upstream.control", kControlKeys, true};
inline constexpr KeyList kSqlite{"sources.* of type sqlite", kSqliteKeys};
inline constexpr KeyList kMysql{"sources.* of type mysql", kMysqlKeys, true};
inline constexpr KeyList kFile{"sources.* of type file", kFileKeys};
inline constexpr KeyList kAnySource{"sources.*", kAnySourceKeys};  // while the type is not known
inline constexpr KeyList kNamespace{"namespaces.*", kNamespaceKeys};
inline constexpr KeyList kTable{"namespaces.*.source", kTableKeys};
inline constexpr KeyList kFilter{"namespaces.*.filter", kFilterKeys};
inline constexpr KeyList kOverlay{"namespaces.*.overlay", kOverlayKeys};
inline constexpr KeyList kStorage{"storage", kStorageKeys};
inline constexpr KeyList kLimits{"limits", kLimitsKeys};
inline constexpr KeyList kAdmin{"admin", kAdminKeys};
inline constexpr KeyList kLog{"log", kLogKeys};

inline constexpr std::array kAll = {kTop,
                                    kUpstream,
                                    kControl,
                                    kSqlite,
                                    kMysql,
                                    kFile,
                                    kNamespace,
                                    kTable,
                                    kFilter,
                                    kOverlay,
                                    kStorage,
                                    kLimits,
                                    kAdmin,
                                    kLog};

}  // namespace schema
}  // namespace cuckooguard::config
