#include "builder/builder.h"

#include <algorithm>
#include <utility>

#include "app/guests.h"
#include "config/table_pattern.h"
#include "filter/filter_file.h"
#include "keyspace/key_template.h"
#include "text/hex.h"
#include "text/number.h"
#include "text/try.h"

namespace cuckooguard::fleet {
namespace {

constexpr std::string_view kEntriesAtOnce = "256";

}  // namespace

Builder::Builder(Settings settings)
    : settings_(std::move(settings)),
      keys_(settings_.prefix, settings_.name),
      name_(name_of_process()),
      publisher_(settings_.key, {}),
      files_(settings_.snapshots == nullptr
                 ? nullptr
                 : std::make_unique<SnapshotFiles>(*settings_.snapshots, settings_.name)),
      uploads_(keys_, files_.get()),
      trials_(settings_.canary) {
  publisher_.set_trials(settings_.canary > std::chrono::nanoseconds::zero());
}

void Builder::start() {
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
  wakes_ = std::make_unique<WakeListener>(settings_.redis, keys_.wake, [this] {
    const std::scoped_lock lock(mutex_);
    is_woken_ = publisher_.is_publishing();
    woken_.notify_all();
  });
}

// --- the source ---

void Builder::list_tables() {
  TableList list{
      .builder = name_, .kind = settings_.kind, .serves_strict = serves_strict_, .namespaces = {}};
  for (const auto& [name, listed] : listed_) {
    list.namespaces.push_back(listed.names);
    if (listed.has_patterns && is_in_doubt_) {
      list.namespaces.back().is_complete = false;
    }
  }
  publisher_.set_list(text_of(list));
}

void Builder::set_tables(const source::Target& target, std::span<const std::string> tables) {
  const std::scoped_lock lock(mutex_);
  const std::string& name = target.settings.name;
  Listed& listed = listed_[name];
  for (const std::string& table : listed.names.tables) {
    if (std::ranges::find(tables, table) == tables.end()) {
      publisher_.forget(source::published_number(target, table));
    }
  }
  listed = {
      .has_patterns = std::ranges::any_of(target.settings.source.tables, config::is_table_pattern),
      .names = {.name = name,
                .definition = source::published_definition(target),
                .is_complete = !tables.empty(),
                .tables = {tables.begin(), tables.end()}}};
  list_tables();
}

void Builder::set_doubt(bool is_in_doubt) {
  const std::scoped_lock lock(mutex_);
  if (std::exchange(is_in_doubt_, is_in_doubt) != is_in_doubt) {
    list_tables();
  }
}

void Builder::inserted(Table table, Hashes hashes) {
  const std::scoped_lock lock(mutex_);
  for (const std::uint64_t hash : hashes) {
    publisher_.insert(table, hash);
  }
}

void Builder::deleted(Table table, std::uint64_t hash) {
  const std::scoped_lock lock(mutex_);
  publisher_.erase_later(table, hash);
}

void Builder::erased(Table table, std::uint64_t hash) {
  const std::scoped_lock lock(mutex_);
  publisher_.erase(table, hash);
}

void Builder::anew(Table table, std::uint64_t definition) {
  const std::scoped_lock lock(mutex_);
  publisher_.anew(table, definition);
}

void Builder::lost(Table table) {
  const std::scoped_lock lock(mutex_);
  publisher_.lost(table);
}

// Followers whose filters are nearly full as well load that one, beside theirs.
void Builder::rebuilt(Table table) {
  const std::scoped_lock lock(mutex_);
  rebuilt_.insert(table);
}

void Builder::set_facts(Table table, const source::PublishedFacts& facts) {
  const std::scoped_lock lock(mutex_);
  publisher_.set_facts(table,
                       {.is_ready = facts.is_ready,
                        .why = facts.is_ready ? std::string() : std::string(facts.why),
                        .largest_id = facts.largest_id});
}

void Builder::set_isolated(Table table, const filter::IsolatedRows& rows) {
  const std::scoped_lock lock(mutex_);
  publisher_.set_isolated(table, rows.bytes());
}

void Builder::mark(const std::string& position, const std::string& end) {
  const std::scoped_lock lock(mutex_);
  publisher_.mark(position, end);
  if ((is_woken_ || is_awaited_) && publisher_.can_answer()) {
    woken_.notify_all();
  }
}

void Builder::proven(source::TimePoint at) {
  const std::scoped_lock lock(mutex_);
  if (const bool serves = settings_.serves_strict(); serves != serves_strict_) {
    serves_strict_ = serves;
    list_tables();
  }
  publisher_.proven(at);
  woken_.notify_all();
}

bool Builder::is_proving() const {
  const std::scoped_lock lock(mutex_);
  const auto at = publisher_.proven_at();
  return at && settings_.clock() - *at < kProvesWithin;
}

bool Builder::is_tail_long(TableId table) const {
  const auto standing = standing_.find(table);
  const auto tail = tails_.find(table);
  const std::uint64_t bytes = appended_bytes_ - (tail == tails_.end() ? 0 : tail->second);
  const auto& tables = publisher_.published().tables;
  const auto published = tables.find(table);
  return standing == standing_.end() || published == tables.end() || rebuilt_.contains(table) ||
         standing->second.version != published->second.version ||
         bytes > std::max(kTailBytesMin, standing->second.bytes / 4);
}

bool Builder::wants_cut(Table table) const {
  const std::scoped_lock lock(mutex_);
  if (on_the_way_.contains(table)) {
    return false;
  }
  const auto& tables = publisher_.published().tables;
  const auto found = tables.find(table);
  return publisher_.wants_cut(table) || (publisher_.is_publishing() && found != tables.end() &&
                                         found->second.is_ready && is_tail_long(table));
}

void Builder::cut(Table table, const filter::Digest& digest) {
  const std::scoped_lock lock(mutex_);
  const auto cut = publisher_.cut(table, digest);
  if (!cut) {
    cuts_.erase(table);
    return;
  }
  if (cut->was_wrong) {
    settings_.on_trouble("the published rows differ from the source's: followers reload them");
  }
  cuts_[table] = {.cut = *cut,
                  .digest = digest,
                  .is_wanted = !on_the_way_.contains(table) && is_tail_long(table)};
}

void Builder::kept(Table table, const std::string& path) {
  const std::scoped_lock lock(mutex_);
  const auto found = cuts_.find(table);
  if (found == cuts_.end() || !found->second.is_wanted) {
    return;
  }
  const TakenCut& taken = found->second;
  const std::string name = text::hex_of(random_bytes(8));
  const auto file = files_ ? files_->keep(path, name) : path;
  if (!file) {
    settings_.on_trouble(file.error());
    return;
  }
  tails_[table] = appended_bytes_;
  rebuilt_.erase(table);
  on_the_way_.insert(table);
  kept_.push_back({.snapshot = {.table = table,
                                .version = taken.cut.version,
                                .seq = taken.cut.seq,
                                .tag = taken.cut.tag,
                                .digest = taken.digest,
                                .name = name,
                                .is_at_builder = files_ != nullptr},
                   .file = std::ifstream(*file, std::ios::binary)});
}

// --- the thread ---

void Builder::run(const std::stop_token& stop) {
  std::unique_ptr<Redis> redis;
  source::Backoff backoff(kTick, source::Backoff::kUnreachedMax);
  while (!stop.stop_requested()) {
    const auto done = [&]() -> Done {
      try {
        if (!redis) {
          redis = TRY(settings_.redis(keys_.meta));
        }
        return tick(*redis);
      } catch (const std::exception& trouble) {  // no memory, say
        return std::unexpected(trouble.what());
      }
    }();
    if (done) {
      backoff.succeeded();
      rest_until_due(stop);
    } else {
      if (redis && done.error().starts_with("WRONGTYPE")) {
        forget_all(*redis);
      }
      redis.reset();
      become("Redis: " + done.error());
      std::unique_lock lock(mutex_);
      woken_.wait_for(lock, stop, backoff.next(), [] { return false; });
    }
  }
}

// For a tick; less if a follower wants an answer, or waits for the one that there is now.
void Builder::rest_until_due(const std::stop_token& stop) {
  const source::TimePoint until = settings_.clock() + kTick;
  const auto is_due = [this] {
    return publisher_.is_publishing() &&
           (((is_woken_ || is_awaited_) && publisher_.can_answer()) ||
            (is_woken_ && settings_.clock() - asks_read_at_ >= woken_tick_));
  };
  std::unique_lock lock(mutex_);
  for (auto now = settings_.clock(); now < until && !is_due() && !stop.stop_requested();
       now = settings_.clock()) {
    const bool was_woken = is_woken_;
    const source::TimePoint next =
        was_woken && publisher_.is_publishing() ? asks_read_at_ + woken_tick_ : until;
    woken_.wait_for(lock, stop, std::min(next, until) - now, [&] {
      return is_due() || is_woken_ != was_woken;
    });
  }
}

// Somebody has put something else in their place.
void Builder::forget_all(Redis& redis) {
  (void)redis.ask(
      {"DEL", keys_.meta, keys_.log, keys_.manifest, keys_.asks, keys_.answers, keys_.wake});
}

void Builder::become(const std::string& what) {
  if (state_ == what) {
    return;
  }
  {
    const std::scoped_lock lock(mutex_);
    state_ = what;
  }
  settings_.on_change(what);
}

void Builder::show(std::vector<filter::SourceFact>& facts) const {
  const std::scoped_lock lock(mutex_);
  const ChainBegin& at = publisher_.published();
  const bool is_publishing = publisher_.is_publishing();
  facts.push_back({.name = "fleet_role", .value = "builder"});
  facts.push_back({.name = "fleet_name", .value = name_});
  facts.push_back({.name = "fleet_state", .value = state_});
  facts.push_back({.name = "fleet_publishes",
                   .value = std::uint64_t{is_publishing},
                   .metric = "fleet_publishes",
                   .help = "1 on the builder that appends to the fleet's log, else 0."});
  add_facts(facts, at.epoch, at.seq, digest_of(at));
  if (!is_publishing) {
    return;
  }
  std::vector<std::string> all_behind = asks_.behind(at.seq);
  facts.push_back({.name = "fleet_followers",
                   .value = std::uint64_t{asks_.size()},
                   .metric = "fleet_followers",
                   .help = "Followers that poll this builder."});
  facts.push_back({.name = "fleet_followers_behind",
                   .value = std::uint64_t{all_behind.size()},
                   .metric = "fleet_followers_behind",
                   .help = "Followers of this builder in which keys pass."});
  all_behind.resize(std::min(all_behind.size(), kBehindShownMax));
  facts.push_back({.name = "fleet_behind", .value = std::move(all_behind)});
}

bool Builder::is_publishing() const {
  const std::scoped_lock lock(mutex_);
  return publisher_.is_publishing();
}

Builder::Done Builder::tick(Redis& redis) {
  TRY(is_publishing() ? publish(redis) : follow(redis));
  return tidy_files(redis);
}

std::expected<Meta, std::string> Builder::run_script(
    Redis& redis,
    std::string_view script,
    std::initializer_list<std::string_view> keys,
    std::initializer_list<std::string_view> words) {
  const std::string count = std::to_string(keys.size());
  std::vector<std::string_view> all{"EVAL", script, count};
  all.insert(all.end(), keys);
  all.insert(all.end(), words);
  return Meta(TRY(accepted(redis.ask(all))));
}

std::expected<Meta, std::string> Builder::meta(Redis& redis) {
  return Meta(TRY(accepted(redis.ask({"HMGET", keys_.meta, "epoch", "seq", "tag"}))));
}

// --- while it publishes ---

Builder::Done Builder::publish(Redis& redis) {
  if (!is_proving()) {
    give_up_publishing();
    return {};
  }
  become("publishes");
  const source::TimePoint now = settings_.clock();
  // What comes while it is appended waits for the next tick: entries would be many, and small.
  for (bool is_all = false; !is_all;) {
    const Publisher::Draft* draft = nullptr;
    {
      const std::scoped_lock lock(mutex_);
      draft = publisher_.next(now - said_at_ >= kHeartbeat);
    }
    if (draft == nullptr) {
      break;
    }
    said_at_ = now;
    TRY(append(redis, *draft));
    const std::scoped_lock lock(mutex_);
    is_all = publisher_.is_all_appended();
  }
  if (now - tended_at_ >= kTick) {
    tended_at_ = now;
    TRY(tend_snapshots(redis));
  }
  return now - asks_read_at_ >= kWokenTick ? read_asks(redis) : Done();
}

Builder::Done Builder::append(Redis& redis, const Publisher::Draft& draft) {
  const Meta before(std::to_string(draft.epoch), std::to_string(draft.seq - 1), draft.before);
  const Meta after(before.epoch, std::to_string(draft.seq), draft.tag);
  TRY(answer(redis, draft));  // for those who see the entry at once
  const Meta now =
      TRY(run_script(redis,
                     append_script(),
                     {keys_.meta, keys_.log},
                     {before.epoch, before.seq, before.tag, draft.tag, draft.bytes, after.seq}));
  if (now == after) {
    const std::scoped_lock lock(mutex_);
    is_awaited_ = is_awaited_ && draft.questions.empty();
    appended_bytes_ += draft.bytes.size();
    publisher_.appended();
    return {};
  }
  if (now.epoch_number() > draft.epoch) {
    give_up_publishing();
    return {};
  }
  {
    const std::scoped_lock lock(mutex_);
    if (now.epoch == before.epoch && publisher_.lost(now.seq_number(), now.tag)) {
      return {};
    }
  }
  const Meta seen = TRY(meta(redis));
  if (seen.epoch_number() > draft.epoch) {
    give_up_publishing();
    return {};
  }
  return begin_anew(redis, seen);
}

Builder::Done Builder::answer(Redis& redis, const Publisher::Draft& draft) {
  if (draft.questions.empty()) {
    return {};
  }
  std::vector<std::string> answers;
  answers.reserve(draft.questions.size());
  std::vector<std::string_view> words{"HSET", keys_.answers};
  for (std::size_t i = 0; i < draft.questions.size(); ++i) {
    answers.push_back(
        bytes_of({.seq = draft.seq, .nonce = draft.questions[i].nonce, .path = draft.paths[i]}));
    words.push_back(draft.questions[i].name);
    words.push_back(answers.back());
  }
  TRY(accepted(redis.ask(words)));
  return {};
}

Builder::Done Builder::read_asks(Redis& redis) {
  const source::TimePoint now = settings_.clock();
  asks_read_at_ = now;
  {
    const std::scoped_lock lock(mutex_);
    if (!publisher_.wants_questions()) {
      settings_.want_proof();
      return {};
    }
    is_awaited_ = std::exchange(is_woken_, false);
  }
  const resp::Value count = TRY(accepted(redis.ask({"HLEN", keys_.asks})));
  if (static_cast<std::uint64_t>(count.number) > kAsksMax) {
    TRY(accepted(redis.ask({"DEL", keys_.asks, keys_.answers})));
    return {};
  }
  const resp::Value asked = TRY(accepted(redis.ask({"HGETALL", keys_.asks})));
  Asks::News news;
  {
    const std::scoped_lock lock(mutex_);
    news = asks_.see(asked, now);
    woken_tick_ = std::clamp<std::chrono::nanoseconds>(
        std::max(kTickForEachWaiting * news.waiting, kTickForEachAsk * asks_.size()),
        kWokenTick,
        kTick);
    if (trials_.judge(publisher_, asks_, now)) {
      settings_.on_trouble(
          "a table changed, and its new version, which some followers test first, hides rows: it "
          "is not promoted, and its keys pass; see event=hidden_row of these followers");
    }
  }
  std::ranges::for_each(news.lacks, [this](TableId table) { cut_again(table); });
  std::vector<std::string_view> gone{"HDEL", keys_.asks};
  gone.insert(gone.end(), news.gone.begin(), news.gone.end());
  if (gone.size() > 2) {
    TRY(accepted(redis.ask(gone)));
    gone[1] = keys_.answers;
    TRY(accepted(redis.ask(gone)));
  }
  if (news.questions.empty()) {
    return {};
  }
  const std::scoped_lock lock(mutex_);
  publisher_.questions_read(std::move(news.questions), settings_.clock());
  settings_.want_proof();
  return {};
}

// What a follower cannot use: once in a while, whoever says so.
void Builder::cut_again(TableId table) {
  const source::TimePoint now = settings_.clock();
  if (!uploads_.standing().contains(table)) {
    return;
  }
  const auto [before, is_first] = cut_again_at_.try_emplace(table, now);
  if (is_first || now - before->second >= kCutsAgainEvery) {
    before->second = now;
    uploads_.forget(table);
    show_uploads();
  }
}

Builder::Done Builder::tend_snapshots(Redis& redis) {
  {
    const std::scoped_lock lock(mutex_);
    for (Kept& kept : std::exchange(kept_, {})) {
      uploads_.add(std::move(kept.snapshot), std::move(kept.file));
    }
  }
  bool is_new = false;
  if (!uploads_.is_idle()) {
    const auto step = uploads_.step(redis);
    show_uploads();
    if (!step) {
      settings_.on_trouble("cannot publish a snapshot: " + step.error());
      return step;
    }
    is_new = uploads_.is_idle();
  }
  return is_new || settings_.clock() - manifest_at_ >= kManifestEvery ? renew_manifest(redis)
                                                                      : Done();
}

void Builder::show_uploads() {
  const std::scoped_lock lock(mutex_);
  standing_ = uploads_.standing();
  std::erase_if(on_the_way_, [this](TableId table) { return !uploads_.has(table); });
  for (const Kept& kept : kept_) {
    on_the_way_.insert(kept.snapshot.table);
  }
}

// Nothing: not all that it would say is in the log.
std::optional<Manifest> Builder::make_manifest() {
  const std::scoped_lock lock(mutex_);
  if (!publisher_.is_publishing() || !publisher_.is_all_appended()) {
    return std::nullopt;
  }
  const ChainBegin& at = publisher_.published();
  Manifest manifest{.begin = at, .snapshots = {}};
  for (const auto& [number, table] : at.tables) {
    const auto found = uploads_.standing().find(number);
    if (found == uploads_.standing().end()) {
      continue;
    }
    Snapshot& snapshot = found->second;
    if (table.version == 0 || snapshot.version != table.version) {
      continue;  // it will be replaced
    }
    // It is as good as one of now.
    if (table.changed_at <= snapshot.seq && table.digest == snapshot.digest) {
      snapshot.seq = at.seq;
      snapshot.tag = at.tag;
      tails_[number] = appended_bytes_;
    }
    manifest.snapshots.push_back(snapshot);
  }
  return manifest;
}

// Of these snapshots, those that somebody has taken a piece of from Redis, or of the log behind
// them, are of no use.
Builder::Done Builder::forget_lost(Redis& redis, Manifest& manifest) {
  std::vector<Snapshot> whole;
  for (Snapshot& snapshot : manifest.snapshots) {
    const std::string next = id_of(snapshot.seq + 1);
    const bool has_log = snapshot.seq == manifest.begin.seq ||
                         !TRY(accepted(redis.ask({"XRANGE", keys_.log, next, next}))).list.empty();
    if (has_log && TRY(uploads_.is_whole(redis, snapshot))) {
      whole.push_back(std::move(snapshot));
    } else {
      settings_.on_trouble(
          "a piece of a snapshot, or of the log after it, has disappeared from Redis (possibly "
          "evicted): publishing a new one");
      uploads_.forget(snapshot.table);
    }
  }
  manifest.snapshots = std::move(whole);
  show_uploads();
  return {};
}

// Of a Redis that lets it be asked.
Builder::Done Builder::see_policy(Redis& redis) {
  const resp::Value info = TRY(redis.ask({"INFO", "memory"}));
  std::string policy = eviction_policy(info.text);
  if (policy != eviction_policy_ && !policy.empty()) {
    settings_.on_trouble(
        "Redis may evict the fleet's snapshots and its log: its maxmemory-policy is " + policy +
        "; set noeviction, or give the fleet its own Redis");
  }
  eviction_policy_ = std::move(policy);
  return {};
}

Builder::Done Builder::renew_manifest(Redis& redis) {
  TRY(see_policy(redis));
  auto manifest = make_manifest();
  if (!manifest) {
    return {};
  }
  TRY(forget_lost(redis, *manifest));
  std::uint64_t oldest = manifest->begin.seq;
  for (const Snapshot& snapshot : manifest->snapshots) {
    oldest = std::min(oldest, snapshot.seq);
  }
  const Meta now = TRY(run_script(redis,
                                  manifest_script(),
                                  {keys_.meta, keys_.log, keys_.manifest},
                                  {std::to_string(manifest->begin.epoch),
                                   signed_manifest(*manifest, settings_.key),
                                   id_of(std::min(oldest, trims_to_))}));
  if (now.epoch_number() != manifest->begin.epoch) {
    return {};  // append() sees it
  }
  manifest_at_ = settings_.clock();
  oldest_.emplace_back(manifest_at_, oldest);
  for (; manifest_at_ - oldest_.front().first >= kLogStays; oldest_.pop_front()) {
    trims_to_ = oldest_.front().second;
  }
  return uploads_.stands(redis);
}

// Those that the manifest names stay, whoever has made it.
Builder::Done Builder::tidy_files(Redis& redis) {
  const source::TimePoint now = settings_.clock();
  if (!files_ || now - tidied_at_ < kManifestEvery) {
    return {};
  }
  tidied_at_ = now;
  if (!is_publishing()) {
    const resp::Value bytes = TRY(accepted(redis.ask({"GET", keys_.manifest})));
    uploads_.adopt(read_manifest(bytes.text, settings_.keys).value_or(Manifest{}));
    show_uploads();
  }
  files_->tidy(uploads_.names(), now);
  return {};
}

void Builder::give_up_publishing() {
  uploads_.give_up();
  uploads_.adopt({});
  chain_.reset();
  seen_ = {};
  seen_at_ = settings_.clock();
  const std::scoped_lock lock(mutex_);
  publisher_.fenced();
  is_woken_ = is_awaited_ = false;
  kept_.clear();
  cuts_.clear();
  tails_.clear();
  on_the_way_.clear();
}

// --- while another one does ---

Builder::Done Builder::read_log(Redis& redis) {
  if (!chain_) {
    const resp::Value bytes = TRY(accepted(redis.ask({"GET", keys_.manifest})));
    auto manifest = read_manifest(bytes.text, settings_.keys);
    if (!manifest) {
      return {};
    }
    uploads_.adopt(*manifest);
    show_uploads();
    chain_ = std::make_unique<Chain>(std::move(manifest->begin), settings_.keys);
  }
  const std::string after = "(" + id_of(chain_->at().seq);
  const resp::Value read =
      TRY(accepted(redis.ask({"XRANGE", keys_.log, after, "+", "COUNT", kEntriesAtOnce})));
  for (const std::string_view bytes : entries_of(read)) {
    if (!chain_->take(bytes)) {
      chain_.reset();
      return {};
    }
  }
  const std::scoped_lock lock(mutex_);
  publisher_.follow(chain_->at());
  return {};
}

Builder::Done Builder::follow(Redis& redis) {
  const Meta now = TRY(meta(redis));
  TRY(read_log(redis));
  const source::TimePoint at = settings_.clock();
  if (now != seen_ || seen_at_ == source::TimePoint()) {
    seen_ = now;
    seen_at_ = at;
  }
  if (!is_proving()) {
    become("does not know the log position of its database");
    return {};
  }
  if (!now.epoch.empty() && at - seen_at_ < kTakesOverAfter) {
    become("another builder publishes");
    return {};
  }
  const bool is_there =
      chain_ && chain_->at().seq == now.seq_number() && chain_->at().tag == now.tag;
  bool can_take_over = false;
  {
    const std::scoped_lock lock(mutex_);
    can_take_over = is_there && publisher_.can_take_over();
  }
  if (can_take_over) {
    return take_over(redis, now);
  }
  if (!now.epoch.empty() && at - seen_at_ < kBeginsAnewAfter) {
    become("no builder publishes");
    return {};
  }
  return begin_anew(redis, now);
}

// With the snapshots that there are by now.
Builder::Done Builder::take_over(Redis& redis, const Meta& seen) {
  const resp::Value bytes = TRY(accepted(redis.ask({"GET", keys_.manifest})));
  const auto manifest = read_manifest(bytes.text, settings_.keys);
  const bool is_of_this_log = manifest && manifest->begin.epoch == chain_->at().epoch &&
                              manifest->begin.seq <= chain_->at().seq;
  if (is_of_this_log) {
    uploads_.adopt(*manifest);
    show_uploads();
  }
  const std::uint64_t epoch = seen.epoch_number() + 1;
  const Meta now = TRY(run_script(redis,
                                  take_over_script(),
                                  {keys_.meta},
                                  {seen.epoch, seen.seq, seen.tag, std::to_string(epoch)}));
  if (now.epoch_number() != epoch || now.tag != seen.tag) {
    return {};
  }
  become("has taken over");
  oldest_.clear();
  trims_to_ = 0;
  const std::scoped_lock lock(mutex_);
  if (!publisher_.can_take_over()) {  // it has moved on in between, and cannot go back
    return {};
  }
  publisher_.take_over(epoch);
  return {};
}

Builder::Done Builder::begin_anew(Redis& redis, const Meta& seen) {
  const std::uint64_t epoch = seen.epoch_number() + 1;
  constexpr std::uint64_t kSeqMost = std::uint64_t{1} << 60U;  // what is beyond nobody has counted
  std::uint64_t seq = std::min(seen.seq_number(), kSeqMost) + 1;
  {
    const std::scoped_lock lock(mutex_);
    if (!publisher_.can_begin()) {
      become("is waiting for its source");
      return {};
    }
    seq = std::max(seq, publisher_.published().seq + 1);
  }
  const std::string tag = hash_of(random_bytes(kHashBytes));
  const Meta now = TRY(run_script(
      redis,
      begin_script(),
      {keys_.meta, keys_.log, keys_.manifest},
      {seen.epoch, seen.seq, seen.tag, std::to_string(epoch), std::to_string(seq), tag}));
  if (now.tag != tag) {
    return {};
  }
  become("has started a new log");
  uploads_.give_up();
  TRY(uploads_.forget_all(redis));
  show_uploads();
  manifest_at_ = {};
  oldest_.clear();
  trims_to_ = 0;
  const std::scoped_lock lock(mutex_);
  if (publisher_.can_begin()) {
    publisher_.begin(epoch, seq, tag);
  }
  return {};
}

std::expected<std::unique_ptr<source::Publication>, std::string> make_publication(
    const app::Publishing& made) {
  const config::Fleet& fleet = made.settings.fleet;
  auto key = TRY(SigningKey::load(fleet.signing_key_file));
  auto keys = TRY(VerifyingKeys::load(fleet.public_key_files));
  auto builder = std::make_unique<Builder>(Builder::Settings{
      .name = made.settings.name,
      .prefix = fleet.prefix,
      .kind = std::string(made.kind.name),
      .key = std::move(key),
      .keys = std::move(keys),
      .redis = made.redis,
      .snapshots = fleet.snapshots == config::Snapshots::http ? made.storage : nullptr,
      .clock = made.clock,
      .canary = fleet.canary,
      .want_proof = [&questions = made.questions] { questions.want(); },
      .serves_strict = [&questions = made.questions] { return questions.serves_strict(); },
      .on_trouble = [&observer = made.observer, name = made.settings.name](
                        const std::string& what) { observer.on_trouble(name, what); },
      .on_change =
          [&log = made.log, name = made.settings.name](const std::string& what) {
            log.info("fleet", {{"source", name}, {"what", what}});
          }});
  builder->start();
  return builder;
}

}  // namespace cuckooguard::fleet
