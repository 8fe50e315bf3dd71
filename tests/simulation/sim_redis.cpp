#include "simulation/sim_redis.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "simulation/resp_text.h"

namespace cuckooguard::simulation {

void SimRedis::connect(SimTransport& transport, int number) {
  if (is_deaf_) {
    witness_.on_redis_end(number, RedisEnd::unreachable);
    return;
  }
  const std::chrono::microseconds most = loop_.weather().latency_max * 4;
  const std::chrono::microseconds delay(
      loop_.random().below(static_cast<std::uint64_t>(most.count()) + 1));
  loop_.at(delay, [this, number, waiting = transport.weak_self()] {
    const auto transport_then = waiting.lock();
    if (!transport_then || !(*transport_then)->is_open()) {
      return;
    }
    if (is_down_) {
      (*transport_then)->refuse();
      witness_.on_redis_end(number, RedisEnd::unreachable);
    } else {
      accept(**transport_then, number);
    }
  });
}

void SimRedis::accept(SimTransport& transport, int number) {
  auto& link = links_[number] = std::make_unique<Link>(loop_, store_, ++ids_);
  store_.connection_ids.insert(ids_);
  link->peer.listen({.on_arrival = [this, number] { serve(number); }});
  transport.establish(link->peer);
}

void SimRedis::serve(int number) {
  const auto found = links_.find(number);
  if (found == links_.end()) {
    return;
  }
  if (stalled_until_ > loop_.now()) {
    loop_.at(stalled_until_ - loop_.now(), [this, number] { serve(number); });
    return;
  }
  Link& link = *found->second;
  if (link.peer.is_reset()) {
    end(number, RedisEnd::fault);
    return;
  }
  link.input += link.peer.read();
  std::string output;
  store_.now = loop_.now().time_since_epoch();
  const bool goes_on = link.connection.run(link.input, output, [&](const auto& executed) {
    link.stream_bytes += executed.reply.size();
    witness_.on_executed(number, executed, link.stream_bytes);
    tell_others(number, output);
  });
  link.peer.send(output);
  close_the_deleted(number);
  if (!goes_on || link.peer.at_end() || !store_.users.contains(link.connection.standing().user)) {
    end(number, RedisEnd::orderly);
  } else if (const auto blocked_until = link.connection.blocked_until()) {
    loop_.at(*blocked_until - store_.now, [this, number] { serve(number); });
  }
}

void SimRedis::end(int number, RedisEnd how) {
  witness_.on_redis_end(number, how);
  store_.connection_ids.erase(links_.at(number)->connection.id());
  links_.erase(number);
}

void SimRedis::crash(bool keeps_values) {
  is_down_ = true;
  for (const auto& [number, link] : links_) {
    link->peer.reset();
    witness_.on_redis_end(number, RedisEnd::fault);
  }
  links_.clear();
  store_.connection_ids.clear();
  if (!keeps_values) {
    store_.values.clear();
  }
}

void SimRedis::stall(std::chrono::nanoseconds time) {
  stalled_until_ = loop_.now() + time;
}

void SimRedis::demote() {
  for (const auto& [number, link] : links_) {
    link->connection.become_replica();
  }
}

std::optional<int> SimRedis::any_link(Random& random) const {
  if (links_.empty()) {
    return std::nullopt;
  }
  return std::next(links_.begin(), static_cast<std::ptrdiff_t>(random.below(links_.size())))->first;
}

void SimRedis::push_to_all(bool only_to_subscribed) {
  for (const auto& [number, link] : links_) {
    const Standing& standing = link->connection.standing();
    if (standing.version == 3 && (standing.has_channels || !only_to_subscribed)) {
      const std::string push =
          header('>', 2) + bulk("invalidate") + bulk("push-" + std::to_string(++pushes_));
      link->stream_bytes += push.size();
      witness_.on_push(number, push);
      link->peer.send(push);
    }
  }
}

void SimRedis::reset(int number) {
  if (const auto found = links_.find(number); found != links_.end()) {
    found->second->peer.reset();
    end(number, RedisEnd::fault);
  }
}

std::string SimRedis::ask_straight(const std::vector<std::string>& words) {
  if (!straight_) {
    straight_.emplace(store_, ++ids_);
  }
  std::string input = command(words);
  std::string output;
  store_.now = loop_.now().time_since_epoch();
  straight_->run(input, output, [&](const auto&) { tell_others(std::nullopt, output); });
  close_the_deleted(std::nullopt);
  return output;
}

// `running`: its reply is not sent yet.
void SimRedis::push(std::optional<int> running,
                    std::string& output,
                    int to,
                    const std::string& text) {
  Link& link = *links_.at(to);
  link.stream_bytes += text.size();
  witness_.on_push(to, text);
  if (running == to) {
    output += text;
  } else {
    link.peer.send(text);
  }
}

void SimRedis::invalidate(RedisConnection& of,
                          const std::string& key,
                          std::optional<int> running,
                          std::string& output) {
  if (!of.takes_notice_of(key)) {
    return;
  }
  const std::uint64_t to = of.tracking().to == 0 ? of.id() : of.tracking().to;
  const auto found = std::ranges::find_if(
      links_, [to](const auto& link) { return link.second->connection.id() == to; });
  if (found == links_.end()) {
    return;
  }
  const Standing& standing = found->second->connection.standing();
  const std::string keys = header('*', 1) + bulk(key);
  if (standing.version == 3) {
    push(running, output, found->first, header('>', 2) + bulk("invalidate") + keys);
  } else if (of.tracking().to != 0 && standing.has_channels) {
    push(running,
         output,
         found->first,
         header('*', 3) + bulk("message") + bulk("__redis__:invalidate") + keys);
  }
}

// Whoever is subscribed or tracks keys hears of what the command has done.
void SimRedis::tell_others(std::optional<int> number, std::string& output) {
  const auto changed = std::exchange(store_.changed_keys, {});
  const auto published = std::exchange(store_.published, {});
  for (const RedisStore::Key& key : changed) {
    for (const auto& [other, link] : links_) {
      invalidate(link->connection, key.second, number, output);
    }
    if (straight_) {
      invalidate(*straight_, key.second, number, output);
    }
  }
  for (const auto& [channel, message] : published) {
    for (const auto& [other, link] : links_) {
      if (link->connection.channels().contains(channel)) {
        const char type = link->connection.standing().version == 3 ? '>' : '*';
        push(number,
             output,
             other,
             header(type, 3) + bulk("message") + bulk(channel) + bulk(message));
      }
    }
  }
}

void SimRedis::close_the_deleted(std::optional<int> but) {
  std::vector<int> closed;
  for (const auto& [number, link] : links_) {
    if (number != but && !store_.users.contains(link->connection.standing().user)) {
      closed.push_back(number);
    }
  }
  for (const int number : closed) {
    end(number, RedisEnd::orderly);
  }
}

void SimRedis::stall_network(int number, std::chrono::nanoseconds time) {
  if (const auto found = links_.find(number); found != links_.end()) {
    found->second->peer.stall(time);
  }
}

}  // namespace cuckooguard::simulation
