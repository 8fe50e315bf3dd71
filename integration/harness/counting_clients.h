// Clients that never stop: each counts on a key of its own in Redis (INCR), in pipelines, and reads
// a row that exists and one that does not in between. What Redis has counted in the end must be
// what they have received replies for: no more, or a command was carried out whose reply was lost;
// no less, or somebody invented one.
//
// Threads: one per client. Lifetimes: `connect` is called on all of them, until stop().
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "harness/raw_client.h"

namespace cuckooguard::harness {

struct CountingClient {
  std::string key;
  std::atomic<std::uint64_t> replies{0};  // to INCR
  std::atomic<std::uint64_t> connections{0};
  std::string failure{};  // of a connect, or a reply that cannot be
};

class CountingClients {
 public:
  struct World {
    std::function<RawClient()> connect;
    std::string existing_key;
    std::string existing_reply;
    std::string absent_key;
    std::vector<std::string> absent_replies;
    bool comes_again = false;  // when its connection is closed
  };

  CountingClients(std::size_t count, World world);
  ~CountingClients();
  CountingClients(const CountingClients&) = delete;
  CountingClients& operator=(const CountingClients&) = delete;

  const std::vector<std::unique_ptr<CountingClient>>& all() const { return clients_; }
  std::uint64_t replies() const;
  // They finish what they have begun; or wait until their connections are closed, if they do not
  // come again.
  void stop();

 private:
  void run(CountingClient& client, std::size_t depth);
  void talk(CountingClient& client, std::size_t depth);
  bool judge(CountingClient& client, std::string& unread) const;

  World world_;
  std::atomic<bool> is_over_{false};
  std::vector<std::unique_ptr<CountingClient>> clients_;
  std::vector<std::thread> threads_;
};

}  // namespace cuckooguard::harness
