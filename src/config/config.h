// The operator's settings as plain structs. This file and sources.h have every default of the
// product, and no other file has any; config/cuckooguard.yaml documents them, and a test compares
// the two.
//
// Threads: plain values.
// Units: durations are std::chrono, sizes are bytes, rates are fractions of 1.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/filled.h"
#include "config/sources.h"
#include "keyspace/key_template.h"
#include "keyspace/keyspace.h"

namespace cuckooguard::config {

using std::chrono::milliseconds;

struct AbsentPreset;  // config/absent_presets.h

// Clients connect over TLS. Files are PEM.
struct ListenTls {
  std::string cert;  // the server's, and behind it those that lead to its authority
  std::string key;
  std::string client_ca;  // empty: clients need no certificate

  bool operator==(const ListenTls&) const = default;
};

// Redis is reached over TLS. Files are PEM.
struct UpstreamTls {
  std::string ca;    // empty: the system's
  std::string cert;  // the guard's own; empty: none
  std::string key;
  std::string server_name;  // empty: the address's host
  bool verify = true;

  bool operator==(const UpstreamTls&) const = default;
};

inline constexpr std::size_t kSentinelsMax = 16;

enum class UpstreamMode : std::uint8_t { pinned, shared };

// Which clients the guard answers: ask Redis what each user may do, or trust every client that
// Redis has accepted.
enum class Acl : std::uint8_t { ask, trust };

struct Control {  // how the control connection logs in; all empty: without AUTH
  std::string username;
  std::string password;
  std::string password_file;  // read again at every connect

  bool operator==(const Control&) const = default;
};

inline constexpr std::size_t kNodeAddressesMax = 1000;

// The address of a node that cannot be reached at the one it announces, as behind NAT.
struct NodeAddress {
  Address told;  // as its cluster tells it
  Address reached;

  bool operator==(const NodeAddress&) const = default;
};

struct Upstream {
  Address address{.host = "127.0.0.1", .port = 6379};
  UpstreamMode mode = UpstreamMode::shared;
  milliseconds connect_timeout{5000};
  // A connection whose peer acknowledges nothing of what it is sent for so long is given up.
  milliseconds silence{3000};
  Acl acl = Acl::ask;
  Control control;
  std::optional<UpstreamTls> tls;  // nullopt: plain text
  // Nodes of a Redis Cluster; at least one must answer for the guard to learn of the others. Empty:
  // there is only `address`. The settings of Redis above then apply to each node.
  std::vector<Address> cluster;
  // MSET of several slots, from clients that see the cluster as one Redis, is run slot by slot.
  bool split_mset = false;
  // Sentinels, which know where the master of this name is; empty: none are asked. The settings of
  // Redis above then apply to the master and its replicas.
  std::vector<Address> sentinels;
  std::string master;
  Control sentinel_control;                 // how the guard logs in to them
  std::vector<NodeAddress> node_addresses;  // kNodeAddressesMax at most

  // Where to connect to for `address`. A certificate is for whoever is told all the same.
  Address reached() const;

  bool operator==(const Upstream&) const = default;
};

enum class Mode : std::uint8_t { observe, enforce, bypass };
inline constexpr std::array<std::string_view, 3> kModeNames{"observe", "enforce", "bypass"};
constexpr std::string_view name_of(Mode mode) {
  return kModeNames.at(static_cast<std::size_t>(mode));
}

// In enforce: who is asked first, the filter or Redis.
enum class Order : std::uint8_t {
  guard_first,  // the guard: Redis is not asked
  redis_first,  // Redis: only its nil to a GET is replaced, all other reads are forwarded
};
inline constexpr std::array<std::string_view, 2> kOrderNames{"guard-first", "redis-first"};
constexpr std::string_view name_of(Order order) {
  return kOrderNames.at(static_cast<std::size_t>(order));
}

// How recent the proof behind an absent verdict is (filter/live_parts.h).
enum class Consistency : std::uint8_t {
  automatic,  // strict where the source can and the absent reply is no nil; else max_lag
  strict,     // the database was asked after the read had arrived
  max_lag,    // no older than the source's max_lag
};
inline constexpr std::array<std::string_view, 3> kConsistencyNames{"auto", "strict", "max_lag"};
constexpr std::string_view name_of(Consistency consistency) {
  return kConsistencyNames.at(static_cast<std::size_t>(consistency));
}

struct AbsentReply {
  bool nil = true;
  std::string bytes;                     // unless nil
  const AbsentPreset* preset = nullptr;  // if it was chosen by name; its bytes may carry a time

  bool operator==(const AbsentReply&) const = default;
};

struct FreshIds {
  enum class Kind : std::uint8_t { automatic, window, off };
  Kind kind = Kind::automatic;
  std::uint64_t window = 0;  // ids above the largest seen that must pass, if kind is window

  bool operator==(const FreshIds&) const = default;
};

// How the filter handles deleted rows, where the source reports each one (docs/design.md).
enum class Deletes : std::uint8_t { automatic, trusted, deferred, exact };
inline constexpr std::array<std::string_view, 4> kDeletesNames{
    "auto", "trusted", "deferred", "exact"};

struct Filter {
  double false_positive_rate = 0.002;
  std::optional<std::uint64_t> capacity;  // rows; nullopt: from the source's row count
  Deletes deletes = Deletes::automatic;

