#include "follower/follower.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>
#include <system_error>
#include <utility>

#include "filter/filter_file.h"
#include "text/number.h"
#include "text/try.h"

namespace cuckooguard::fleet {
namespace {

constexpr std::size_t kEntriesAtOnce = 64;
constexpr std::chrono::milliseconds kFetchWait{10};  // for the log, while pieces are fetched
constexpr int kFetchFailuresMax = 4;                 // in a row
constexpr const char* kNeedsBuilder =
    "its snapshots are not in Redis (fleet.snapshots: http): set `builder` of this source to the "
    "admin.address of its builders";

constexpr const char* kServesNoStrict =
    "the builder's database does not support strict reads, because it is a replica or has not been "
    "queried yet: reads in namespaces with consistency: strict pass";

using filter::State;
using source::Feed;

std::chrono::nanoseconds random_within(std::chrono::nanoseconds most) {
  std::random_device random;
  return std::chrono::nanoseconds(
      std::uniform_int_distribution<std::chrono::nanoseconds::rep>(0, most.count())(random));
}

// To a filter that no look-up sees yet.
void apply_aside(const TableChange& change, filter::CuckooFilter& filter, std::string& isolated) {
  const NetChange net(change);
  filter.insert(net.inserted);
  std::ranges::for_each(net.erased, [&filter](std::uint64_t hash) { filter.erase(hash); });
  if (!change.isolated.empty()) {
    isolated = change.isolated;
  }
}

}  // namespace

Follower::Follower(Settings settings, source::Feeds feeds, source::Clock clock)
    : settings_(std::move(settings)),
      keys_(settings_.prefix, settings_.fleet),
      feeds_(std::move(feeds)),
      clock_(std::move(clock)),
      name_(name_of_process()),
      questions_(name_) {
  settings_.asking.refuses_strict(true);  // until its builder says that it does
}

void Follower::start_asking() {
  asker_ = std::make_unique<Asker>(Asker::Settings{.source = settings_.source,
                                                   .name = name_,
                                                   .keys = keys_,
                                                   .redis = settings_.redis,
                                                   .observer = settings_.observer,
                                                   .asking = settings_.asking,
                                                   .clock = clock_},
                                   questions_);
}

Follower::Duration Follower::step(const std::stop_token& stop) {
  try {
    if (!asker_) {
      start_asking();
    }
    if (!redis_) {
      auto opened = settings_.redis(keys_.meta);
      if (!opened) {
        return lose(opened.error());
      }
      redis_ = *std::move(opened);
    }
    const auto pause = round(stop);
    if (!pause) {
      return lose(pause.error());
    }
    backoff_.succeeded();
    return *pause;
  } catch (const std::exception& trouble) {  // no memory, say
    replica_.reset();
    return lose(trouble.what());
  }
}

Follower::Duration Follower::lose(const std::string& why) {
  redis_.reset();
  load_.reset();
  status_.lost(why);
  feeds_.each(&Feed::report_if_stale, clock_());
  return backoff_.next();
}

source::SourceStatus Follower::status() const {
  source::SourceStatus status = status_.read();
  const std::scoped_lock lock(mutex_);
  status.position = shown_.position;
  status.more.push_back({.name = "fleet_role", .value = "follower"});
  status.more.push_back({.name = "fleet_name", .value = name_});
  status.more.push_back({.name = "fleet_builder", .value = shown_.builder});
  add_facts(status.more, shown_.epoch, shown_.seq, shown_.digest);
  status.more.push_back({.name = "fleet_tables_loaded", .value = shown_.loaded});
  if (const filter::Trial* const trial = trial_that_is_on()) {
    status.more.push_back({.name = "fleet_compared", .value = trial->compared.load()});
  }
  return status;
}

// For other threads.
void Follower::show() {
  const ChainBegin& at = replica_->at();
  Shown now{.position = at.position,
            .epoch = at.epoch,
            .seq = at.seq,
            .digest = digest_of(at),
            .loaded = static_cast<std::uint64_t>(std::ranges::count_if(
                numbered_, [this](const auto& table) { return has(table.first); }))};
  const std::scoped_lock lock(mutex_);
  now.builder = std::move(shown_.builder);
  shown_ = std::move(now);
}

source::Reached Follower::reached(std::string_view position) const {
  const std::scoped_lock lock(mutex_);
  const auto kind = std::ranges::find(
      settings_.kinds, std::string_view(kind_), [](const auto* each) { return each->name; });
  return kind == settings_.kinds.end() ? source::Reached::not_yet
                                       : (*kind)->reached(shown_.position, position);
}

void Follower::report_all(State state, const std::string& why) {
  feeds_.each(&Feed::report_unless_refused, state, std::string_view(why));
}

// --- rounds ---

std::expected<Follower::Duration, std::string> Follower::round(const std::stop_token& stop) {
  say_how_far();
  if (!replica_) {
    return begin();
  }
  TRY(read_log(stop));
  TRY(count_followers());
  if (replica_) {
    TRY(compare());
  }
  if (replica_) {
    TRY(load_more(stop));
    TRY(read_answer_to_own());
    feeds_.each(&Feed::report_if_stale, clock_());
  }
  return Duration::zero();
}

std::expected<Follower::Duration, std::string> Follower::begin() {
  if (const Duration pause = begin_at_ - clock_(); pause > Duration::zero()) {
    return std::min<Duration>(pause, kReadWait);
  }
  const resp::Value bytes = TRY(accepted(redis_->ask({"GET", keys_.manifest})));
  auto manifest = read_manifest(bytes.text, settings_.keys);
  if (!manifest) {
    const std::string why = bytes.text.empty()
                                ? "no builder has published `" + settings_.fleet + "` yet"
                                : "the published data of `" + settings_.fleet +
                                      "` is not signed with a key in public_key_files";
    status_.loading(why);
    report_all(State::loading, why);
    return begin_backoff_.next();
  }
  replica_ = std::make_unique<Replica>(questions_, std::move(manifest->begin), settings_.keys);
  load_.reset();
  load_at_ = clock_() + random_within(kFirstLoadWithin);
  list_tables();
  status_.following();
  return Duration::zero();
}

void Follower::say_how_far() {
  const TimePoint now = clock_();
  std::optional<Ask> ask;
  if (replica_) {
    ask = {.seq = replica_->at().seq, .lacks = std::exchange(lacks_, 0), .why = why_behind(now)};
    if (const filter::Trial* const trial = trial_that_is_on()) {
      ask->compared = trial->compared;
      ask->hidden = trial->hidden;
    }
  }
  const std::string trouble = asker_->say(std::move(ask), status_.read().proven_at);
  const bool passes_strict = !serves_strict_ && settings_.asking.must_serve_strict();
  status_.remark(!trouble.empty() ? "cannot query the builder: " + trouble
                 : passes_strict  ? kServesNoStrict
                                  : "");
}

std::string Follower::why_behind(TimePoint now) {
  for (Feed& feed : feeds_) {
    const filter::LiveFilter& live = feed.live();
    if (!live.is_fresh(now)) {
      return feed.table() + ": " + filter::state_name(live.state()) + ", " + live.why();
    }
  }
  return {};
}

std::chrono::milliseconds Follower::log_wait() const {
  if (!load_ || clock_() < load_->fetch_at) {
    return kReadWait;
  }
  return load_->fetch ? kFetchWait : std::chrono::milliseconds(1);
}

// Waits for what comes, unless there is something to load.
Follower::Done Follower::read_log(const std::stop_token& stop) {
  if (log_wait() == kReadWait) {
    asker_->rest_until(read_at_ + kReadEvery, stop);
  }
  const std::string after = id_of(replica_->at().seq);
  const std::string wait = std::to_string(log_wait().count());
  const std::string most = std::to_string(kEntriesAtOnce);
  const resp::Value read = TRY(
      accepted(redis_->ask({"XREAD", "COUNT", most, "BLOCK", wait, "STREAMS", keys_.log, after})));
  if (read.list.empty() || read.list[0].list.size() != 2) {
    return {};
  }
  const auto entries = entries_of(read.list[0].list[1]);
  read_at_ = entries.size() < kEntriesAtOnce ? clock_() : TimePoint();
  for (const std::string_view bytes : entries) {
    const auto entry = replica_->take(bytes);
    if (!entry) {
      leave(entry.error());
      return {};
    }
    apply(*entry);
    may_be_answered_ = may_be_answered_ || !entry->root.empty();
  }
  show();
  return {};
}

// Another Redis may answer by now, which has another log or the end of this one lost.
Follower::Done Follower::compare() {
  if (clock_() - compared_at_ < kCompareEvery) {
    return {};
  }
  compared_at_ = clock_();
  const resp::Value at = TRY(accepted(redis_->ask({"HMGET", keys_.meta, "seq", "tag"})));
  const auto seq =
      at.list.size() == 2 ? text::number_of<std::uint64_t>(at.list[0].text) : std::nullopt;
  if (!seq) {
    leave({.kind = Break::Kind::gap, .why = "the log does not exist any more"});
  } else if (const auto same = replica_->compare(*seq, at.list[1].text); !same) {
    leave(same.error());
  }
  return {};
}

Follower::Done Follower::count_followers() {
  if (const TimePoint now = clock_(); now - counted_at_ >= kCountEvery) {
    counted_at_ = now;
    const resp::Value count = TRY(accepted(redis_->ask({"HLEN", keys_.asks})));
    constexpr std::int64_t kMost = 1'000'000;
    settings_.asking.shared_by(
        static_cast<std::uint32_t>(std::clamp<std::int64_t>(count.number, 1, kMost)));
  }
  return {};
}

Follower::Done Follower::read_answer_to_own() {
  if (!std::exchange(may_be_answered_, false)) {
    return {};
  }
  const resp::Value bytes = TRY(accepted(redis_->ask({"HGET", keys_.answers, name_})));
  const auto answer = read_answer(bytes.text);
  if (const auto at = answer ? replica_->proven(*answer) : std::nullopt) {
    prove(*at);
  }
  return {};
}

// What is here is begun anew, and is not what a position that is told from now on covers.
void Follower::leave(const Break& why) {
  if (why.is_alarming()) {
    settings_.observer.on_trouble(settings_.source, why.why);
  }
  status_.loading(why.why);
  report_all(State::loading, why.why);
  feeds_.each(&Feed::expire);
  replica_.reset();
  here_.clear();
  load_.reset();
  begin_at_ = clock_() + begin_backoff_.next();
}

// On trial, and this one does not try it.
bool Follower::is_for_others(const TableState& table) const {
  return table.is_on_trial && trial_number(name_) >= replica_->at().trial_below;
}

const filter::Trial* Follower::trial_that_is_on() const {
  const filter::Trial* const trial = settings_.asking.trial();
  return trial != nullptr && trial->is_on ? trial : nullptr;
}

// Before anything of it is proven.
void Follower::set_trial() {
  filter::Trial* const trial = settings_.asking.trial();
  if (trial == nullptr) {
    return;
  }
  const bool is_on = std::ranges::any_of(replica_->at().tables, [this](const auto& each) {
    return each.second.version != 0 && each.second.is_on_trial && !is_for_others(each.second) &&
           feed_of(each.first) != nullptr;
  });
  if (!is_on) {
    trial->is_on = false;
  } else if (!trial->is_on) {
    trial->begin();
  }
}

void Follower::prove(TimePoint at) {
  begin_backoff_.succeeded();
  set_trial();
  for (const auto& [number, table] : replica_->at().tables) {
    Feed* const feed = feed_of(number);
    if (feed == nullptr) {
      continue;
    }
    if (is_for_others(table)) {
      feed->expire();
      feed->report(State::loading, "its table changed: other followers test the new version first");
    } else if (has(number) && table.is_ready) {
      feed->measure_growth(at);
      feed->prove(at);
    } else if (!table.is_ready) {
      feed->report(State::loading, "the builder does not know its rows: " + table.why);
    }
  }
  status_.proven(at);
  asker_->answered(at);
  settings_.asking.proven();
}

// --- tables ---

void Follower::list_tables() {
  const auto list = read_list(replica_->at().list);
  serves_strict_ = list && list->serves_strict;
  settings_.asking.serves_strict(serves_strict_);
  settings_.asking.refuses_strict(!serves_strict_);
  for (const source::Target& target : feeds_.targets()) {
    const TableList::Namespace* const names = list ? list->find(target.settings.name) : nullptr;
    const bool is_same =
        names != nullptr && names->definition == source::published_definition(target);
    if (is_same && names->is_complete) {
      feeds_.set_tables(target, names->tables);
      continue;
    }
    target.parts.set_complete(false);
    feeds_.report(target,
                  names == nullptr ? "the builder does not have this namespace"
                  : is_same
                      ? "the builder does not know which tables exist"
                      : "the builder defines this namespace with other keys, tables or conditions",
                  is_same ? State::loading : State::unsynced);
  }
  numbered_.clear();
  for (Feed& feed : feeds_) {
    numbered_[source::published_number(feed.target(), feed.table())] = &feed;
  }
  const std::scoped_lock lock(mutex_);
  kind_ = list ? list->kind : "";
  shown_.builder = list ? list->builder : "";
}

source::Feed* Follower::feed_of(TableId table) {
  const auto found = numbered_.find(table);
  return found == numbered_.end() ? nullptr : found->second;
}

// What comes to all tables before what goes from any, so that no look-up sees a row gone that has
// only moved; and a table whose changes are not told passes from here on.
void Follower::apply(const Entry& entry) {
  if (!entry.list.empty()) {
    feeds_.each(&Feed::expire);
    list_tables();
  }
  std::vector<std::pair<const TableChange*, NetChange>> here;
  for (const TableChange& change : entry.tables) {
    Feed* const feed = feed_of(change.table);
    if (feed != nullptr && has(change.table)) {
      here.emplace_back(&change, change);
    } else if (feed != nullptr) {
      feed->expire();
    }
  }
  for (const auto& [change, net] : here) {
    insert(*change, net.inserted, *feed_of(change->table));
  }
  for (const auto& [change, net] : here) {
    erase(*change, net.erased, *feed_of(change->table));
  }
}

void Follower::insert(const TableChange& change,
                      const std::vector<std::uint64_t>& hashes,
                      source::Feed& feed) {
  filter::LiveFilter& live = feed.live();
  if (!change.isolated.empty()) {
    auto rows = filter::IsolatedRows::parse(change.isolated);
    if (!rows) {
      drop(change.table, feed, "its isolated rows cannot be parsed");
      return;
    }
    live.set_isolated(*std::move(rows));
  }
  if (live.insert(hashes) == filter::InsertOutcome::full) {
    drop(change.table, feed, "its filter is full: reloading it");
  }
  feed.see_id(change.largest_id);
  feed.follow_growth();
}

void Follower::erase(const TableChange& change,
                     const std::vector<std::uint64_t>& hashes,
                     source::Feed& feed) {
  filter::LiveFilter& live = feed.live();
  std::ranges::for_each(hashes, [&live](std::uint64_t hash) { live.erase(hash); });
  if (live.writable()->digest() != change.digest && has(change.table)) {
    const std::string why = "its filter differs from the builder's";
    settings_.observer.on_trouble(settings_.source, feed.table() + ": " + why);
    drop(change.table, feed, why);
  }
}

void Follower::drop(TableId table, source::Feed& feed, const std::string& why) {
  replica_->loaded(table, 0);
  here_.erase(table);
  feed.expire();
  feed.report(State::loading, why);
}

// --- loads ---

Follower::Done Follower::load_more(const std::stop_token& stop) {
  if (!load_) {
    return choose_load();
  }
  const auto known = replica_->at().tables.find(load_->snapshot.table);
  if (known == replica_->at().tables.end() ||
      known->second.version != load_->snapshot.version) {  // it is outdated
    load_.reset();
    return {};
  }
  TRY(read_pieces(*load_));
  return load_ && load_->bytes.size() == load_->snapshot.bytes ? finish_load(stop) : Done();
}

// What is not here; and at leisure what is nearly full, or wastes room, beside what is here.
Follower::Done Follower::choose_load() {
  const TimePoint now = clock_();
  if (now < load_at_ || now - manifest_read_at_ < kManifestEvery) {
    return {};
  }
  std::vector<TableId> due;
  for (const auto& [number, table] : replica_->at().tables) {
    if (table.version != 0 && feed_of(number) != nullptr && (!has(number) || must_renew(number))) {
      due.push_back(number);
    }
  }
  if (due.empty()) {
    return {};
  }
  manifest_read_at_ = now;
  const resp::Value bytes = TRY(accepted(redis_->ask({"GET", keys_.manifest})));
  const auto manifest = read_manifest(bytes.text, settings_.keys);
  for (const TableId number : due) {
    const Snapshot* const snapshot = manifest ? manifest->find(number) : nullptr;
    if (snapshot != nullptr && snapshot->version == replica_->at().tables.at(number).version &&
        snapshot->seq <= replica_->at().seq &&
        (!has(number) || snapshot->name != here_[number].snapshot)) {
      load_ = load_of(*snapshot);
    }
    if (load_) {
      return {};
    }
  }
  return {};
}

// Nothing: it is at its builder, which is not known.
std::optional<Follower::Load> Follower::load_of(const Snapshot& snapshot) {
  auto load = kept(snapshot);
  if (!load && snapshot.is_at_builder && settings_.builder == nullptr) {
    report_unless_here(snapshot.table, kNeedsBuilder);
    return std::nullopt;
  }
  report_unless_here(snapshot.table,
                     snapshot.is_at_builder && !why_no_piece_.empty()
                         ? why_no_piece_
                         : "reading it from a snapshot");
  return load ? std::move(load) : Load{.snapshot = snapshot};
}

std::string Follower::path_of(TableId table) {
  Feed& feed = *feed_of(table);
  return settings_.storage->filter_path(
      settings_.source, feed.target().settings.name, feed.table());
}

// All of it, from the file of before; nothing: that is of another one, or is not there.
std::optional<Follower::Load> Follower::kept(const Snapshot& snapshot) {
  if (settings_.storage == nullptr) {
    return std::nullopt;
  }
  const std::string path = path_of(snapshot.table);
  std::error_code error;
  if (std::filesystem::file_size(path, error) != snapshot.bytes || error) {
    return std::nullopt;
  }
  Load load{.snapshot = snapshot, .bytes = std::string(snapshot.bytes, '\0'), .is_kept = true};
  std::ifstream file(path, std::ios::binary);
  if (!file.read(load.bytes.data(), static_cast<std::streamsize>(load.bytes.size()))) {
    return std::nullopt;
  }
  for (std::size_t at = 0; at < load.bytes.size(); at += kPieceBytes) {
    load.hashes += hash_of(std::string_view(load.bytes).substr(at, kPieceBytes));
  }
  return hash_of(load.hashes) == snapshot.hash ? std::optional(std::move(load)) : std::nullopt;
}

// As it was signed, for the next start: what is here by then is in the log. The disk is waited for
// aside.
void Follower::keep(const Load& load) {
  if (settings_.storage == nullptr || load.is_kept) {
    return;
  }
  auto written = filter::WrittenFilterFile::write(path_of(load.snapshot.table), load.bytes);
  if (!written) {
    settings_.observer.on_trouble(settings_.source, written.error().what);
    return;
  }
  keeping_ = std::async(std::launch::async,
                        [this, before = std::move(keeping_), file = *std::move(written)]() mutable {
                          if (before.valid()) {
                            before.wait();
                          }
                          if (const auto done = file.put_in_place(); !done) {
                            settings_.observer.on_trouble(settings_.source, done.error().what);
                          }
                        });
}

// After a while that differs from follower to follower.
bool Follower::must_renew(TableId table) {
  Feed& feed = *feed_of(table);
  Here& here = here_[table];
  const filter::CuckooFilter* const filter = feed.live().writable();
  if (feed.live().take_rebuild_request()) {
    here = {.renew_at = clock_()};
  } else if (filter == nullptr || !filter->stats().rebuild_needed) {
    here.renew_at.reset();
  } else if (!here.renew_at) {
    here.renew_at = clock_() + random_within(kRenewsWithin);
  }
  return here.renew_at && *here.renew_at <= clock_();
}

void Follower::report_unless_here(TableId table, const std::string& why) {
  if (!has(table)) {
    feed_of(table)->report_unless_refused(State::loading, why);
  }
}

void Follower::Load::add(std::string_view piece) {
  ++pieces;
  bytes += piece;
  hashes += hash_of(piece);
}

void Follower::give_up_load(TableId lacks) {
  lacks_ = lacks;
  load_.reset();
  load_at_ = clock_() + begin_backoff_.next();
}

// Some at a time, aside: a builder that does not answer must not hold up the log. What has come
// stays for some failures; then the manifest may name another one.
void Follower::fetch_pieces(Load& load) {
  if (!load.fetch && clock_() >= load.fetch_at) {
    const std::uint64_t left = pieces_in(load.snapshot.bytes) - load.pieces;
    load.fetch = std::make_unique<PieceFetch>(settings_.builder,
                                              load.snapshot.name,
                                              load.pieces,
                                              std::min<std::uint64_t>(left, kPiecesAtOnce));
    return;
  }
  const auto fetched = load.fetch ? load.fetch->take() : std::nullopt;
  if (!fetched) {
    return;
  }
  load.fetch.reset();
  why_no_piece_ = *fetched ? "" : "cannot fetch its snapshot: " + fetched->error().why;
  for (const std::string& piece : fetched->value_or(PieceFetch::Pieces())) {
    if (piece.size() != std::min(kPieceBytes, load.snapshot.bytes - load.bytes.size())) {
      why_no_piece_ = "cannot fetch its snapshot: a piece has the wrong length";
      break;
    }
    load.add(piece);
  }
  if (why_no_piece_.empty()) {
    fetch_backoff_.succeeded();
    load.failures = 0;
    return;
  }
  report_unless_here(load.snapshot.table, why_no_piece_);
  load.fetch_at = clock_() + fetch_backoff_.next();
  const bool is_gone = !*fetched && fetched->error().is_gone;
  if (is_gone || ++load.failures == kFetchFailuresMax) {
    give_up_load(is_gone ? load.snapshot.table : 0);
  }
}

Follower::Done Follower::read_pieces(Load& load) {
  if (load.snapshot.is_at_builder && !load.is_kept) {
    fetch_pieces(load);
    return {};
  }
  for (int i = 0; i < kPiecesAtOnce && load.bytes.size() < load.snapshot.bytes; ++i) {
    const resp::Value piece =
        TRY(accepted(redis_->ask({"GET", keys_.piece(load.snapshot.name, load.pieces)})));
    if (piece.text.empty() || piece.text.size() > kPieceBytes) {  // gone
      give_up_load(load.snapshot.table);
      return {};
    }
    load.add(piece.text);
  }
  return {};
}

Follower::Done Follower::finish_load(const std::stop_token& stop) {
  const Load load = std::exchange(load_, std::nullopt).value_or(Load{});
  Feed* const feed = feed_of(load.snapshot.table);
  if (feed == nullptr) {
    return {};
  }
  const auto refuse = [&](const std::string& why, bool is_of_no_use = true) {
    if (!has(load.snapshot.table)) {
      feed->report(State::loading, why);
    }
    lacks_ = is_of_no_use ? load.snapshot.table : 0;
    load_at_ = clock_() + begin_backoff_.next();
    return Done();
  };
  if (hash_of(load.hashes) != load.snapshot.hash) {
    settings_.observer.on_trouble(settings_.source,
                                  "a snapshot does not match the builder's signature");
    return refuse("its snapshot is damaged");
  }
  auto file = filter::parse_filter_file(std::as_bytes(std::span(load.bytes)),
                                        feed->target().parts.secret());
  if (!file) {
    return refuse(file.error().fault == filter::FilterFileFault::wrong_secret
                      ? "the builder uses a different storage.secret_file"
                      : file.error().what,
                  false);
  }
  std::string isolated = std::move(file->label.attachment);
  if (const std::string why = TRY(replay(load.snapshot, *file->filter, isolated, stop));
      !why.empty()) {
    return refuse(why);
  }
  auto rows = isolated.empty() ? filter::IsolatedRows() : filter::IsolatedRows::parse(isolated);
  if (!rows) {
    return refuse("its isolated rows cannot be parsed");
  }
  const std::uint64_t largest = replica_->at().tables.at(load.snapshot.table).largest_id;
  feed->snapshot_begins(clock_());
  feed->publish({.filter = std::move(file->filter),
                 .largest_id = largest,
                 .ids_grow = largest != 0,
                 .isolated = *std::move(rows)});
  replica_->loaded(load.snapshot.table, load.snapshot.version);
  keep(load);
  manifest_read_at_ = {};  // for the next one
  here_[load.snapshot.table] = {.snapshot = load.snapshot.name};
  return {};
}

std::expected<std::string, std::string> Follower::replay(const Snapshot& snapshot,
                                                         filter::CuckooFilter& filter,
                                                         std::string& isolated,
                                                         const std::stop_token& stop) {
  const ChainBegin& at = replica_->at();
  Chain chain(snapshot.begin(), settings_.keys);
  const std::string most = std::to_string(kEntriesAtOnce);
  while (chain.at().seq < at.seq && !stop.stop_requested()) {
    const std::string after = "(" + id_of(chain.at().seq);
    const resp::Value read =
        TRY(accepted(redis_->ask({"XRANGE", keys_.log, after, id_of(at.seq), "COUNT", most})));
    const auto entries = entries_of(read);
    if (entries.empty()) {
      return "the log after its snapshot is missing";
    }
    for (const std::string_view bytes : entries) {
      const auto entry = chain.take(bytes);
      if (!entry) {
        return "the log after its snapshot: " + entry.error().why;
      }
      for (const TableChange& change : entry->tables) {
        if (change.table == snapshot.table) {
          apply_aside(change, filter, isolated);
        }
      }
    }
  }
  const TableState& state = chain.at().tables.at(snapshot.table);
  if (chain.at().tag != at.tag || state.version != snapshot.version) {
    return "its snapshot belongs to another log";
  }
  return state.digest == filter.digest()
             ? ""
             : "its snapshot and the log after it do not match the builder's rows";
}

}  // namespace cuckooguard::fleet
