// Strict namespaces in a simulated world, and a checker of linearizability.
//
//   writers   commit rows into two databases, and delete some; a commit is in its database's log at
//             once, and in the filters some time later
//   sources   ask their database how far its log is when somebody wants to know, and prove that as
//             soon as it has been applied; logs stall
//   readers   read rows just committed, rows about to be, others that are nowhere; alone, in
//             pipelines, and among commands that Redis has to answer
//   checker   an absent reply to a read, sent at s and received at r, is wrong if any row of its
//             key had been committed by s and was not being deleted before r
//
//   namespace  key               database  a row of it is also a key of
//   0 items    item:{sku}        0
//   1 pages    page:{slug:rest}  0         drafts: the page `draft:7`
//   2 drafts   page:draft:{id}   1
//
// Its Redis has no value for any key. Sessions, guard, filters and PositionProofs are the
// product's.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "filter/epochs.h"
#include "filter/live_parts.h"
#include "follow/position_proofs.h"
#include "guard/command_families.h"
#include "guard/guard.h"
#include "proxy/clients.h"
#include "simulation/random.h"
#include "simulation/sim_loop.h"
#include "simulation/sim_transport.h"

namespace cuckooguard::simulation {

struct StrictOutcome {
  std::string failure{};
  std::uint64_t reads = 0;      // keys
  std::uint64_t absent = 0;     // absent replies
  std::uint64_t nowhere = 0;    // reads of keys that had no row all the while
  std::uint64_t questions = 0;  // of both databases
  std::chrono::nanoseconds slowest{0};
};

class StrictWorld {
 public:
  static constexpr std::chrono::milliseconds kHold{20};
  // A read that waits, and Redis's reply behind it, with others before it.
  static constexpr std::chrono::milliseconds kPatience{60};

  explicit StrictWorld(std::uint64_t seed);
  ~StrictWorld();
  StrictWorld(const StrictWorld&) = delete;
  StrictWorld& operator=(const StrictWorld&) = delete;

  StrictOutcome run(std::chrono::milliseconds time);

 private:
  static constexpr std::size_t kNamespaces = 3;
  static constexpr std::size_t kDatabases = 2;
  static constexpr std::chrono::milliseconds kMaxLag{1000};

  struct Row {
    io::TimePoint committed;
    std::optional<io::TimePoint> deleted{};
  };
  struct Change {
    std::uint32_t ns;
    std::string identity;
    bool is_insert;
  };
  struct Position {
    std::uint64_t changes = 0;
    bool covers(const Position& other) const { return changes >= other.changes; }
  };
  struct Database {
    explicit Database(std::function<void()> on_proven) : questions(std::move(on_proven)) {}

    std::deque<Change> unapplied{};
    Position committed{};
    Position applied{};
    source::PositionProofs<Position> proofs{};
    filter::Questions questions;
    io::TimePoint asked_at{};
    bool is_being_asked = false;
    io::TimePoint stalled_until{};
  };
  struct Request {
    std::vector<std::string> keys;  // empty: it is for Redis alone
    io::TimePoint sent;
  };
  struct Reader {
    explicit Reader(SimLoop& loop) : peer(loop) {}
    SimPeer peer;
    std::string unread{};
    std::deque<Request> requests{};
    bool waits_for_replies = true;
    bool reads_alone = true;  // else it sends other commands, too
  };
  struct Redis {
    explicit Redis(SimLoop& loop) : peer(loop) {}
    SimPeer peer;
    std::string unread{};
    io::TimePoint replies_at{};
  };

  static std::uint32_t database_of(std::uint32_t ns) { return ns == 2 ? 1 : 0; }
  void make_namespaces();
  void accept(SimTransport& upstream);
  void reply(Redis& redis);
  void commit();
  void commit_later();
  void remove_row();
  void apply(Database& database);
  void apply_later(std::size_t database);
  void ask_if_wanted(Database& database);
  void watch_questions(std::size_t database);
  void prove(std::size_t database);
  void send(Reader& reader);
  void send_later(Reader& reader);
  std::string some_key();
  void receive(Reader& reader);
  void check(const Request& request, std::string_view reply);
  void check_absent(const std::string& key, const Request& request);

  Random random_;
  SimLoop loop_;
  keyspace::Keyspace keyspace_;
  filter::Epochs epochs_{1};
  std::vector<std::unique_ptr<filter::LiveParts>> parts_;
  std::vector<filter::LiveFilter*> filters_;
  std::vector<std::unique_ptr<guard::Overlay>> overlays_;
  std::vector<guard::GuardedNamespace> spaces_;
  std::deque<Database> databases_;
  redis::Facts facts_;
  std::unique_ptr<guard::Guard> guard_;
  proxy::Session::Settings settings_;
  proxy::ClientCount total_;
  std::unique_ptr<guard::OwnCommands> commands_;
  std::unique_ptr<proxy::Clients> clients_;
  std::deque<Reader> readers_;
  std::deque<Redis> redis_;
  std::map<std::string, std::vector<Row>> rows_;  // by key
  struct Committed {
    std::uint32_t ns;
    std::string identity;
    std::string key;
  };
  std::vector<Committed> committed_;
  std::array<std::uint64_t, kNamespaces> next_id_{};
  std::chrono::microseconds pace_;
  StrictOutcome outcome_;
  bool is_over_ = false;
};

}  // namespace cuckooguard::simulation
