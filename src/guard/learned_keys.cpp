#include "guard/learned_keys.h"

#include <algorithm>

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

}  // namespace cuckooguard::guard
