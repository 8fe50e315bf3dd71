// The database, its source and its guard: which rows exist, which of them the filters have heard
// of, which keys were written through the proxy. It fills real filters for a real Guard, and says
// of each key whether the guard may call it absent, from its own records alone.
//
//   namespace  key                db  mode     absent reply
//   0 users    user:{id:uint64}   0   enforce  nil, ids just above the largest are fresh
//   1 items    item:{sku}         0   enforce  "*"
//   2 orders   order:{id:uint64}  0   enforce  nil, canonical
//   3 carts    cart:{id}          2   enforce  nil
//   4 drafts   draft:{id}         0   observe  nil
//
// A commit is applied later; proofs that all is applied come every so often and last kMaxLag. The
// applier stalls, the proofs stop, filters are built anew.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "filter/epochs.h"
#include "filter/live_parts.h"
#include "guard/command_families.h"
#include "guard/guard.h"
#include "simulation/sim_loop.h"

namespace cuckooguard::simulation {

class SimShop {
 public:
  static constexpr std::uint32_t kUsers = 0;
  static constexpr std::uint32_t kItems = 1;
  static constexpr std::uint32_t kOrders = 2;
  static constexpr std::uint32_t kCarts = 3;
  static constexpr std::uint32_t kDrafts = 4;
  static constexpr std::uint32_t kNamespaces = 5;
  static constexpr std::chrono::milliseconds kMaxLag{1000};
  static constexpr std::chrono::seconds kOverlayTtl{2};
  static constexpr std::uint64_t kFreshWindow = 16;
  static constexpr std::string_view kItemAbsent = "*";

  SimShop(SimLoop& loop, std::uint64_t seed);
  SimShop(const SimShop&) = delete;
  SimShop& operator=(const SimShop&) = delete;
  ~SimShop() = default;

  guard::Guard& guard(std::size_t worker = 0) { return *workers_.at(worker).guard; }
  guard::OwnCommands& own_commands(std::size_t worker = 0) { return *workers_.at(worker).commands; }
  filter::Epochs& epochs() { return epochs_; }

  redis::Facts& facts() { return facts_; }
  // Those reads that the simulated Redis has.
  const std::shared_ptr<const redis::Commands>& commands() const { return commands_; }

  // The world.
  void start();  // the first filters, and from then on applying and proving
  void stop() { is_stopped_ = true; }
  std::string commit_row(std::uint32_t ns);  // its key
  void delete_row(std::uint32_t ns);
  void stall_applier(std::chrono::nanoseconds time) { applier_stalled_until_ = loop_.now() + time; }
  void stop_proofs(std::chrono::nanoseconds time) { no_proof_until_ = loop_.now() + time; }
  void rebuild(std::uint32_t ns);
  // What had been doubted of a user is known again.
  void ask_users_again() {
    facts_.publish(facts_.epoch(), {.commands = commands_, .users = known_});
  }
  void publish_users(std::set<std::string, std::less<>> unrestricted,
                     bool default_needs_no_password);

  std::string existing_key(std::uint32_t ns);
  std::string key_just_above(std::uint64_t distance) const;
  std::string key_of(std::uint32_t ns, const std::string& identity) const;

  // The truth.
  // The proxy remembers a write of `key`.
  static bool is_learned(std::string_view key, std::optional<std::string_view> value);
  void on_write(std::string_view key, std::optional<std::string_view> value, io::TimePoint when);
  // Null if `key` may be answered absent now; else why not.
  const char* why_not_absent(std::string_view key, int db) const;
  const char* why_not_user(const std::string& user) const;
  bool knows_that_no_password_is_needed() const { return known_.default_needs_no_password; }
  // What a string read of such a key is answered with.
  std::string absent_reply(std::string_view key, int version) const;

 private:
  struct Space {
    std::map<std::string, io::TimePoint> rows;  // identity -> when it was committed
    std::set<std::string> applied;              // what the filter holds
    std::uint64_t largest_committed = 0;
    std::uint64_t largest_applied = 0;
    bool is_published = false;
    io::TimePoint fresh_until{};
    std::unique_ptr<filter::LiveParts> parts;
    filter::LiveFilter* filter = nullptr;  // the one part
    std::unique_ptr<guard::Overlay> overlay;
  };
  struct Change {
    std::uint32_t ns;
    std::string identity;
    bool is_insert;
  };
  struct Name {  // a key, taken apart
    std::uint32_t ns = 0;
    std::string identity;
    bool is_impossible = false;
  };

  static keyspace::Keyspace build_keyspace();
  static std::optional<Name> parse(std::string_view key);
  filter::HashSecret secret();
  void fill();
  void apply_all();
  void apply_later();
  void prove();

  SimLoop& loop_;
  Random random_;
  keyspace::Keyspace keyspace_;
  filter::Epochs epochs_;
  std::vector<Space> spaces_;
  std::vector<guard::GuardedNamespace> guarded_;
  redis::Facts facts_;
  struct Worker {
    std::unique_ptr<guard::Guard> guard;
    std::unique_ptr<guard::OwnCommands> commands;
  };
  std::array<Worker, 2> workers_;
  std::deque<Change> unapplied_;
  std::map<std::string, io::TimePoint, std::less<>> written_until_;  // keys
  std::shared_ptr<const redis::Commands> commands_;  // those reads that the simulated Redis has
  redis::Users known_;
  std::uint64_t next_text_ = 0;
  bool is_stopped_ = false;
  io::TimePoint applier_stalled_until_{};
  io::TimePoint no_proof_until_{};
};

}  // namespace cuckooguard::simulation
