// What a worker's guard may know of the process around it, for its own commands: the sources and
// the other workers' guards. One for each configuration that is loaded.
//
// The guard knows no database: SourceView is what it wants to know of sources, and app/ tells it
// (app/source_list.h). Threads: any number; the implementation is thread-safe, and none of its
// calls waits for a source's work. Lifetimes: outlives the guards.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "filter/key_hash.h"
#include "filter/source_status.h"
#include "guard/nodes.h"
#include "guard/overlay.h"
#include "guard/reloads.h"

namespace cuckooguard::guard {

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

 protected:
  ~SourceView() = default;
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

struct Process {
  std::string version{};
  TimePoint started_at{};
  std::vector<NamespaceOrigin> origins{};    // in the keyspace's order
  const SourceView* sources = nullptr;       // null: there are none
  const NodeView* nodes = nullptr;           // null: Redis is one server, as far as is known
  Contradictions* contradictions = nullptr;  // null: nobody asks the source; they are counted alone
  Operators operators{};
  Reloads* reloads = nullptr;          // null: the configuration stays as it is
  std::vector<const Guard*> guards{};  // one per worker; complete before the first client comes
  // For key_hash() alone: what is shown to people must say nothing of how filters hash.
  filter::KeyHash shown_hash{filter::random_secret()};

  // How a Redis key stands in the log and in GUARD.EXPLAIN: 16 hexadecimal digits, the same for as
  // long as this process lives.
  std::string key_hash(std::string_view key) const;
};

}  // namespace cuckooguard::guard
