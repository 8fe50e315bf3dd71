#include "replicated/filter_log.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <exception>
#include <iterator>
#include <new>
#include <system_error>

#include <sys/random.h>

#include "filled/dump.h"
#include "text/hex.h"
#include "text/number.h"
#include "text/try.h"

namespace cuckooguard::replicated {

using upstream::elements_of;
using upstream::error_of;
using upstream::is_error;
using upstream::text_of;
using upstream::value_of;

namespace {

constexpr std::chrono::seconds kCallTimeout{2};
constexpr std::chrono::milliseconds kRetryEvery{200};
// Between rereads, or after what connecting anew does not mend.
constexpr std::chrono::milliseconds kPauseLeast{50};
constexpr std::chrono::milliseconds kPauseMost{5000};
constexpr std::chrono::seconds kCalmAfter{10};

constexpr std::string_view kEntriesMax =
    "128";  // of a read; each is 256 KiB at most, or one change
constexpr std::size_t kEntriesInFullRead = 128;
constexpr std::string_view kBlock = "300";  // milliseconds
constexpr std::chrono::milliseconds kReplyWait{2300};
constexpr std::chrono::seconds kLoadReplyWait{10};

std::uint64_t number_of(std::string_view text) {
  return text::take_number<std::uint64_t>(text).value_or(0);
}

std::string text_at(const redisReply& reply, std::size_t place) {
  const auto elements = elements_of(reply);
  return place < elements.size() ? std::string(text_of(*elements[place])) : std::string();
}

// Of other fields, it is one that nobody with the key has written.
filled::Entry entry_of(const redisReply& fields) {
  const auto text = [&](const char* name) {
    const redisReply* const value = value_of(fields, name);
    return value == nullptr ? std::string() : std::string(text_of(*value));
  };
  return {.seq = number_of(text("s")),
          .writer = text("w"),
          .counter = number_of(text("c")),
          .after = number_of(text("a")),
          .body = text("b"),
          .tag = text("t")};
}

// In {id, fields}.
filled::Entry entry_in(const redisReply& reply) {
  const auto parts = elements_of(reply);
  return parts.size() < 2 ? filled::Entry() : entry_of(*parts[1]);
}

// Of HMGET, as round() asks.
Replica::Meta meta_of(const redisReply& reply) {
  return {.generation = text_at(reply, 0),
          .seq = number_of(text_at(reply, 1)),
          .tag = text_at(reply, 2),
          .snapshot_seq = number_of(text_at(reply, 3)),
          .set = text_at(reply, 4),
          .wants_snapshot = !text_at(reply, 5).empty()};
}

// The entries of the one stream that was asked for.
std::span<redisReply* const> entries_of(const redisReply& streams) {
  const auto all = elements_of(streams);
  const auto stream = all.empty() ? all : elements_of(*all[0]);
  return stream.size() < 2 ? std::span<redisReply* const>{} : elements_of(*stream[1]);
}

// Of a command that only a master takes. NOREPLICAS: one that is cut off from its replicas
// (min-replicas-to-write), of which another one may be the master by now. What else it may not
// write for says nothing of that.
bool tells_no_master(const redisReply& reply) {
  const std::string_view error = error_of(reply);
  return error.starts_with("READONLY ") || error.starts_with("NOREPLICAS ");
}

constexpr std::chrono::seconds kKeepUpEvery{1};
constexpr std::chrono::seconds kExpireAgain{10};  // what has not gone meanwhile
constexpr std::chrono::seconds kKeysSeenEvery{1};

// In INFO memory. Only such a policy takes keys that have no time to live, as the log's.
bool may_evict_any_key(std::string_view info) {
  return info.contains("maxmemory_policy:allkeys-") && !info.contains("\nmaxmemory:0\r");
}

}  // namespace

std::string FilterLog::random_name() {
  std::string bytes(filled::kWriterBytes, '\0');
  // So few come whole once the generator is seeded.
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    throw std::system_error(errno, std::generic_category(), "getrandom");
  }
  return bytes;
}

