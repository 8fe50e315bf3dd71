#include "fleet/fleet_world.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace cuckooguard::fleet {
namespace {

constexpr FleetWorld::Time kHeartbeat = 200'000;
constexpr FleetWorld::Time kBaseEvery = 500'000;

bool covers(std::string_view reached, std::string_view position) {
  return !reached.empty() && !position.empty() &&
         std::stoull(std::string(reached)) >= std::stoull(std::string(position));
}

template <typename Map>
auto any_of(const Map& map, std::uint64_t chance) {
  return std::next(map.begin(), static_cast<std::ptrdiff_t>(chance % map.size()));
}

}  // namespace

FleetWorld::FleetWorld(std::uint64_t seed, const SigningKey& key, const VerifyingKeys& keys)
    : random_(seed),
      key_(key),
      keys_(keys),
      has_adversary_(random_.percent(60)),
      has_failovers_(random_.percent(60)),
      transactions_max_(random_.one_in(2) ? 5 : kFast),
      operations_max_(random_.one_in(2) ? 6 : kFast) {
  for (std::size_t i = 0; i < kRows; ++i) {
    hashes_.push_back(random_.next());
  }
  for (std::size_t i = 0; i < kBuilders; ++i) {
    builders_.emplace_back();
    builders_.back().name = "builder-" + std::to_string(i);
  }
  for (std::size_t i = 0; i < kFollowers; ++i) {
    followers_.emplace_back();
    followers_.back().name = "follower-" + std::to_string(i);
    followers_.back().rate = 0.99 + 0.005 * static_cast<double>(i);
  }
}

std::string FleetWorld::random_bytes(std::size_t count) {
  std::string bytes(count, '\0');
  for (char& byte : bytes) {
    byte = static_cast<char>(random_.below(256));
  }
  return bytes;
}

Digest FleetWorld::digest_of(const Rows& rows) const {
  Digest digest;
  for (const auto& [hash, count] : rows) {
    for (std::uint64_t i = 0; i < count; ++i) {
      digest.add(hash);
    }
  }
  return digest;
}

FleetOutcome FleetWorld::run() {
  while (now_ < kChaos + kCalm && outcome_.failure.empty()) {
    step();
    check();
    if (is_calm() && operations_max_ + transactions_max_ < 2 * kFast) {
      operations_max_ = transactions_max_ = kFast;
      builders_.front().publisher.reset();
      builders_.back().publisher.reset();
    }
  }
  check_calm();
  return outcome_;
}

