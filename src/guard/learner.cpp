#include "guard/learner.h"

#include <algorithm>
#include <utility>

namespace cuckooguard::guard {
namespace {

// A share in a small overlay: a pipeline or two.
constexpr std::size_t kClientLeast = 64;
constexpr std::size_t kUserLeast = 256;

}  // namespace

LearnedKeys::Limits LearnedKeys::limits_for(std::uint64_t max_keys, std::size_t workers) {
  const std::size_t all = max_keys / std::max<std::size_t>(workers, 1);
  return {.client = std::max(all / 16, kClientLeast),
          .user = std::max(all / 4, kUserLeast),
          .total = std::max(all, kUserLeast)};
}

LearnedKeys::Learned LearnedKeys::put(const Put& key) {
  const Overlay::Tick until = overlay_.add(key.hash, key.now, key.ttl, key.origin);
  if (until == 0) {
    return {};  // who put it there has it
  }
  const Overlay::Tick now = Overlay::tick_of(key.now);
  const Overlay::Tick young = Overlay::tick_of(key.now - key.max_lag);
  User& user = of(users_, key.user);
  List& writer = of(writers_, key.writer);
  while (user.keys.first != kNone && entries_[user.keys.first].until <= now) {
    drop(user.keys.first);
  }
  Learned learned;
  if (writer.size >= limits_.client) {
    learned = lose(writer.first, young, now);
  } else if (user.keys.size >= limits_.user) {
    learned = lose(to_be_lost(user), young, now);
  } else if (size_ >= limits_.total) {
    const auto size = [](const User& one) { return one.keys.size; };
    learned =
        lose(to_be_lost(user.keys.size > 0 ? user : *std::ranges::max_element(users_, {}, size)),
             young,
             now);
  }
  std::uint32_t at = free_;
  if (at == kNone) {
    at = static_cast<std::uint32_t>(entries_.size());
    entries_.emplace_back();
  } else {
    free_ = entries_[at].of_user.behind;
  }
  entries_[at] = {.hash = key.hash,
                  .since = now,
                  .until = until,
                  .of_user = {},
                  .of_writer = {},
                  .writer = key.writer,
                  .user = key.user};
  append(user.keys, &Entry::of_user, at);
  append(writer, &Entry::of_writer, at);
  if (user.largest == kNone || writer.size > writers_[user.largest].size) {
    user.largest = key.writer;
  }
  ++size_;
  return learned;
}

// The oldest of the writer that has most; of all, if nobody has more than one.
std::uint32_t LearnedKeys::to_be_lost(const User& user) const {
  const List& largest = writers_[user.largest];
  return largest.size > 1 ? largest.first : user.keys.first;
}

// Before its time, in the tick `now`.
LearnedKeys::Learned LearnedKeys::lose(std::uint32_t at, Overlay::Tick young, Overlay::Tick now) {
  const Entry& entry = entries_[at];
  Learned learned{.is_lost = overlay_.remove(entry.hash, entry.until) && entry.until > now};
  if (learned.is_lost && entry.since >= young) {
    learned.young_loser = entry.writer;
  }
  drop(at);
  return learned;
}

void LearnedKeys::drop(std::uint32_t at) {
  Entry& entry = entries_[at];
  unlink(users_[entry.user].keys, &Entry::of_user, at);
  unlink(writers_[entry.writer], &Entry::of_writer, at);
  entry.of_user.behind = free_;
  free_ = at;
  if (--size_ == 0) {
    std::deque<Entry>().swap(entries_);
    free_ = kNone;
  }
}

template <class Of>
Of& LearnedKeys::of(std::vector<Of>& all, std::uint32_t number) {
  if (number >= all.size()) {
    all.resize(number + 1);
  }
  return all[number];
}

void LearnedKeys::append(List& list, Links Entry::* links, std::uint32_t at) {
  (entries_[at].*links) = {.before = list.last, .behind = kNone};
  (list.last == kNone ? list.first : (entries_[list.last].*links).behind) = at;
  list.last = at;
  ++list.size;
}

void LearnedKeys::unlink(List& list, Links Entry::* links, std::uint32_t at) {
  const Links own = entries_[at].*links;
  (own.before == kNone ? list.first : (entries_[own.before].*links).behind) = own.behind;
  (own.behind == kNone ? list.last : (entries_[own.behind].*links).before) = own.before;
  --list.size;
}

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
  client.young_until = std::max(client.young_until, now + space.max_lag);
  if (learned.young_loser) {
    TimePoint& until = writers_[*learned.young_loser].reads_pass_until;
    until = std::max(until, now + space.max_lag);
  }
  return learned;
}

void Learner::let_reads_pass(WritesInFlight& client, std::string_view user, TimePoint until) {
  client.user = number_of(user);
  give_number(client);
  TimePoint& reads_pass_until = writers_[client.writer].reads_pass_until;
  reads_pass_until = std::max(reads_pass_until, until);
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