FilterLog::FilterLog(FindRedis find_redis,
                     Settings settings,
                     filled::Filters& filters,
                     Calls calls,
                     const io::TlsSlot* tls)
    : find_redis_(std::move(find_redis)),
      settings_(std::move(settings)),
      filters_(filters),
      calls_(std::move(calls)),
      keys_(settings_.prefix),
      key_(settings_.key),
      queue_({.changes = settings_.waiting_max,
              .bytes = settings_.waiting_bytes_max,
              .wait = settings_.change_wait}),
      worker_({}, tls),
      replica_(filters_, key_, settings_, [this](const std::string& what) { tell_trouble(what); }) {
}

FilterLog::~FilterLog() {
  worker_.stop_and_join();
}

void FilterLog::start() {
  worker_.start([this] { run(); });
}

void FilterLog::submit(std::shared_ptr<filled::Change> change) {
  if (queue_.push(std::move(change), io::now_since_boot())) {
    worker_.loop().post([] {});
  }
}

// A round from now on finds out, at once or after its kBlock; or the log is not read at all.
void FilterLog::flushed(std::shared_ptr<filled::Change> change) {
  const std::lock_guard lock(mutex_);
  flushed_.push_back({.change = std::move(change), .at = io::now_since_boot()});
}

// Those before this round.
void FilterLog::finish_flushed(TimePoint asked_at) {
  std::deque<Flushed> done;
  {
    const std::lock_guard lock(mutex_);
    while (!flushed_.empty() && flushed_.front().at < asked_at) {
      done.push_back(std::move(flushed_.front()));
      flushed_.pop_front();
    }
  }
  for (const Flushed& each : done) {
    each.change->finish({});
  }
}

bool FilterLog::is_current(TimePoint now) const noexcept {
  return now.time_since_epoch().count() < current_until_.load(std::memory_order_acquire);
}

FilterLog::Status FilterLog::status() const {
  const std::lock_guard lock(mutex_);
  FilterLog::Status status = status_;
  status.waiting = queue_.size();
  return status;
}

void FilterLog::publish() {
  const std::lock_guard lock(mutex_);
  status_.state = state_.value_or(State::loading);
  status_.why = why_;
  replica_.fill(status_);
}

void FilterLog::run() {
  const io::AsioLoop& loop = worker_.loop();
  become(State::loading, "it has not been read yet");
  while (!loop.is_stopped()) {
    Done done;
    try {
      done = step();
    } catch (const std::exception& error) {  // no memory: the filters may lack what was to be added
      forget();
      done = std::unexpected(Failure{.why = error.what()});
    }
    if (!done && !loop.is_stopped()) {
      fail(done.error());
      pump([] { return false; }, io::now_since_boot() + pause_);
    }
  }
  current_until_ = 0;
  queue_.close("the guard is shutting down");
  queue_.lose("the guard is shutting down: the change may or may not have been applied");
  finish_flushed(TimePoint::max());
  give_up_dumps();
}

Done FilterLog::step() {
  if (!appending_ || !following_) {
    return connect();
  }
  TRY(see_that_keys_stay());
  Done done = replica_.is_loaded() ? round() : load();
  if (done && state_ == State::ready) {
    done = keep_up();
  }
  publish();
  return done;
}

void FilterLog::fail(const Failure& failure) {
  const bool was_calm = state_ == State::ready && io::now_since_boot() - ready_since_ > kCalmAfter;
  const bool is_broken = is_lost();
  const bool is_cut = is_broken || !appending_ || !following_;
  if (is_cut) {
    appending_.reset();
    following_.reset();
    snapshot_.reset();
    is_snapshot_begun_ = false;
    pause_ = state_ == State::ready ? milliseconds{0} : kRetryEvery;
  } else {
    pause_ = was_calm                 ? milliseconds{0}
             : failure.has_begun_anew ? kPauseLeast
                                      : std::clamp(2 * pause_, kPauseLeast, kPauseMost);
  }
  replica_.doubt();
  finish_flushed(io::now_since_boot() - settings_.change_wait);
  become(is_broken ? State::lost : failure.state, failure.why);
  if (is_cut) {
    queue_.lose("the connection to Redis was lost (" + failure.why +
                "): the change may or may not have been applied");
  }
  publish();
}

