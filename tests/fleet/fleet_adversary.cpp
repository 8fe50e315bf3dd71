// What goes wrong in a fleet's world, by itself and by somebody who may write to Redis.
#include <iterator>
#include <utility>

#include "fleet/fleet_world.h"

namespace cuckooguard::fleet {
namespace {

template <typename Map>
auto any_of(const Map& map, std::uint64_t chance) {
  return std::next(map.begin(), static_cast<std::ptrdiff_t>(chance % map.size()));
}

}  // namespace

void FleetWorld::fail() {
  switch (random_.below(6)) {
    case 0: {
      if (random_.percent(75)) {  // else it rarely lives long enough to take over
        break;
      }
      Builder& builder = builders_[random_.below(kBuilders)];
      builder.publisher.reset();
      builder.back_at = now_ + static_cast<Time>(random_.below(1'500'000));
      break;
    }
    case 1:
      if (has_failovers_ && random_.one_in(3)) {
        master_ = 1 - master_;  // what was not replicated is lost, and the other still answers
      }
      break;
    case 2: {
      Follower& follower = followers_[random_.below(kFollowers)];
      follower.replica.reset();
      follower.fresh_until.clear();
      break;
    }
    default:
      nodes_[1 - master_] = nodes_[master_];
      break;
  }
}

void FleetWorld::attack() {
  Redis& redis = nodes_[random_.below(nodes_.size())];
  switch (random_.below(14)) {
    case 0:
      if (random_.one_in(5)) {
        redis = {};  // FLUSHALL
      }
      break;
    case 1:
      backups_.push_back(redis);
      break;
    case 2:
      if (!backups_.empty() && random_.one_in(3)) {
        redis = random_.pick(backups_);
      }
      break;
    case 3:
      if (!backups_.empty()) {
        redis.manifest = random_.pick(backups_).manifest;
      }
      break;
    case 4:
      if (redis.answers.size() > 1) {
        redis.answers[followers_[random_.below(kFollowers)].name] =
            any_of(redis.answers, random_.next())->second;
      }
      break;
    case 5:
      redis.asks.clear();
      break;
    case 6:
      if (redis.meta && random_.one_in(4)) {
        redis.meta->epoch = random_.below(4);
      }
      break;
    case 7:
      forge_answer(redis);
      break;
    case 8:
      forge_entry(redis);
      break;
    default:
      if (!redis.log.empty()) {
        attack_log(redis);
      }
      break;
  }
}

void FleetWorld::attack_log(Redis& redis) {
  const auto entry = any_of(redis.log, random_.next());
  switch (random_.below(5)) {
    case 0:
      redis.log.erase(entry);
      break;
    case 1:  // withheld for a while
      redis.log.erase(std::prev(redis.log.end()));
      break;
    case 2:
      if (random_.one_in(4)) {
        redis.log.at(entry->first).at(random_.below(entry->second.size())) ^= 1;
      }
      break;
    default:  // one of before, or of another history, in its own place or another one's
      if (!archive_.empty()) {
        const auto& of_seq = any_of(archive_, random_.next())->second;
        redis.log[entry->first + random_.below(2)] = random_.pick(of_seq);
      }
      break;
  }
}

// To a question that nobody has answered, of an entry that has answered others.
void FleetWorld::forge_answer(Redis& redis) {
  const std::string& name = followers_[random_.below(kFollowers)].name;
  if (redis.answers.empty() || !redis.asks.contains(name)) {
    return;
  }
  if (auto answer = read_answer(any_of(redis.answers, random_.next())->second)) {
    answer->nonce = read_ask(redis.asks.at(name)).value().nonce;
    redis.answers[name] = bytes_of(*answer);
  }
}

// That takes rows away, as the next one of the log.
void FleetWorld::forge_entry(Redis& redis) {
  const auto last = redis.meta ? redis.log.find(redis.meta->seq) : redis.log.end();
  const auto read = last == redis.log.end() ? std::nullopt : read_entry(last->second, keys_);
  if (!read) {
    return;
  }
  Entry forged = read->entry;
  ++forged.seq;
  forged.before = read->tag;
  for (TableChange& table : forged.tables) {
    table.erased = std::exchange(table.inserted, {});
    table.deleted.clear();
    for (const std::uint64_t hash : table.erased) {
      table.digest.remove(hash);
    }
  }
  const std::string text = text_of(forged);
  redis.meta = {.epoch = forged.epoch, .seq = forged.seq, .tag = hash_of(text)};
  redis.log[forged.seq] = text + last->second.substr(last->second.size() - kSignatureBytes);
}

}  // namespace cuckooguard::fleet
