#include "fleet/fleet_world.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace cuckooguard::fleet {
namespace {

constexpr FleetWorld::Time kHeartbeat = 200'000;
constexpr FleetWorld::Time kManifestEvery = 500'000;
constexpr FleetWorld::Time kCutAgainAfter = 300'000;
constexpr FleetWorld::Time kLogStays = 1'000'000;

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
    followers_.back().questions = std::make_unique<OwnQuestions>(followers_.back().name);
    followers_.back().rate = 0.99 + 0.005 * static_cast<double>(i);
  }
}

// Whether it is signed takes a tenth of a millisecond, each time.
const Manifest* FleetWorld::manifest_of(const Redis& redis) {
  const auto [found, is_new] = manifests_.try_emplace(redis.manifest);
  if (is_new) {
    found->second = read_manifest(redis.manifest, keys_);
  }
  return found->second ? &*found->second : nullptr;
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
  if (random_.one_in(is_calm() ? 20 : 60)) {
    read_anew(builder);
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

// From its checkpoints, each of which is as old as it is.
void FleetWorld::start(Builder& builder) {
  builder.publisher = std::make_unique<Publisher>(
      key_, Publisher::Limits{.kept = 4, .journal = 300, .operations = operations_max_});
  builder.applied = builder.checkpoints[1].applied;
  for (TableId table = 1; table <= kTables; ++table) {
    builder.applied = std::min(builder.applied, builder.checkpoints[table].applied);
    builder.since[table] = builder.checkpoints[table].applied;
    builder.filter[table] = builder.checkpoints[table].rows;
    builder.is_out_of_step[table] = false;
  }
  builder.to_erase.clear();
  builder.question.reset();
  builder.chain.reset();
  builder.seen_at = now_;
  builder.publisher->mark(std::to_string(builder.applied), std::to_string(builder.applied));
  for (TableId table = 1; table <= kTables; ++table) {
    builder.publisher->anew(table);
  }
  builder.publisher->mark(std::to_string(builder.applied), std::to_string(builder.applied));
}

void FleetWorld::apply(Builder& builder) {
  const auto is_told = [&](std::uint64_t hash) {
    const TableId table = table_of(hash);
    if (builder.applied < builder.since[table]) {
      builder.publisher->anew(table);
      return false;
    }
    return !builder.is_out_of_step[table];
  };
  for (std::uint64_t most = random_.below(transactions_max_);
       most > 0 && builder.applied < log_.size();
       --most) {
    const Transaction& transaction = log_[builder.applied];
    for (const std::uint64_t hash : transaction.inserted) {
      if (is_told(hash)) {
        ++builder.filter[table_of(hash)][hash];
        builder.publisher->insert(table_of(hash), hash);
      }
    }
    for (const std::uint64_t hash : transaction.deleted) {
      if (is_told(hash)) {
        builder.to_erase.push_back(hash);
        builder.publisher->erase_later(table_of(hash), hash);
      }
    }
    ++builder.applied;
    builder.publisher->mark(std::to_string(builder.applied), std::to_string(builder.applied));
  }
  if (builder.question && builder.question->shown && builder.applied >= *builder.question->shown) {
    prove(builder);
  }
}

void FleetWorld::prove(Builder& builder) {
  for (TableId table = 1; table <= kTables; ++table) {
    const bool is_ready = !builder.is_out_of_step[table] && builder.applied >= builder.since[table];
    builder.publisher->set_facts(table, {.is_ready = is_ready, .why = is_ready ? "" : "doubt"});
  }
  builder.publisher->proven(point(builder.question->at));
  builder.question.reset();
}

void FleetWorld::erase(Builder& builder) {
  bool has_erased = false;
  while (!builder.to_erase.empty() && random_.percent(95)) {
    const std::uint64_t hash = builder.to_erase.front();
    builder.to_erase.pop_front();
    take_one(builder.filter[table_of(hash)], hash);
    builder.publisher->erase(table_of(hash), hash);
    has_erased = true;
  }
  if (has_erased) {
    builder.publisher->mark(std::to_string(builder.applied), std::to_string(builder.applied));
  }
  keep(builder);
}

void FleetWorld::keep(Builder& builder) {
  const TableId table = random_.between(1, kTables);
  const bool waits = std::ranges::any_of(
      builder.to_erase, [&](std::uint64_t hash) { return table_of(hash) == table; });
  if (!waits && !builder.is_out_of_step[table] && builder.applied >= builder.since[table]) {
    builder.checkpoints[table] = {.applied = builder.applied, .rows = builder.filter[table]};
  }
}

// A table that it does not understand any more is read from the database after a while.
void FleetWorld::read_anew(Builder& builder) {
  const TableId table = random_.between(1, kTables);
  if (builder.applied < builder.since[table]) {
    return;
  }
  if (!builder.is_out_of_step[table]) {
    if (!is_calm()) {
      builder.is_out_of_step[table] = true;
      std::erase_if(builder.to_erase, [&](std::uint64_t hash) { return table_of(hash) == table; });
      builder.publisher->lost(table);
      builder.publisher->mark(std::to_string(builder.applied), std::to_string(builder.applied));
    }
    return;
  }
  Rows& rows = builder.filter[table];
  rows.clear();
  for (std::size_t i = 0; i < builder.applied; ++i) {
    for (const std::uint64_t hash : log_[i].inserted) {
      if (table_of(hash) == table) {
        ++rows[hash];
      }
    }
    for (const std::uint64_t hash : log_[i].deleted) {
      if (table_of(hash) == table) {
        rows.erase(hash);
      }
    }
  }
  builder.is_out_of_step[table] = false;
  builder.publisher->anew(table);
  builder.publisher->mark(std::to_string(builder.applied), std::to_string(builder.applied));
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
  cut(builder);
  if (now_ - builder.manifest_at >= kManifestEvery) {
    renew_manifest(builder);
  }
  if (builder.publisher->wants_questions() && !redis.asks.empty()) {
    std::vector<Question> questions;
    for (const auto& [name, bytes] : redis.asks) {
      const Ask ask = read_ask(bytes).value();
      questions.push_back({.name = name, .nonce = ask.nonce});
      if (ask.lacks != kNone && now_ - builder.cut_at[ask.lacks] > kCutAgainAfter) {
        builder.snapshots.erase(ask.lacks);
      }
    }
    builder.publisher->questions_read(std::move(questions), point(now_));
  }
  const bool is_due = now_ - builder.said_at >= kHeartbeat;
  if (const Publisher::Draft* const draft = builder.publisher->next(is_due)) {
    builder.said_at = now_;
    append(builder, *draft);
  }
}

// Of what cannot be had, and now and then of what can.
void FleetWorld::cut(Builder& builder) {
  for (TableId table = 1; table <= kTables; ++table) {
    const bool is_usable =
        !builder.is_out_of_step[table] && builder.applied >= builder.since[table];
    const auto& tables = builder.publisher->published().tables;
    const auto published = tables.find(table);
    const auto snapshot = builder.snapshots.find(table);
    const bool has_one = snapshot != builder.snapshots.end() && published != tables.end() &&
                         snapshot->second.version == published->second.version;
    const bool is_wanted = builder.publisher->wants_cut(table) || !has_one || random_.one_in(50);
    if (!is_usable || !is_wanted) {
      continue;
    }
    erase(builder);  // nothing is applied until that is done
    const Rows& rows = builder.filter[table];
    const auto cut = builder.publisher->cut(table, digest_of(rows));
    if (!cut) {
      continue;
    }
    if (cut->was_wrong) {
      note(builder.name + " has told of other rows than it has, at " + std::to_string(now_));
    }
    const std::string name = std::to_string(files_.size());
    files_[name] = rows;
    builder.snapshots[table] = {.table = table,
                                .version = cut->version,
                                .seq = cut->seq,
                                .tag = cut->tag,
                                .digest = digest_of(rows),
                                .name = name};
    builder.cut_at[table] = now_;
    builder.manifest_at = 0;
  }
}

void FleetWorld::renew_manifest(Builder& builder) {
  Redis& redis = node_of(builder.node);
  const ChainBegin& at = builder.publisher->published();
  if (!builder.publisher->is_all_appended() || !redis.meta || redis.meta->epoch != at.epoch) {
    return;
  }
  builder.manifest_at = now_;
  Manifest manifest{.begin = at, .snapshots = {}};
  std::uint64_t oldest = at.seq;
  for (const auto& [number, table] : at.tables) {
    const auto found = builder.snapshots.find(number);
    if (found == builder.snapshots.end() || found->second.version != table.version ||
        table.version == 0) {
      continue;
    }
    Snapshot& snapshot = found->second;
    if (table.changed_at <= snapshot.seq) {  // it is as good as one of now
      snapshot.seq = at.seq;
      snapshot.tag = at.tag;
    }
    oldest = std::min(oldest, snapshot.seq);
    manifest.snapshots.push_back(snapshot);
  }
  redis.manifest = signed_manifest(manifest, key_);
  redis.log.erase(redis.log.begin(), redis.log.lower_bound(std::min(oldest, builder.trims_to)));
  builder.oldest.emplace_back(now_, oldest);
  for (; now_ - builder.oldest.front().first >= kLogStays; builder.oldest.pop_front()) {
    builder.trims_to = builder.oldest.front().second;
  }
}

// As the script does it.
void FleetWorld::append(Builder& builder, const Publisher::Draft& draft) {
  Redis& redis = node_of(builder.node);
  archive_[draft.seq].push_back(draft.bytes);
  if (redis.meta && redis.meta->epoch > draft.epoch) {
    builder.publisher->fenced();
    builder.snapshots.clear();
    builder.chain.reset();
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

void FleetWorld::read_log(Builder& builder) {
  const Redis& redis = node_of(builder.node);
  const Manifest* const manifest = manifest_of(redis);
  if (manifest && (!builder.chain || !redis.log.contains(builder.chain->at().seq + 1))) {
    if (!builder.chain || manifest->begin.seq > builder.chain->at().seq) {
      builder.chain = std::make_unique<Chain>(manifest->begin, keys_);
      builder.snapshots.clear();
      for (const Snapshot& snapshot : manifest->snapshots) {
        builder.snapshots[snapshot.table] = snapshot;
      }
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
}

void FleetWorld::follow_log(Builder& builder) {
  read_log(builder);
  const Redis& redis = node_of(builder.node);
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
    if (std::stoull(builder.chain->at().position) > builder.applied || random_.percent(90)) {
      return;  // it is behind
    }
    begin_anew(builder);
    return;
  }
  ++outcome_.takeovers;
  ++redis.meta->epoch;
  builder.oldest.clear();
  builder.trims_to = 0;
  builder.publisher->take_over(redis.meta->epoch);
}

// With what it has.
void FleetWorld::begin_anew(Builder& builder) {
  Redis& redis = node_of(builder.node);
  builder.seen_at = now_;
  if (!builder.publisher->can_begin()) {
    return;
  }
  ++outcome_.beginnings;
  const std::uint64_t epoch = (redis.meta ? redis.meta->epoch : 0) + 1;
  const std::uint64_t seq =
      std::max(redis.meta ? redis.meta->seq : 0, builder.publisher->published().seq) + 1;
  const std::string tag = hash_of(random_bytes(kHashBytes));
  redis.log.clear();
  redis.manifest.clear();
  redis.meta = {.epoch = epoch, .seq = seq, .tag = tag};
  builder.publisher->begin(epoch, seq, tag);
  builder.snapshots.clear();
}

// --- followers ---

void FleetWorld::act(Follower& follower) {
  if (is_calm() || random_.one_in(20)) {
    follower.node = master_;
  }
  if (!follower.replica) {
    begin(follower);
  } else {
    read(follower);
  }
}

void FleetWorld::lose(Follower& follower) {
  ++outcome_.breaks;
  follower.replica.reset();
  follower.fresh_until.clear();
}

void FleetWorld::begin(Follower& follower) {
  if (const Manifest* const manifest = manifest_of(node_of(follower.node))) {
    follower.replica = std::make_unique<Replica>(*follower.questions, manifest->begin, keys_);
  }
}

void FleetWorld::load_tables(Follower& follower) {
  const Manifest* const manifest = manifest_of(node_of(follower.node));
  for (const auto& [number, table] : follower.replica->at().tables) {
    const Snapshot* const snapshot = manifest ? manifest->find(number) : nullptr;
    if (table.version == 0 || follower.replica->has(number) || snapshot == nullptr ||
        snapshot->version != table.version || random_.one_in(3)) {
      continue;
    }
    if (auto rows = load(follower, *snapshot)) {
      follower.filter[number] = *std::move(rows);
      follower.replica->loaded(number, table.version);
    } else {
      follower.lacks = number;
    }
  }
}

// Nothing: not now.
std::optional<FleetWorld::Rows> FleetWorld::load(const Follower& follower,
                                                 const Snapshot& snapshot) {
  const ChainBegin& at = follower.replica->at();
  const auto& log = node_of(follower.node).log;
  Rows rows = files_.at(snapshot.name);
  Chain chain(snapshot.begin(), keys_);
  for (auto entry = log.upper_bound(snapshot.seq); entry != log.end() && chain.at().seq < at.seq;
       ++entry) {
    const auto taken = chain.take(entry->second);
    if (!taken) {
      return std::nullopt;
    }
    for (const TableChange& change : taken->tables) {
      if (change.table == snapshot.table) {
        apply(change, rows);
      }
    }
  }
  const TableState& table = chain.at().tables.at(snapshot.table);
  if (chain.at().seq != at.seq || chain.at().tag != at.tag || table.version != snapshot.version) {
    return std::nullopt;
  }
  if (digest_of(rows) != table.digest) {
    note(follower.name + " has loaded other rows than its builder had, at " + std::to_string(now_));
  }
  return rows;
}

void FleetWorld::ask(Follower& follower) {
  const Question question = follower.questions->ask(random_bytes(kNonceBytes), point(now_));
  node_of(follower.node).asks[question.name] = bytes_of(
      Ask{.nonce = question.nonce, .seq = follower.replica->at().seq, .lacks = follower.lacks});
  follower.lacks = kNone;
}

void FleetWorld::read(Follower& follower) {
  const Redis& redis = node_of(follower.node);
  if (random_.percent(60)) {
    ask(follower);
  }
  const std::uint64_t at = follower.replica->at().seq;
  // Another history; or what comes next has gone, since there is a later beginning.
  const bool is_other = redis.meta && !follower.replica->compare(redis.meta->seq, redis.meta->tag);
  const Manifest* const manifest = manifest_of(redis);
  if (is_other || (manifest && manifest->begin.seq > at && !redis.log.contains(at + 1))) {
    lose(follower);
    return;
  }
  std::uint64_t most = random_.between(1, 20);
  // Old entries again, which somebody may have forged by now.
  const std::uint64_t after = !is_calm() && random_.one_in(10) ? 0 : at;
  for (auto entry = redis.log.upper_bound(after); entry != redis.log.end() && most > 0;
       ++entry, --most) {
    const auto taken = follower.replica->take(entry->second);
    if (taken) {
      take(follower, *taken);
    } else if (taken.error().kind != Break::Kind::old) {
      lose(follower);
      return;
    }
  }
  load_tables(follower);
  prove(follower);
}

void FleetWorld::prove(Follower& follower) {
  const Redis& redis = node_of(follower.node);
  const auto found = redis.answers.find(follower.name);
  const auto answer = found == redis.answers.end() ? std::nullopt : read_answer(found->second);
  const auto proven = answer ? follower.replica->proven(*answer) : std::nullopt;
  if (proven) {
    const Time since =
        std::chrono::duration_cast<std::chrono::microseconds>(proven->time_since_epoch()).count();
    for (const auto& [number, table] : follower.replica->at().tables) {
      if (table.is_ready && follower.replica->has(number)) {
        check_strict(follower, number, since);
        Time& until = follower.fresh_until[number];
        until = std::max(until, since + static_cast<Time>(kMaxLag / follower.rate));
      }
    }
  }
}

void FleetWorld::take(Follower& follower, const Entry& entry) {
  for (const TableChange& change : entry.tables) {
    if (!follower.replica->has(change.table)) {
      continue;
    }
    Rows& rows = follower.filter[change.table];
    apply(change, rows);
    if (digest_of(rows) != change.digest) {
      note(follower.name + " has other rows than it was told, at " + std::to_string(now_));
    }
    if (!change.is_ready) {
      follower.fresh_until.erase(change.table);
    }
  }
}

void FleetWorld::apply(const TableChange& change, Rows& rows) {
  const NetChange net(change);
  for (const std::uint64_t hash : net.inserted) {
    ++rows[hash];
  }
  for (const std::uint64_t hash : net.erased) {
    take_one(rows, hash);
  }
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

// A reader that has waited for this proof sees all that was committed before it asked.
void FleetWorld::check_strict(const Follower& follower, TableId table, Time asked) {
  const Rows& filter = follower.filter.at(table);
  for (const auto& [hash, committed] : rows_) {
    if (table_of(hash) == table && committed < asked && !filter.contains(hash)) {
      note("a row of table " + std::to_string(table) + " is hidden from a strict read by " +
           follower.name + " at " + std::to_string(now_));
      return;
    }
  }
}

void FleetWorld::check_calm() {
  for (const Follower& follower : followers_) {
    for (TableId table = 1; table <= kTables; ++table) {
      const auto until = follower.fresh_until.find(table);
      if (until == follower.fresh_until.end() || until->second < now_) {
        note(follower.name + " does not enforce table " + std::to_string(table) +
             (follower.replica ? "" : ": it has nothing"));
      }
    }
  }
}

}  // namespace cuckooguard::fleet
