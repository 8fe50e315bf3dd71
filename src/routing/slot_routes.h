// Which node has which slot, as one worker knows it: the cluster's map, and what redirects have
// told since.
//
// A redirect is followed only to a node of the map: a script can reply with the text of such an
// error, and a node that is connected to gets the client's login.
//
// Threads: its worker's. Lifetimes: `on_doubt` is called within doubt(). Errors: nothing, for what
//   is not known. Limits: a slot each.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "cluster/map.h"
#include "cluster/topology_reply.h"
#include "config/config.h"
#include "io/clock.h"

namespace cuckooguard::routing {

class SlotRoutes {
 public:
  // A slot that has been redirected may be on its way, although the map does not say so.
  static constexpr std::chrono::seconds kUnsettledFor{2};

  explicit SlotRoutes(std::function<void()> on_doubt) : on_doubt_(std::move(on_doubt)) {}

  // Earlier redirects no longer count. A map in which nobody owns a slot, of a cluster that says
  // that it is down, changes nothing: its nodes know best what they still serve.
  // `asked_at`: its nodes have been asked since.
  void set(std::shared_ptr<const cluster::Map> map, io::TimePoint asked_at);
  io::TimePoint asked_at() const { return asked_at_; }
  // Of who has which slots, since which config epoch, and which are on their way: from 1 to
  // ScanCursor::kTagMax. Any guard in front of the cluster has the same.
  std::uint16_t tag() const { return tag_; }
  // A slot is on its way, or nobody knows who has it.
  bool has_moving_slots() const { return has_moving_slots_; }
  // There is no other master, with slots or without.
  bool has_one_master() const { return has_one_master_; }
  // There is a master that has slots and cannot be asked.
  bool lacks_a_master() const { return lacks_a_master_; }

  // Null: no known owner. Lifetimes: until set().
  const config::Address* owner_of(std::uint16_t slot) const;
  const std::vector<config::Address>& nodes() const { return nodes_; }
  // Those that have slots; all that there are, if none is known to have any.
  const std::vector<config::Address>& masters() const { return masters_; }
  // One of them, by turns: there is one. Lifetimes: until set().
  const config::Address& next_master() { return masters_[++turn_ % masters_.size()]; }
  const config::Address* find(const cluster::NamedNode& named,
                              const config::Address& replier) const;
  bool is_unsettled(std::uint16_t slot, io::TimePoint now) const;

  void redirected(std::uint16_t slot, io::TimePoint now) { redirected_[slot] = now; }
  void moved(std::uint16_t slot, const config::Address& node);
  // The map no longer describes the cluster: it is asked for again.
  void doubt() { on_doubt_(); }

 private:
  std::function<void()> on_doubt_;
  std::shared_ptr<const cluster::Map> map_;  // null: not known yet
  std::vector<config::Address> nodes_;       // as the map's
  std::vector<config::Address> masters_;
  io::TimePoint asked_at_{};
  std::uint16_t tag_ = 1;
  bool has_moving_slots_ = false;
  bool has_one_master_ = false;
  bool lacks_a_master_ = false;
  std::size_t turn_ = 0;
  std::unordered_map<std::uint16_t, std::size_t> moved_;  // to which of `nodes_`
  std::unordered_map<std::uint16_t, io::TimePoint> redirected_;
};

}  // namespace cuckooguard::routing