  bool operator==(const Filter&) const = default;
};

struct Overlay {
  std::chrono::seconds ttl{60};
  std::uint64_t max_keys = 1'000'000;
  bool pass_at_start = true;

  bool operator==(const Overlay&) const = default;
};

// The name under which applications ask a namespace's filter as if it were one of RedisBloom's.
struct FilterCommands {
  std::string key;  // of BF.* and CF.*; empty: none

  bool operator==(const FilterCommands&) const = default;
};

// Of clients that miss the same key one loads it; the others wait for its SET.
enum class BreakdownScope : std::uint8_t { guard, redis };
inline constexpr std::array<std::string_view, 2> kBreakdownScopeNames{"guard", "redis"};

struct Breakdown {
  milliseconds hold{0};               // how long at most; 0: off
  std::optional<milliseconds> lease;  // how long the others wait for one client; nullopt: auto
  std::uint32_t max_concurrent_misses = 0;       // of a namespace, whatever the keys; 0: no bound
  BreakdownScope scope = BreakdownScope::guard;  // whose clients have one lease of a key

  bool is_on() const { return hold.count() > 0; }
  bool operator==(const Breakdown&) const = default;
};

struct Namespace {
  std::string name;
  std::vector<keyspace::KeyTemplate> keys;
  SourceTable source;
  Mode mode = Mode::observe;
  Order order = Order::guard_first;
  std::optional<AbsentReply> absent_reply;  // always there in enforce
  double verify_sample = 0.0001;            // of absent verdicts in enforce: Redis is asked, too
  int db = 0;
  bool canonical_keys = false;
  Consistency consistency = Consistency::automatic;
  double tolerate = 0;  // reads of absent keys per second that are forwarded all the same
  FreshIds fresh_ids;
  Filter filter;
  Overlay overlay;
  FilterCommands commands;
  Breakdown breakdown;

  bool operator==(const Namespace&) const = default;
};

struct Storage {            // where filters are kept between runs
  std::string directory;    // empty: they are not kept
  std::string secret_file;  // what filters are hashed with; empty: a secret of the directory's own
  milliseconds checkpoint_every{30'000};

  bool operator==(const Storage&) const = default;
};

struct Limits {
  std::uint32_t max_clients = 10'000;
  std::uint64_t client_output_soft = 1024 * 1024;
  std::uint64_t client_output_hard = std::uint64_t{256} * 1024 * 1024;
  std::uint64_t output_total = std::uint64_t{1024} * 1024 * 1024;
  std::uint32_t inflight_per_client = 1024;
  milliseconds idle_timeout{0};  // 0: never

  bool operator==(const Limits&) const = default;
};

struct Admin {                         // the HTTP pages of src/admin
  std::optional<Address> address;      // nullopt: none
  std::string token_file;              // read again for every request; empty: none is asked for
  std::vector<std::string> hosts;      // by which it may be asked, beside IP addresses; no ports
  std::vector<std::string> operators;  // users of Redis who may GUARD.MODE and GUARD.REBUILD

  bool operator==(const Admin&) const = default;
};

enum class LogLevel : std::uint8_t { debug, info, warning, error };
inline constexpr std::array<std::string_view, 4> kLogLevelNames{
    "debug", "info", "warning", "error"};

enum class LogFormat : std::uint8_t { text, json };

// How Redis keys are written to the log: as a keyed hash, which GUARD.EXPLAIN also shows, or as
// they are.
enum class LogKeys : std::uint8_t { hashed, plain };

struct Log {
  LogLevel level = LogLevel::info;
  LogFormat format = LogFormat::text;
  LogKeys keys = LogKeys::hashed;

  bool operator==(const Log&) const = default;
};

inline constexpr std::size_t kListenMax = 64;
inline constexpr std::size_t kNodePortsMax = 64;

// Where clients connect.
struct Listen {
  Address address{.host = "127.0.0.1", .port = 6380};
  std::optional<ListenTls> tls;  // nullopt: plain text
  // `address` is one of these, for one node of the cluster, or of the master and its replicas. What
  // is read as one section with `nodes` is as many as it has ports.
  std::optional<NodePorts> nodes;
  std::optional<Address> sentinels;  // the same as `address`, which is for clients of Sentinel
  std::string
      announce;  // the host that clients are told; empty: the one that they have connected to
  // For a Unix socket's file. nullopt: what the umask leaves; empty: the process's own group.
  std::optional<std::uint32_t> mode;
  std::string group;

  bool has_nodes() const { return nodes.has_value(); }
  bool is_for_redis() const { return !nodes && !sentinels; }
  bool operator==(const Listen&) const = default;
};

struct Config {
  std::vector<Listen> listen{Listen{}};  // from 1 to kListenMax, whose addresses differ
  Upstream upstream;
  std::vector<Source> sources;
  std::vector<Namespace> namespaces;  // their index is the keyspace's namespace number
  FilledFilters filters;
  Fleet fleet;
  Storage storage;
  Limits limits;
  Admin admin;
  Log log;
  unsigned workers = 0;  // 0: auto
  milliseconds drain_timeout{10'000};

  bool operator==(const Config&) const = default;
};

// What keyspace::Keyspace::build asks for, in the order of Config::namespaces.
std::vector<keyspace::NamespaceTemplates> namespace_templates(const Config& config);
// The keyspace of a configuration that has been read. Throws std::logic_error if templates are
// ambiguous, which reading a configuration rules out.
keyspace::Keyspace keyspace_of(const Config& config);

}  // namespace cuckooguard::config