void FilterLog::become(State state, const std::string& why) {
  if (state == State::lost) {
    queue_.close("the filters' log in Redis is unusable: " + why);
    finish_flushed(TimePoint::max());
  } else {
    queue_.open();
  }
  if (state_ == state && why_ == why) {
    return;
  }
  state_ = state;
  why_ = why;
  publish();
  if (calls_.on_state) {
    calls_.on_state(state, why);
  }
}

void FilterLog::tell_trouble(const std::string& what) {
  const TimePoint now = io::now_since_boot();
  if (calls_.on_trouble && now - trouble_told_ > FilterLog::kTroubleEvery) {
    trouble_told_ = now;
    calls_.on_trouble(what);
  }
}

Done FilterLog::connect() {
  const auto redis = find_redis_(keys_.meta);
  if (!redis) {
    return std::unexpected(
        Failure{.state = State::loading,
                .why = "the guard does not know yet which Redis holds the filters' log"});
  }
  for (auto* const each : {&following_, &appending_}) {
    auto opened = RedisClient::open(worker_.loop(), redis->settings, kCallTimeout);
    if (!opened) {
      return std::unexpected(Failure{.why = std::move(opened.error().why)});
    }
    *each = *std::move(opened);
  }
  // What was sent on another connection may arrive yet: its numbers must not come after newer ones.
  writer_ = random_name();
  counter_ = 0;
  place_ = *redis;
  return {};
}

bool FilterLog::is_lost() const {
  return (appending_ && appending_->is_lost()) || (following_ && following_->is_lost());
}

std::string FilterLog::cut() {
  if (!is_lost()) {
    following_->give_up(worker_.loop().is_stopped() ? "the guard is shutting down"
                                                    : "Redis did not respond in time");
  }
  return following_->is_lost() ? following_->why_lost() : appending_->why_lost();
}

bool FilterLog::pump(const std::function<bool()>& is_done, TimePoint until) {
  while (!is_done()) {
    if (worker_.loop().is_stopped() || is_lost()) {
      return false;
    }
    queue_.finish_overdue(io::now_since_boot());
    send_waiting();
    worker_.loop().run_one(read_images() ? TimePoint{} : until);
    if (io::now_since_boot() >= until) {
      return is_done();
    }
  }
  return true;
}

bool FilterLog::await(const Reply& reply, milliseconds wait) {
  TimePoint until = io::now_since_boot() + wait;
  while (!pump([&] { return reply != nullptr; }, until)) {
    const TimePoint quiet = following_->read_at() + kCallTimeout;
    if (worker_.loop().is_stopped() || is_lost() || quiet <= io::now_since_boot()) {
      return false;
    }
    until = quiet;
  }
  const auto redis = find_redis_(keys_.meta);
  if (place_ && (!redis || !redis->is_at(*place_))) {
    following_->give_up("the filters' log is now in a different Redis than the one in " +
                        place_->settings.address.text());
    return false;
  }
  return true;
}

void FilterLog::send_waiting() {
  while (state_ == State::ready && replica_.is_loaded() && queue_.in_flight() < kInFlightMax) {
    filled::ChangeQueue::Batch batch = queue_.next();
    if (batch.empty()) {
      return;
    }
    std::vector<filled::Operation> operations;
    for (const auto& waiting : batch) {
      operations.push_back(waiting.change->operation());
    }
    queue_.sent(++counter_, std::move(batch));
    append(counter_, filled::body_of(operations));
  }
}

void FilterLog::append(std::uint64_t counter, const std::string& body) {
  filled::Entry entry{
      .writer = writer_, .counter = counter, .after = replica_.reader().seq(), .body = body};
  entry.tag = key_.tag_of(entry, replica_.reader().generation());
  appending_->send({"EVAL",
                    append_script(),
                    "2",
                    keys_.meta,
                    keys_.log,
                    replica_.reader().generation(),
                    std::to_string(entry.after),
                    std::to_string(filled::LogReader::kWindow),
                    entry.writer,
                    std::to_string(counter),
                    entry.body,
                    entry.tag},
                   [this, counter](const Reply& reply) {
                     if (is_error(*reply)) {
                       queue_.refused(counter, "Redis: " + std::string(text_of(*reply)));
                     } else if (reply->type != REDIS_REPLY_INTEGER || reply->integer <= 0) {
                       queue_.refused(counter,
                                      "the log in Redis differs from the one in this guard");
                     }
                   });
}

