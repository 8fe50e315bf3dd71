// What a client may do that its neighbours would wait for if they shared more than they must.
//
// Each runs on a thread of its own until it is stopped, over connections of its own, and again from
// the beginning when it is closed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>
#include <vector>

namespace cuckooguard::harness {

// Where it is done.
struct Place {
  std::uint16_t port;         // of the guard, where the neighbours are
  std::uint16_t port_beside;  // of the guard, of another node of the cluster; 0: there is none
  std::string tag;            // of keys of the neighbours' node: "{b}"
  std::string tag_beside;     // of keys of that other node
  std::size_t filter_bytes;   // of a filter that is dumped
  std::size_t filters;        // that are made and dropped at once
};

struct Attack {
  const char* name;
  std::function<void(const Place& place, unsigned attacker, const std::stop_token& stop)> run;
  bool needs_cluster = false;
};

const std::vector<Attack>& all_attacks();

}  // namespace cuckooguard::harness
