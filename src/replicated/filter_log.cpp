#include "replicated/filter_log.h"

#include <algorithm>
#include <cerrno>
#include <exception>
#include <system_error>
#include <utility>

#include <sys/random.h>

namespace cuckooguard::replicated {

using upstream::is_error;
using upstream::text_of;

namespace {

constexpr std::chrono::seconds kCallTimeout{2};
constexpr std::chrono::milliseconds kRetryEvery{200};
// Between rereads, or after what connecting anew does not mend.
constexpr std::chrono::milliseconds kPauseLeast{50};
constexpr std::chrono::milliseconds kPauseMost{5000};
constexpr std::chrono::seconds kCalmAfter{10};

}  // namespace

LogKeys::LogKeys(const std::string& prefix) {
  const std::string tag = "{" + prefix + "}:";
  log = tag + "log";
  meta = tag + "meta";
  lock = tag + "lock";
  pieces = tag + "snapshot:";
}

std::string_view begin_script() {
  return R"(
if redis.call('HEXISTS', KEYS[1], 'generation') == 0 then
  redis.call('DEL', KEYS[1], KEYS[2], KEYS[3])
  for set = 0, 1 do
    local i = 0
    while redis.call('UNLINK', KEYS[4] .. set .. ':' .. i) == 1 do i = i + 1 end
  end
  redis.call('HSET', KEYS[1], 'generation', ARGV[1], 'proof', ARGV[2], 'seq', 0, 'tag', '')
end
return redis.call('HMGET', KEYS[1], 'generation', 'proof', 'snapshot', 'set')
)";
}

// XADD is last: what fails before it has not been done, and if it fails itself, the number is given
// back. Before Redis 7 a script with XADD must say that its effects are what replicas get.
std::string_view append_script() {
  return R"(
if redis.replicate_commands then redis.replicate_commands() end
local meta = redis.call('HMGET', KEYS[1], 'generation', 'seq', 'tag')
if meta[1] ~= ARGV[1] then return 0 end
local seq, after = tonumber(meta[2]), tonumber(ARGV[2])
if after > seq or seq + 1 - after > tonumber(ARGV[3]) then return -1 end
redis.call('HSET', KEYS[1], 'seq', seq + 1, 'tag', ARGV[7])
local id = redis.pcall('XADD', KEYS[2], '*', 's', seq + 1, 'w', ARGV[4], 'c', ARGV[5],
                       'a', ARGV[2], 'b', ARGV[6], 't', ARGV[7])
if type(id) == 'table' and id.err then
  redis.call('HSET', KEYS[1], 'seq', seq, 'tag', meta[3])
  return id
end
return seq + 1
)";
}

std::string_view put_piece_script() {
  return R"(
if redis.call('GET', KEYS[2]) ~= ARGV[1] or redis.call('HGET', KEYS[1], 'set') == ARGV[2] then
  return 0
end
redis.call('SET', KEYS[3], ARGV[3], 'PX', ARGV[4])
redis.call('PEXPIRE', KEYS[2], ARGV[5])
return 1
)";
}

std::string_view unlock_script() {
  return "if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end";
}

std::string_view stand_script() {
  return R"(
local meta = redis.call('HMGET', KEYS[1], 'generation', 'set', 'pieces')
if meta[1] ~= ARGV[1] or meta[2] == ARGV[3] or redis.call('GET', KEYS[3]) ~= ARGV[2] then
  return 0
end
local entry = redis.call('XRANGE', KEYS[2], ARGV[7], ARGV[7])[1]
if not entry or entry[2][12] ~= ARGV[8] then return 0 end
local pieces = tonumber(ARGV[4])
for i = 0, pieces - 1 do
  if redis.call('EXISTS', KEYS[4] .. ARGV[3] .. ':' .. i) == 0 then return 0 end
end
for i = 0, pieces - 1 do redis.call('PERSIST', KEYS[4] .. ARGV[3] .. ':' .. i) end
redis.call('HSET', KEYS[1], 'snapshot', ARGV[5], 'set', ARGV[3], 'pieces', pieces,
           'snapshot_seq', ARGV[6])
redis.call('HDEL', KEYS[1], 'wanted')
redis.call('XTRIM', KEYS[2], 'MINID', ARGV[7])
if meta[2] then
  for i = 0, math.min(tonumber(meta[3]) or 0, 65536) - 1 do
    redis.call('UNLINK', KEYS[4] .. meta[2] .. ':' .. i)
  end
end
redis.call('DEL', KEYS[3])
return 1
)";
}

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
      worker_({}, tls) {}

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
  status_ = {.state = state_.value_or(State::loading),
             .why = why_,
             .generation = reader_ ? reader_->generation() : "",
             .seq = reader_ ? reader_->seq() : 0,
             .skipped = skipped_,
             .rereads = rereads_,
             .snapshot_seq = meta_.snapshot_seq,
             .snapshot_at = snapshot_at_};
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
  queue_.close("the guard is ending");
  queue_.lose("the guard is ending: it may have been done, or not");
  give_up_dumps();
}

FilterLog::Done FilterLog::step() {
  if (!appending_ || !following_) {
    return connect();
  }
  if (const Done done = see_that_keys_stay(); !done) {
    return done;
  }
  Done done = reader_ ? round() : load();
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
  is_history_proven_ = false;  // it may be another Redis's by the next time
  become(is_broken ? State::lost : failure.state, failure.why);
  if (is_cut) {
    queue_.lose("the connection to Redis was lost (" + failure.why +
                "): it may have been done, or not");
  }
  publish();
}

void FilterLog::become(State state, const std::string& why) {
  if (state == State::lost) {
    queue_.close("the filters' log in Redis cannot be used: " + why);
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

FilterLog::Done FilterLog::connect() {
  const auto redis = find_redis_(keys_.meta);
  if (!redis) {
    return std::unexpected(Failure{.state = State::loading,
                                   .why = "it is not known yet which Redis has the filters' log"});
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
    following_->give_up(worker_.loop().is_stopped() ? "the guard is ending"
                                                    : "Redis has not answered in time");
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
    following_->give_up("the filters' log is in another Redis now than the one in " +
                        place_->settings.address.text());
    return false;
  }
  return true;
}

void FilterLog::send_waiting() {
  while (state_ == State::ready && reader_ && queue_.in_flight() < kInFlightMax) {
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
  filled::Entry entry{.writer = writer_, .counter = counter, .after = reader_->seq(), .body = body};
  entry.tag = key_.tag_of(entry, reader_->generation());
  appending_->send({"EVAL",
                    append_script(),
                    "2",
                    keys_.meta,
                    keys_.log,
                    reader_->generation(),
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
                       queue_.refused(counter, "the log in Redis is not the one that is here");
                     }
                   });
}

}  // namespace cuckooguard::replicated