// A guard that is redirected looks again for the log; while its slot moves, until it has moved.
std::unexpected<Failure> FilterLog::refused(const redisReply& error) {
  constexpr std::array<std::string_view, 4> kSentAway{"MOVED ", "ASK ", "TRYAGAIN ", "READONLY "};
  std::string why(text_of(error));
  if (std::ranges::any_of(kSentAway, [&](auto word) { return why.starts_with(word); })) {
    following_->give_up(why);
  }
  return std::unexpected(Failure{.why = std::move(why)});
}

std::shared_ptr<Reply> FilterLog::request(std::span<const std::string_view> words) {
  auto place = std::make_shared<Reply>();
  following_->send(words, [place](Reply reply) { *place = std::move(reply); });
  return place;
}

std::expected<Reply, Failure> FilterLog::ask(std::initializer_list<std::string_view> words) {
  const auto place = request(words);
  if (!await(*place, kLoadReplyWait)) {
    return std::unexpected(Failure{.why = cut()});
  }
  if (is_error(**place)) {
    return refused(**place);
  }
  return std::move(*place);
}

Done FilterLog::load() {
  const std::string mine = text::hex_of(random_name());
  const auto begun = TRY(ask({"EVAL",
                              begin_script(),
                              "4",
                              keys_.meta,
                              keys_.log,
                              keys_.lock,
                              keys_.pieces,
                              mine,
                              replica_.proof_of(mine)}));
  const std::string generation = text_at(*begun, 0);
  if (!filled::is_same_tag(text_at(*begun, 1), replica_.proof_of(generation))) {
    return std::unexpected(
        Failure{.why = "it was written with a different key or secret than this guard's; to start "
                       "over without the filters' contents: DEL \"" +
                       keys_.meta + "\""});
  }
  become(State::loading, "it is being read");
  if (const std::string line = text_at(*begun, 2); !line.empty()) {
    return load_snapshot(generation, line, text_at(*begun, 3));
  }
  replica_.begin(generation);
  return {};
}

Done FilterLog::load_snapshot(const std::string& generation,
                              std::string_view text,
                              std::string_view set) {
  const auto again = [](const char* why) {
    return std::unexpected(Failure{.state = State::loading, .why = why});
  };
  const auto line = SnapshotLine::read(text);
  if (!line) {
    return again("the reference to its snapshot was not written by a guard");
  }
  filled::Mac mac = line->begin_tag(key_, generation);
  std::string content;
  for (std::uint64_t i = 0; i < line->pieces(); ++i) {
    const auto piece = TRY(ask({"GET", keys_.piece(set, i)}));
    const std::string_view bytes = text_of(*piece);
    if (bytes.empty()) {
      ask_for_snapshot();
      return again(
          "its snapshot is incomplete: it was replaced during the read, or Redis has lost parts of "
          "it; requesting a new one from a guard that has all data");
    }
    mac.add(bytes);
    content.append(bytes);
  }
  return replica_.restore(generation, *line, content, mac.finish());
}

Done FilterLog::round() {
  const TimePoint asked_at = io::now_since_boot();
  // Changes nothing, but only a master takes it.
  const auto written = request({"HDEL", keys_.meta, "none"});
  const auto told =
      request({"HMGET", keys_.meta, "generation", "seq", "tag", "snapshot_seq", "set", "wanted"});
  const std::string unproven = replica_.id_to_prove();
  const auto last = unproven.empty() ? nullptr : request({"XRANGE", keys_.log, unproven, unproven});
  std::vector<std::string_view> read{"XREAD", "COUNT", kEntriesMax};
  if (state_ == State::ready) {  // else nobody waits until something happens
    read.insert(read.end(), {"BLOCK", kBlock});
  }
  read.insert(read.end(), {"STREAMS", keys_.log, replica_.position()});
  const auto streams = request(read);
  if (!await(*streams, kReplyWait)) {
    return std::unexpected(Failure{.why = cut()});
  }
  if (tells_no_master(**written)) {
    return refused(**written);
  }
  for (const auto& reply : {told, last, streams}) {
    if (reply && is_error(**reply)) {
      return refused(**reply);
    }
  }
  const auto is_current = follow(**told, last ? last->get() : nullptr, **streams, asked_at);
  if (!is_current) {
    return left_by(is_current.error());
  }
  if (*is_current) {
    proven(asked_at);
  }
  return {};
}

