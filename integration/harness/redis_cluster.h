// A Redis Cluster of one's own: real redis-servers on free ports of 127.0.0.1, the masters first,
// then their replicas in turn; all slots in equal ranges. See redis_server.h.
//
// Errors: std::runtime_error, of what does not get ready.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "harness/deadline.h"
#include "harness/redis_server.h"

namespace cuckooguard::harness {

struct RedisClusterOptions {
  std::size_t masters = 3;
  std::size_t replicas = 3;  // in all: the first is of the first master
  // A node that does not answer for so long is suspected; a failover takes about twice that.
  milliseconds node_timeout{1000};
  std::vector<std::string> arguments{};     // of every node, as on redis-server's command line
  std::vector<std::string> of_the_first{};  // and of the first one, which come later
  // With certificates (certificates.h): nodes speak TLS to each other, and clients may. Empty:
  // none.
  std::filesystem::path tls_folder{};
};

class RedisCluster {
 public:
  explicit RedisCluster(const RedisClusterOptions& options = {});

  std::size_t size() const { return nodes_.size(); }
  RedisServer& node(std::size_t i) { return nodes_[i].server; }
  const RedisServer& node(std::size_t i) const { return nodes_[i].server; }
  std::uint16_t port(std::size_t i) const { return node(i).port(); }
  std::string address(std::size_t i) const { return node(i).address(); }      // 127.0.0.1:port
  std::uint16_t tls_port(std::size_t i) const { return nodes_[i].tls_port; }  // 0: it has none
  const std::string& id(std::size_t i) const { return nodes_[i].id; }
  std::string call(std::size_t i, std::initializer_list<std::string_view> arguments) const {
    return node(i).call(arguments);
  }
  // CLUSTER NODES or INFO, without RESP around it.
  std::string text(std::size_t i, std::string_view subcommand) const;

  void kill(std::size_t i);         // SIGKILL: as a crash
  void start_again(std::size_t i);  // it is who it was, and empty

  // As one more master without slots, which all others know.
  std::size_t add();
  // The others forget it, which must have no slots, and it ends. Numbers stay.
  void remove(std::size_t i);
  // As redis-cli --cluster reshard does it. `on_its_way`: while all keys of the slot are at `to`,
  // and the slot is not: who asks `from` for them is told -ASK.
  void move_slot(
      std::uint16_t slot,
      std::size_t from,
      std::size_t to,
      const std::function<void()>& on_its_way = [] {}) const;
  // By command: returns when it is the master.
  void fail_over_to(std::size_t replica) const;
  bool is_master(std::size_t i) const;
  // All that run know each other and say cluster_state:ok, and replicas are in step with their
  // masters. After a kill, not before the others have noticed it.
  void wait_until_ok() const;

 private:
  struct Node {
    explicit Node(std::vector<std::string> arguments) : server(std::move(arguments)) {}

    RedisServer server;
    std::string id;
    bool runs = true;
    std::uint16_t tls_port = 0;
  };

  void start();  // one more, which all before it meet
  void wait_until(std::string_view what, const std::function<bool(std::size_t)>& holds) const;

  std::vector<std::string> arguments_;
  std::vector<std::string> of_the_first_;
  std::filesystem::path tls_folder_;
  std::deque<Node> nodes_;
};

}  // namespace cuckooguard::harness
