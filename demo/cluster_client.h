// A client of a Redis Cluster, as client libraries are: it asks a node which node has which slot,
// sends each command there, follows -MOVED and -ASK, and tries again what fails while a master
// changes.
//
// Threads: one. Errors: Unavailable, after kPatience; std::runtime_error with the server's
// words, of other errors.
#pragma once

#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "cache.h"
#include "cluster/map.h"
#include "endpoint.h"
#include "harness/raw_client.h"

namespace cuckooguard::demo {

class ClusterClient final : public Cache {
 public:
  static constexpr std::chrono::milliseconds kPatience{10'000};
  static constexpr std::chrono::milliseconds kPause{20};  // between two attempts

  explicit ClusterClient(Endpoint seed);

  std::optional<std::string> get(std::string_view key) override;
  void set(std::string_view key, std::string_view value, int ttl_seconds) override;

  // Of all nodes that it knows of.
  std::uint64_t keys() override;
  void start_over() override;
  // What a node had counted when it was asked last is not forgotten if it is started anew.
  std::uint64_t gets() override;

 private:
  struct Counted {
    std::uint64_t before = 0;  // by processes that have ended
    std::uint64_t last = 0;
  };

  std::string ask(std::string_view key, std::initializer_list<std::string_view> arguments);
  // Empty: there is no such node, or no connection.
  std::string try_at(const Endpoint& node, std::string_view request, std::size_t replies = 1);
  std::optional<Endpoint> owner_of(std::uint16_t slot) const;
  void learn_map();

  Endpoint seed_;
  cluster::Map map_;
  std::map<std::string, harness::RawClient> connections_;  // by Endpoint::text()
  std::map<std::string, Counted> counted_;
};

}  // namespace cuckooguard::demo