std::expected<bool, Failure> FilterLog::follow(const redisReply& told,
                                               const redisReply* last,
                                               const redisReply& streams,
                                               TimePoint asked_at) {
  const auto proof = last == nullptr ? std::span<redisReply* const>() : elements_of(*last);
  if (Done done = replica_.open(meta_of(told), proof.empty() ? "" : entry_in(*proof[0]).tag);
      !done) {
    return std::unexpected(std::move(done.error()));
  }
  const auto entries = entries_of(streams);
  for (const redisReply* const each : entries) {
    if (elements_of(*each).size() < 2) {
      continue;
    }
    const filled::Entry entry = entry_in(*each);
    std::function<void(Replica::Outcomes&)> on_outcomes;
    if (entry.writer == writer_) {
      on_outcomes = [&](Replica::Outcomes& outcomes) {
        std::ranges::move(queue_.came_back(entry.counter, outcomes), std::back_inserter(dumps_));
      };
    }
    if (Done done = replica_.take(text_at(*each, 0), entry, io::now_since_boot(), on_outcomes);
        !done) {
      return std::unexpected(std::move(done.error()));
    }
  }
  return replica_.close(asked_at, entries.size() < kEntriesInFullRead);
}

void FilterLog::proven(TimePoint asked_at) {
  current_until_.store((asked_at + settings_.max_lag).time_since_epoch().count(),
                       std::memory_order_release);
  if (state_ != State::ready) {
    ready_since_ = io::now_since_boot();
    become(State::ready, "");
  }
  finish_flushed(asked_at);
  if (generation_ != replica_.reader().generation()) {
    generation_ = replica_.reader().generation();
    if (calls_.on_new_generation) {
      calls_.on_new_generation();
    }
  }
}

// A guard that has what is missing is asked for a snapshot.
std::unexpected<Failure> FilterLog::left_by(Failure failure) {
  if (failure.is_trouble) {
    tell_trouble(failure.why);
    if (state_ != State::ready) {
      ask_for_snapshot();
    }
  }
  if (!replica_.is_loaded()) {
    forget();
  }
  return std::unexpected(std::move(failure));
}

void FilterLog::forget() {
  current_until_.store(0, std::memory_order_release);  // before the filters change
  replica_.forget();
  if (snapshot_) {
    snapshot_->abandon();  // its lock goes by itself
    snapshot_.reset();
    is_snapshot_begun_ = false;
  }
}

void FilterLog::ask_for_snapshot() {
  following_->send({"HSET", keys_.meta, "wanted", "1"}, [](const Reply&) {});
}

Done FilterLog::keep_up() {
  const TimePoint now = io::now_since_boot();
  if (now - kept_up_at_ >= kKeepUpEvery) {
    kept_up_at_ = now;
    expire(now);
  }
  const auto spread = static_cast<unsigned char>(writer_.front());
  if (const auto digest = replica_.digest_due(now, spread)) {
    append(++counter_, *digest);
  }
  begin_snapshot(now);
  const auto is_wanted = replica_.become_sure(now);
  if (!is_wanted) {
    return left_by(is_wanted.error());
  }
  if (*is_wanted) {
    ask_for_snapshot();
  }
  return {};
}

// What was acknowledged must not be forgotten because Redis needs room. A Redis that does not let
// the guard ask is believed.
Done FilterLog::see_that_keys_stay() {
  const TimePoint now = io::now_since_boot();
  if (keys_seen_at_ != TimePoint{} && now - keys_seen_at_ < kKeysSeenEvery) {
    return {};
  }
  const auto place = request({"INFO", "memory"});
  if (!await(*place, std::chrono::seconds(2))) {
    return std::unexpected(Failure{.why = cut()});
  }
  if (may_evict_any_key(text_of(**place))) {
    current_until_.store(0, std::memory_order_release);
    keys_seen_at_ = {};
    const std::string why =
        "Redis may evict the filters' log: its maxmemory-policy is allkeys-*; set noeviction or "
        "volatile-*, or give the filters their own Redis";
    tell_trouble(why);
    return std::unexpected(Failure{.why = why});
  }
  keys_seen_at_ = now;
  return {};
}

