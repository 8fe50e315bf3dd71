// What a worker's guard may know of the process around it, for its own commands: the sources and
// the other workers' guards. One for each configuration that is loaded.
//
// The guard knows no database: SourceView is its view of the sources, and app/ implements it
// (app/source_list.h). Threads: any number; the implementation is thread-safe, and none of its
// calls waits for a source's work. Lifetimes: outlives the guards.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"
#include "filter/key_hash.h"
#include "filter/reported_state.h"
#include "guard/overlay.h"
#include "redis/reading.h"

namespace cuckooguard::guard {

// The servers of a Redis that is more than one, such as a cluster's nodes: what GUARD.INFO, /status
// and /metrics show of each. topology::NodeBoard finds out.
//
// Errors: what is not known is left out. Limits: NodeView::kShownMax nodes, those with a port of
// the guard first; the others are only counted.
// `unknown`: nobody lists it any more, and its port is still kept for it.
enum class NodeRole : std::uint8_t { unknown, master, replica, failing };
inline constexpr std::array<std::string_view, 4> kNodeRoleNames{
    "unknown", "master", "replica", "failing"};
constexpr std::string_view name_of(NodeRole role) {
  return kNodeRoleNames.at(static_cast<std::size_t>(role));
}

// By the guard's own connection to it; `never`: it has not been tried, as without a port.
enum class NodeState : std::uint8_t { never, up, down };
constexpr std::string_view name_of(NodeState state) {
  constexpr std::array<std::string_view, 3> kNames{"never", "up", "down"};
  return kNames.at(static_cast<std::size_t>(state));
}

struct NodeStatus {
  std::string address{};   // host:port, printable
  std::uint16_t port = 0;  // of the guard; 0: none. No two nodes have both the same
  NodeRole role = NodeRole::unknown;
  std::size_t slots = 0;
  NodeState state = NodeState::never;
  std::optional<std::chrono::nanoseconds> round_trip{};  // as redis::Reading has it
  redis::ControlReport control{};
};

struct NodesStatus {
  std::vector<NodeStatus> shown{};
  std::size_t without_port = 0;                     // clients are sent to them directly
  std::chrono::steady_clock::time_point told_at{};  // what there is; before the first: the start
  std::string why_silent{};                         // empty: they tell

  // The worst of what Redis lets the guard ask.
  redis::ControlReport::State control() const;
};

class NodeView {
 public:
  static constexpr std::size_t kShownMax = config::kNodePortsMax;

  virtual NodesStatus nodes() const = 0;

 protected:
  ~NodeView() = default;
};

class Contradictions;
class Guard;

using filter::Reached;
using filter::SourceStatus;

class SourceView {
 public:
  virtual std::size_t size() const = 0;
  virtual std::string_view name(std::size_t source) const = 0;
  virtual SourceStatus status(std::size_t source) const = 0;
  virtual Reached reached(std::size_t source, std::string_view position) const = 0;
  // source::Publication::piece(), of whichever source has that snapshot.
  virtual std::optional<std::string> piece(std::string_view /*snapshot*/,
                                           std::uint32_t /*number*/) const {
    return std::nullopt;
  }

 protected:
  ~SourceView() = default;
};

// Reloads of the configuration while the process runs, for GUARD.RELOAD, `POST /-/reload` and what
// shows the state. What a reload changes, and what it keeps: app/assembly.h.
//
// Threads: any; no call waits for a reload. Errors: an outcome's errors. Limits: one reload at a
// time, and one more after it, for all who have asked meanwhile.
struct ReloadOutcome {
  // Why the configuration of before is still in force, each a line; none: the file's is.
  std::vector<std::string> errors{};
  // Settings that are other in the file than in this process, and stay so until it is started
  // again.
  std::vector<std::string> needs_restart{};
  bool is_unchanged = false;             // the file says what it said when it was last loaded
  std::chrono::sys_seconds loaded_at{};  // when the configuration in force was read
};

class Reloads {
 public:
  // Of a reload that began at `since` or later; `who` asks for one, if there is none, for the log.
  // Nothing: it has not ended yet; ask again.
  virtual std::optional<ReloadOutcome> outcome(std::chrono::steady_clock::time_point since,
                                               std::string_view who) = 0;
  // The last one; the start counts as one.
  virtual ReloadOutcome last() const = 0;

 protected:
  ~Reloads() = default;
};

// Whether the database has a row, for guards that follow this one (POST /v1/fleet/row).
//
// Threads: any; no call waits for the database. Errors: an answer that says `unknown`, and why.
// Limits: one question at a time is put to a database, and few wait.
struct RowQuestion {
  std::string ns{};          // by its name
  std::string definition{};  // source::published_definition() of who asks
  std::string identity{};
  std::chrono::steady_clock::time_point since{};  // of the request

  bool operator==(const RowQuestion&) const = default;
};

class RowQuestions {
 public:
  // Nothing: it is asked; ask again, the same question.
  virtual std::optional<filter::RowAnswer> ask(const RowQuestion& question) = 0;

 protected:
  ~RowQuestions() = default;
};

// Where a namespace's rows come from.
struct NamespaceOrigin {
  std::string source{};  // its name
  std::chrono::nanoseconds max_lag{};
  TimePoint since{};  // its definition is as it is since then; before the process began: since that
};

// Who may change the process, and who hears of it.
struct Operators {
  std::vector<std::string> users{};  // of Redis
  // In words for the log; on the worker's thread.
  std::function<void(std::string_view user, std::string_view ns, std::string_view what)>
      on_change{};
};

// What a feature that guards do not know says is wrong with it, for people.
struct Complaint {
  bool is_grave = false;
  std::string what{};
  std::string why{};
  std::string hint{};
};

struct Process {
  std::string version{};
  TimePoint started_at{};
  std::vector<NamespaceOrigin> origins{};    // in the keyspace's order
  const SourceView* sources = nullptr;       // null: there are none
  const NodeView* nodes = nullptr;           // null: Redis is one server, as far as is known
  Contradictions* contradictions = nullptr;  // null: nobody asks the source; they are counted alone
  Operators operators{};
  Reloads* reloads = nullptr;          // null: the configuration stays as it is
  RowQuestions* rows = nullptr;        // null: followers are told nothing
  std::vector<const Guard*> guards{};  // one per worker; complete before the first client comes
  std::vector<std::function<std::optional<Complaint>()>> complaints{};  // any thread
  bool shows_keys = false;                                              // log.keys: plain
  // For key_hash() alone: what is shown to people must say nothing of how filters hash.
  filter::KeyHash shown_hash{filter::random_secret()};

  // How a Redis key stands in the log and in GUARD.EXPLAIN: 16 hexadecimal digits, the same for as
  // long as this process lives.
  std::string key_hash(std::string_view key) const;
};

}  // namespace cuckooguard::guard
