// What joins a SimTransport and a SimPeer; deliveries on their way keep it alive.
#pragma once

#include <memory>

#include "simulation/pipe.h"
#include "simulation/sim_transport.h"

namespace cuckooguard::simulation {

struct Link : std::enable_shared_from_this<Link> {
  explicit Link(SimLoop& on);

  // Something was put into one of the pipes.
  void move_to_product();
  void move_to_world();
  void reset();

  SimLoop& loop;
  Pipe to_product;
  Pipe to_world;
  SimTransport* product = nullptr;  // null once it is closed
  SimPeer* world = nullptr;         // null once it is gone
  bool is_unix;                     // the end of the world's side is a hang-up at once
  bool is_dead = false;
  io::TimePoint still_until{};
  io::TimePoint heard_at;  // what the product sent, last

 private:
  std::chrono::nanoseconds latency() const;
  std::size_t piece_of(std::size_t bytes) const;
  void deliver_to_product();
  void deliver_to_world();

  bool to_product_is_due_ = false;
  bool to_world_is_due_ = false;
};

}  // namespace cuckooguard::simulation