void FleetWorld::step() {
  now_ += static_cast<Time>(random_.between(100, 3'000));
  const std::uint64_t chance = random_.below(100);
  if (chance < 8) {
    commit();
  } else if (chance < 55) {
    act(builders_[random_.below(kBuilders)]);
  } else if (chance < 95) {
    act(followers_[random_.below(kFollowers)]);
  } else if (!is_calm()) {
    if (!has_adversary_ || random_.one_in(2)) {
      fail();
    } else {
      attack();
    }
  } else {  // all is well with Redis
    nodes_[1 - master_] = nodes_[master_];
  }
}

void FleetWorld::commit() {
  Transaction transaction;
  for (std::uint64_t changes = random_.between(1, 4); changes > 0; --changes) {
    const std::uint64_t hash = hash_of_row(random_.below(kRows));
    if (std::ranges::count(transaction.inserted, hash) +
            std::ranges::count(transaction.deleted, hash) >
        0) {
      continue;
    }
    if (rows_.erase(hash) > 0) {
      transaction.deleted.push_back(hash);
    } else {
      rows_.emplace(hash, now_);
      transaction.inserted.push_back(hash);
    }
  }
  log_.push_back(std::move(transaction));
}

// --- builders ---

void FleetWorld::act(Builder& builder) {
  if (!builder.publisher) {
    if (now_ >= builder.back_at) {
      start(builder);
    }
    return;
  }
  if (is_calm() || random_.one_in(20)) {
    builder.node = master_;
  }
  switch (random_.below(6)) {
    case 0:
    case 1:
      apply(builder);
      break;
    case 2:
      erase(builder);
      break;
    case 3:
      ask_database(builder);
      break;
    default:
      publish(builder);
      break;
  }
}

// From its checkpoint.
void FleetWorld::start(Builder& builder) {
  builder.publisher = std::make_unique<Publisher>(
      key_, covers, Publisher::Limits{.kept = 4, .journal = 300, .operations = operations_max_});
  builder.applied = builder.checkpoint.applied;
  builder.filter = builder.checkpoint.filter;
  builder.to_erase.clear();
  builder.question.reset();
  builder.chain.reset();
  builder.seen_at = now_;
  builder.publisher->mark(std::to_string(builder.applied));
}

void FleetWorld::apply(Builder& builder) {
  for (std::uint64_t most = random_.below(transactions_max_);
       most > 0 && builder.applied < log_.size();
       --most) {
    const Transaction& transaction = log_[builder.applied];
    for (const std::uint64_t hash : transaction.inserted) {
      ++builder.filter[table_of(hash)][hash];
      builder.publisher->insert(table_of(hash), hash);
    }
    for (const std::uint64_t hash : transaction.deleted) {
      builder.to_erase.push_back(hash);
      builder.publisher->erase_later(table_of(hash), hash);
    }
    ++builder.applied;
    builder.publisher->mark(std::to_string(builder.applied));
  }
  if (builder.question && builder.question->shown && builder.applied >= *builder.question->shown) {
    builder.publisher->proven(point(builder.question->at));
    builder.question.reset();
  }
}

void FleetWorld::erase(Builder& builder) {
  bool has_erased = false;
  while (!builder.to_erase.empty() && random_.percent(95)) {
    const std::uint64_t hash = builder.to_erase.front();
    builder.to_erase.pop_front();
    Rows& rows = builder.filter[table_of(hash)];
    if (--rows[hash] == 0) {
      rows.erase(hash);
    }
    builder.publisher->erase(table_of(hash), hash);
    has_erased = true;
  }
  if (has_erased) {
    builder.publisher->mark(std::to_string(builder.applied));
  }
  if (builder.to_erase.empty()) {
    builder.checkpoint = {.applied = builder.applied, .filter = builder.filter};
  }
}

// It takes its time, so that the log may be longer by the answer.
void FleetWorld::ask_database(Builder& builder) {
  if (!builder.question) {
    builder.question = {.at = now_, .shown = std::nullopt};
  } else if (!builder.question->shown) {
    builder.question->shown = log_.size();
  }
}

void FleetWorld::publish(Builder& builder) {
  if (!builder.publisher->is_publishing()) {
    follow_log(builder);
    return;
  }
  Redis& redis = node_of(builder.node);
  if (now_ - builder.base_at >= kBaseEvery) {
    renew_base(builder);
  }
  if (builder.publisher->wants_questions() && !redis.asks.empty()) {
    std::vector<Question> questions;
    for (const auto& [name, nonce] : redis.asks) {
      questions.push_back({.name = name, .nonce = nonce});
    }
    builder.publisher->questions_read(std::move(questions), point(now_));
  }
  const bool is_due = now_ - builder.said_at >= kHeartbeat;
  if (const Publisher::Draft* const draft = builder.publisher->next(is_due)) {
    builder.said_at = now_;
    append(builder, *draft);
  }
}

// What somebody has done to entries of before concerns nobody who begins behind them.
void FleetWorld::renew_base(Builder& builder) {
  Redis& redis = node_of(builder.node);
  const ChainBegin& at = builder.publisher->published();
  if (!builder.publisher->is_as_published() || !redis.meta || redis.meta->tag != at.tag ||
      redis.meta->epoch > at.epoch) {
    return;
  }
  for (const auto& [number, table] : at.tables) {
    if (table.digest != digest_of(builder.filter[number])) {
      note(builder.name + " has told of other rows than it has, at " + std::to_string(now_));
    }
  }
  builder.base_at = now_;
  if (redis.base) {  // who is behind that one begins anew
    redis.log.erase(redis.log.begin(), redis.log.upper_bound(redis.base->begin.seq));
  }
  redis.base = std::make_shared<Snapshot>(Snapshot{.begin = at, .filter = builder.filter});
}

// As the script does it.
void FleetWorld::append(Builder& builder, const Publisher::Draft& draft) {
  Redis& redis = node_of(builder.node);
  archive_[draft.seq].push_back(draft.bytes);
  if (redis.meta && redis.meta->epoch > draft.epoch) {
    builder.publisher->fenced();
    builder.seen_at = now_;
    return;
  }
  if (!redis.meta || redis.meta->seq != draft.seq - 1 || redis.meta->tag != draft.before) {
    if (!redis.meta || !builder.publisher->lost(redis.meta->seq, redis.meta->tag)) {
      begin_anew(builder);
    }
    return;
  }
  redis.meta = {.epoch = draft.epoch, .seq = draft.seq, .tag = draft.tag};
  redis.log[draft.seq] = draft.bytes;
  if (!is_calm() && random_.one_in(30)) {
    mistake(redis, draft.bytes);
  }
  for (std::size_t i = 0; i < draft.questions.size(); ++i) {
    redis.answers[draft.questions[i].name] =
        bytes_of({.seq = draft.seq, .nonce = draft.questions[i].nonce, .path = draft.paths[i]});
  }
  ++outcome_.entries;
  if (random_.percent(95)) {  // else the reply is lost: it comes again
    builder.publisher->appended();
  }
}

// A builder leaves out what it has done.
void FleetWorld::mistake(Redis& redis, const std::string& bytes) {
  Entry entry = read_entry(bytes, keys_).value().entry;
  for (TableChange& table : entry.tables) {
    if (!table.inserted.empty()) {
      table.inserted.pop_back();
      const std::string text = text_of(entry);
      redis.meta->tag = hash_of(text);
      redis.log[entry.seq] = signed_bytes(text, key_);
      return;
    }
  }
}

void FleetWorld::follow_log(Builder& builder) {
  const Redis& redis = node_of(builder.node);
  if (redis.base && (!builder.chain || !redis.log.contains(builder.chain->at().seq + 1))) {
    if (!builder.chain || redis.base->begin.seq > builder.chain->at().seq) {
      builder.chain = std::make_unique<Chain>(redis.base->begin, keys_);
    }
  }
  if (builder.chain) {
    for (auto entry = redis.log.upper_bound(builder.chain->at().seq); entry != redis.log.end();
         ++entry) {
      if (!builder.chain->take(entry->second)) {
        builder.chain.reset();
        break;
      }
    }
  }
  if (builder.chain) {
    builder.publisher->follow(builder.chain->at());
  }
  const std::uint64_t seq = redis.meta ? redis.meta->seq : 0;
  const std::uint64_t epoch = redis.meta ? redis.meta->epoch : 0;
  if (seq != builder.seen_seq || epoch != builder.seen_epoch) {
    builder.seen_seq = seq;
    builder.seen_epoch = epoch;
    builder.seen_at = now_;
  } else if (now_ - builder.seen_at > kTakesOverAfter) {
    take_over(builder);
  }
}

// By a script, too: what was seen is still there.
void FleetWorld::take_over(Builder& builder) {
  Redis& redis = node_of(builder.node);
  const bool is_there = redis.meta && builder.chain && builder.chain->at().seq == redis.meta->seq &&
                        builder.chain->at().tag == redis.meta->tag;
  if (!is_there) {
    begin_anew(builder);
    return;
  }
  if (!builder.publisher->can_take_over()) {
    if (covers(builder.chain->at().resume, std::to_string(builder.applied + 1)) ||
        random_.percent(90)) {
      return;  // it is behind
    }
    begin_anew(builder);
    return;
  }
  ++outcome_.takeovers;
  ++redis.meta->epoch;
  builder.publisher->take_over(redis.meta->epoch);
}

// With what it has.
void FleetWorld::begin_anew(Builder& builder) {
  Redis& redis = node_of(builder.node);
  builder.seen_at = now_;
  ++outcome_.beginnings;
  auto base = std::make_shared<Snapshot>();
  const std::uint64_t epoch = (redis.meta ? redis.meta->epoch : 0) + 1;
  const std::uint64_t seq =
      std::max(redis.meta ? redis.meta->seq : 0, builder.publisher->published().seq) + 1;
  base->begin = {.seq = seq,
                 .tag = hash_of(random_bytes(kHashBytes)),
                 .epoch = epoch,
                 .resume = std::to_string(builder.applied),
                 .list = 1,
                 .tables = {}};
  base->filter = builder.filter;
  for (std::uint32_t table = 0; table < kTables; ++table) {
    base->begin.tables[table] = {
        .version = random_.next(), .is_ready = true, .digest = digest_of(builder.filter[table])};
  }
  for (const std::uint64_t hash : builder.to_erase) {
    ++base->begin.tables[table_of(hash)].deleted[hash];
  }
  redis.log.clear();
  redis.meta = {.epoch = epoch, .seq = seq, .tag = base->begin.tag};
  builder.publisher->follow(base->begin);
  builder.publisher->take_over(epoch);
  redis.base = std::move(base);
}

// --- followers ---

void FleetWorld::act(Follower& follower) {
  if (is_calm() || random_.one_in(20)) {
    follower.node = master_;
  }
  if (!follower.replica) {
    load(follower);
  } else {
    read(follower);
  }
}

void FleetWorld::lose(Follower& follower) {
  ++outcome_.breaks;
  follower.replica.reset();
  follower.fresh_until.clear();
}

void FleetWorld::load(Follower& follower) {
  const auto base = node_of(follower.node).base;
  if (base) {
    follower.replica = std::make_unique<Replica>(follower.name, base->begin, keys_);
    follower.filter = base->filter;
  }
}

void FleetWorld::read(Follower& follower) {
  Redis& redis = node_of(follower.node);
  if (random_.percent(60)) {
    const Question question = follower.replica->ask(random_bytes(kNonceBytes), point(now_));
    redis.asks[question.name] = question.nonce;
  }
  const std::uint64_t at = follower.replica->at().seq;
  // Another history; or what comes next has gone, since there is a later beginning.
  const bool is_other = redis.meta && !follower.replica->compare(redis.meta->seq, redis.meta->tag);
  if (is_other || (redis.base && redis.base->begin.seq > at && !redis.log.contains(at + 1))) {
    lose(follower);
    return;
  }
  std::uint64_t most = random_.between(1, 20);
  for (auto entry = redis.log.upper_bound(random_.one_in(10) ? 0 : at);
       entry != redis.log.end() && most > 0;
       ++entry, --most) {
    const auto taken = follower.replica->take(entry->second);
    if (taken) {
      take(follower, *taken);
    } else if (taken.error().kind != Break::Kind::old) {
      lose(follower);
      return;
    }
  }
  const auto found = redis.answers.find(follower.name);
  const auto answer = found == redis.answers.end() ? std::nullopt : read_answer(found->second);
  const auto proven = answer ? follower.replica->proven(*answer) : std::nullopt;
  if (proven) {
    const Time since =
        std::chrono::duration_cast<std::chrono::microseconds>(proven->time_since_epoch()).count();
    for (const auto& [number, table] : follower.replica->at().tables) {
      if (table.is_ready) {
        Time& until = follower.fresh_until[number];
        until = std::max(until, since + static_cast<Time>(kMaxLag / follower.rate));
      }
    }
  }
}

void FleetWorld::take(Follower& follower, const Entry& entry) {
  for (const TableChange& change : entry.tables) {
    Rows& rows = follower.filter[change.table];
    for (const std::uint64_t hash : change.inserted) {
      ++rows[hash];
    }
    for (const std::uint64_t hash : change.erased) {
      if (--rows[hash] == 0) {
        rows.erase(hash);
      }
    }
    if (!change.is_ready) {
      follower.fresh_until.erase(change.table);
    }
  }
}

// --- what goes wrong ---

void FleetWorld::fail() {
  switch (random_.below(6)) {
    case 0: {
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
        redis.base = random_.pick(backups_).base;
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
    answer->nonce = redis.asks.at(name);
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

// --- what holds ---

void FleetWorld::check() {
  for (Follower& follower : followers_) {
    for (const auto& [table, until] : follower.fresh_until) {
      if (now_ >= until || !follower.replica) {
        continue;
      }
      ++outcome_.checks;
      // Clocks differ by 1 % at most.
      const Time before = now_ - kMaxLag - kMaxLag / 50;
      for (const auto& [hash, committed] : rows_) {
        if (table_of(hash) == table && committed <= before &&
            !follower.filter[table].contains(hash)) {
          note("a row of table " + std::to_string(table) + " is hidden by " + follower.name +
               " at " + std::to_string(now_));
          return;
        }
      }
    }
  }
}

void FleetWorld::check_calm() {
  for (const Follower& follower : followers_) {
    for (std::uint32_t table = 0; table < kTables; ++table) {
      const auto until = follower.fresh_until.find(table);
      if (until == follower.fresh_until.end() || until->second < now_) {
        note(follower.name + " does not enforce table " + std::to_string(table) +
             (follower.replica ? "" : ": it has nothing"));
      }
    }
  }
}

}  // namespace cuckooguard::fleet
