// A master with replicas, and Sentinels that watch over them: real redis-servers on free ports of
// 127.0.0.1. See redis_server.h. Their timers are set so that a failover takes about two seconds.
//
// Errors: std::runtime_error, of what does not get ready.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/child_process.h"
#include "harness/deadline.h"
#include "harness/raw_client.h"
#include "harness/redis_server.h"
#include "harness/temporary_directory.h"

namespace cuckooguard::harness {

struct RedisSentinelsOptions {
  std::size_t nodes = 3;  // the first is the master at first
  std::size_t sentinels = 3;
  std::vector<std::string> arguments{};          // of every node, as on redis-server's command line
  std::string password{};                        // of every node, if `--requirepass` is there
  std::vector<std::string> sentinel_settings{};  // lines of each Sentinel's file
  std::string sentinel_password{};               // if `requirepass` is there
  // If it is not empty, all of them speak TLS to each other, and to whoever comes to the addresses
  // that they tell, by the certificates in this folder (certificates.h).
  std::filesystem::path tls_folder{};
};

class RedisSentinels {
 public:
  static constexpr const char* kMaster = "shop";  // its name

  explicit RedisSentinels(RedisSentinelsOptions options = {});

  std::size_t size() const { return nodes_.size(); }
  RedisServer& node(std::size_t i) { return nodes_[i].server; }
  const RedisServer& node(std::size_t i) const { return nodes_[i].server; }
  std::uint16_t port(std::size_t i) const { return nodes_[i].told_port; }  // as Sentinels tell it
  std::uint16_t sentinel_port(std::size_t i) const { return sentinels_[i].told_port; }
  std::string sentinel_addresses() const;   // [ "127.0.0.1:1", ... ]
  RawClient sentinel(std::size_t i) const;  // logged in
  std::string ask(std::size_t sentinel, std::initializer_list<std::string_view> arguments) const;

  // Who it is, as this Sentinel says; nothing: nobody that is known here.
  std::optional<std::size_t> master(std::size_t sentinel = 0) const;
  void kill(std::size_t node);         // SIGKILL: as a crash
  void start_again(std::size_t node);  // empty
  void kill_sentinel(std::size_t i);
  // All Sentinels that run name the same master, which says so itself, and know each other; the
  // other nodes follow it, and could take its place.
  void wait_until_ok() const;

 private:
  struct Node {
    Node(std::vector<std::string> arguments, std::string password)
        : server(std::move(arguments), std::move(password)) {}

    RedisServer server;
    std::uint16_t told_port = 0;
    bool runs = true;
  };
  struct Sentinel {
    TemporaryDirectory directory{};
    std::uint16_t port = 0;  // plain
    std::uint16_t told_port = 0;
    std::optional<ChildProcess> process{};
    bool runs = true;
  };

  void start_node();
  void start(Sentinel& sentinel) const;
  std::string settings_of(const Sentinel& sentinel) const;
  bool answers(const Sentinel& sentinel) const;
  std::string why_not_ok() const;

  RedisSentinelsOptions options_;
  std::deque<Node> nodes_;
  std::deque<Sentinel> sentinels_;
};

}  // namespace cuckooguard::harness
