#include "simulation/sim_redis.h"

#include <utility>

#include "simulation/resp_text.h"

namespace cuckooguard::simulation {

void SimRedis::connect(SimTransport& transport, int client) {
  if (is_deaf_) {
    witness_.on_redis_end(client, RedisEnd::unreachable);
    return;
  }
  const std::chrono::microseconds most = loop_.weather().latency_max * 4;
  const std::chrono::microseconds delay(
      loop_.random().below(static_cast<std::uint64_t>(most.count()) + 1));
  loop_.at(delay, [this, client, waiting = transport.weak_self()] {
    const auto transport_then = waiting.lock();
    if (!transport_then || !(*transport_then)->is_open()) {
      return;
    }
    if (is_down_) {
      (*transport_then)->refuse();
      witness_.on_redis_end(client, RedisEnd::unreachable);
    } else {
      accept(**transport_then, client);
    }
  });
}

void SimRedis::accept(SimTransport& transport, int client) {
  auto& link = links_[client] = std::make_unique<Link>(loop_, store_, ++ids_);
  link->peer.listen({.on_arrival = [this, client] { serve(client); }});
  transport.establish(link->peer);
}

void SimRedis::serve(int client) {
  const auto found = links_.find(client);
  if (found == links_.end()) {
    return;
  }
  if (stalled_until_ > loop_.now()) {
    loop_.at(stalled_until_ - loop_.now(), [this, client] { serve(client); });
    return;
  }
  Link& link = *found->second;
  if (link.peer.is_reset()) {
    end(client, RedisEnd::fault);
    return;
  }
  link.input += link.peer.read();
  std::string output;
  const bool goes_on = link.connection.run(link.input, output, [&](const auto& executed) {
    link.stream_bytes += executed.reply.size();
    witness_.on_executed(client, executed, link.stream_bytes);
  });
  link.peer.send(output);
  if (!goes_on || link.peer.at_end()) {
    end(client, RedisEnd::orderly);
  }
}

void SimRedis::end(int client, RedisEnd how) {
  witness_.on_redis_end(client, how);
  links_.erase(client);
}

void SimRedis::crash(bool keeps_values) {
  is_down_ = true;
  for (const auto& [client, link] : links_) {
    link->peer.reset();
    witness_.on_redis_end(client, RedisEnd::fault);
  }
  links_.clear();
  if (!keeps_values) {
    store_.values.clear();
  }
}

void SimRedis::stall(std::chrono::nanoseconds time) {
  stalled_until_ = loop_.now() + time;
}

void SimRedis::push_to_all() {
  for (const auto& [client, link] : links_) {
    if (link->connection.standing().version == 3) {
      const std::string push =
          header('>', 2) + bulk("invalidate") + bulk("push-" + std::to_string(++pushes_));
      link->stream_bytes += push.size();
      witness_.on_push(client, push);
      link->peer.send(push);
    }
  }
}

void SimRedis::reset(int client) {
  if (const auto found = links_.find(client); found != links_.end()) {
    found->second->peer.reset();
    end(client, RedisEnd::fault);
  }
}

void SimRedis::stall_network(int client, std::chrono::nanoseconds time) {
  if (const auto found = links_.find(client); found != links_.end()) {
    found->second->peer.stall(time);
  }
}

}  // namespace cuckooguard::simulation