// Each guard may; whose comes first has done it.
void FilterLog::expire(TimePoint now) {
  if (now - expiring_since_ >= kExpireAgain) {
    expiring_since_ = now;
    expiring_.clear();
  }
  for (filled::Operation& drop :
       filters_.expired(static_cast<std::uint64_t>(io::wall_time().time_since_epoch().count()))) {
    std::uint64_t& submitted = expiring_[drop.filter];
    if (std::exchange(submitted, drop.incarnation) != drop.incarnation) {
      submit(std::make_shared<filled::Change>(std::move(drop)));
    }
  }
}

void FilterLog::begin_snapshot(TimePoint now) {
  // What a round has told that was asked before the last one stood is not so any more.
  if (is_snapshot_begun_ || replica_.asked_at() < snapshot_over_at_ ||
      now - snapshot_begun_at_ < settings_.snapshot_every || !replica_.is_snapshot_due()) {
    return;
  }
  is_snapshot_begun_ = true;
  snapshot_begun_at_ = now;
  const std::string token = random_name();
  appending_->send({"SET", keys_.lock, token, "NX", "PX", SnapshotWriter::kLockStays},
                   [this, token](const Reply& reply) {
                     if (text_of(*reply) != "OK") {  // another guard has it, or may have it
                       is_snapshot_begun_ = false;
                     } else if (replica_.is_loaded() && !replica_.is_unsure()) {
                       write_snapshot(token);
                     } else {
                       end_snapshot(token, "this guard does not know the contents of the filters");
                     }
                   });
}

void FilterLog::end_snapshot(const std::string& token, const std::string& why_not) {
  snapshot_.reset();
  is_snapshot_begun_ = false;
  snapshot_over_at_ = io::now_since_boot();
  if (!why_not.empty()) {  // the log grows on; it is tried again
    replica_.miss_snapshot();
    tell_trouble("could not write a snapshot of the filters: " + why_not);
    appending_->send({"EVAL", unlock_script(), "1", keys_.lock, token}, [](const Reply&) {});
  }
}

void FilterLog::write_snapshot(const std::string& token) {
  SnapshotWriter::Plan plan;
  plan.generation = replica_.reader().generation();
  plan.token = token;
  plan.set = replica_.meta().set == "0" ? "1" : "0";
  plan.entry_tag = replica_.reader().last_tag();
  plan.line.seq = replica_.reader().seq();
  plan.line.id = replica_.applied_id();
  plan.front = replica_.reader().state();
  try {
    plan.image = filters_.image();
  } catch (const std::exception& error) {  // no memory: another guard may have it
    end_snapshot(token, error.what());
    return;
  }
  snapshot_ = std::make_shared<SnapshotWriter>(
      keys_, key_, std::move(plan), [this, token](const std::string& why_not) {
        end_snapshot(token, why_not);
      });
  if (snapshot_->line().pieces() > SnapshotLine::kPiecesMax) {
    snapshot_->abandon();
    end_snapshot(token, "the filters are too large");
  }
}

bool FilterLog::read_images() {
  bool is_more = false;
  if (const auto snapshot = snapshot_) {
    is_more = snapshot->work(*appending_);
  }
  if (!dumps_.empty()) {
    take_turn_of_dump();
  }
  return is_more || !dumps_.empty();
}

void FilterLog::take_turn_of_dump() {
  filled::UnfinishedDump& dump = dumps_.front();
  filled::Outcome outcome;
  try {
    dump.bytes.reserve(dump.image->bytes());
    if (filled::step_for_turn(*dump.image, dump.bytes)) {
      return;
    }
    outcome.blob = std::move(dump.bytes);
  } catch (const std::bad_alloc&) {
    dump.image->lose();
  }
  dump.change->finish(dump.image->is_lost() ? filled::no_memory_for_dump() : std::move(outcome));
  dumps_.pop_front();
}

void FilterLog::give_up_dumps() {
  for (filled::UnfinishedDump& dump : std::exchange(dumps_, {})) {
    dump.change->finish(
        {.status = filled::Outcome::Status::unknown, .why = "the guard is shutting down"});
  }
}

}  // namespace cuckooguard::replicated
