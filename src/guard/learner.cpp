#include "guard/learner.h"

#include <algorithm>
#include <utility>

namespace cuckooguard::guard {

void Learner::adopt(std::span<const GuardedNamespace> namespaces) {
  auto before = std::exchange(learned_, {});
  namespaces_ = namespaces;
  for (const GuardedNamespace& space : namespaces) {
    const auto known = std::ranges::find_if(before, [&space](const auto& keys) {
      return keys != nullptr && &keys->overlay() == space.overlay;
    });
    learned_.push_back(known != before.end()
                           ? std::move(*known)
                           : std::make_unique<LearnedKeys>(
                                 *space.overlay,
                                 LearnedKeys::limits_for(space.overlay->max_keys(),
                                                         space.counts->by_worker.size())));
  }
}

LearnedKeys::Learned Learner::learn(WritesInFlight& client,
                                    std::string_view user,
                                    const Key& key,
                                    TimePoint now) {
  const GuardedNamespace& space = namespaces_[key.ns];
  if (client.user == WritesInFlight::kNone) {
    client.user = number_of(user);
    give_number(client);
  }
  const auto learned = learned_[key.ns]->put({.hash = key.hash,
                                              .writer = client.writer,
                                              .user = client.user,
                                              .now = now,
                                              .ttl = key.ttl.value_or(space.overlay->ttl()),
                                              .max_lag = space.max_lag,
                                              .origin = key.origin});
  if (learned.young_loser) {
    TimePoint& until = writers_[*learned.young_loser].reads_pass_until;
    until = std::max(until, now + space.max_lag);
  }
  return learned;
}

// Of its user, who may have been another one before.
void Learner::give_number(WritesInFlight& client) {
  const TimePoint reads_pass = reads_pass_until(client);
  ended(client);
  auto& free = free_writers_[client.user];
  if (free.empty()) {
    client.writer = static_cast<std::uint32_t>(writers_.size());
    writers_.push_back({.user = client.user});
  } else {
    client.writer = free.back();
    free.pop_back();
  }
  TimePoint& until = writers_[client.writer].reads_pass_until;
  until = std::max(until, reads_pass);
}

void Learner::ended(WritesInFlight& client) {
  if (client.writer != WritesInFlight::kNone) {
    free_writers_[writers_[client.writer].user].push_back(
        std::exchange(client.writer, WritesInFlight::kNone));
  }
}

std::uint32_t Learner::number_of(std::string_view user) {
  const auto known = users_.find(user);
  if (known != users_.end()) {
    return known->second;
  }
  const auto number = static_cast<std::uint32_t>(users_.size());
  if (number < kUsersMax) {
    users_.emplace(user, number);
  }
  if (free_writers_.size() <= number) {
    free_writers_.resize(number + 1);
  }
  return number;
}

}  // namespace cuckooguard::guard
