#include <chrono>
#include <new>
#include <utility>

#include "replicated/filter_log.h"

namespace cuckooguard::replicated {

using upstream::is_error;
using upstream::text_of;

namespace {

// Empty: it was done.
std::string why_not(const redisReply& reply) {
  if (is_error(reply)) {
    return std::string(text_of(reply));
  }
  return reply.type == REDIS_REPLY_INTEGER && reply.integer == 1
             ? ""
             : "another guard is writing one, or the log was reset";
}

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

SnapshotWriter::SnapshotWriter(const LogKeys& keys,
                               const filled::LogKey& key,
                               Plan plan,
                               OnEnd on_end)
    : keys_(keys),
      plan_([&] {
        plan.line.bytes = plan.front.size() + plan.image->bytes();
        return std::move(plan);
      }()),
      mac_(plan_.line.begin_tag(key, plan_.generation)),
      on_end_(std::move(on_end)),
      content_(plan_.front) {
  mac_.add(content_);
}

void SnapshotWriter::abandon() {
  is_ending_ = true;
  plan_.image.reset();
}

void SnapshotWriter::fail(const std::string& why) {
  abandon();
  on_end_(why);
}

SnapshotWriter::Next SnapshotWriter::next() const {
  const bool has_piece =
      content_.size() >= SnapshotLine::kPieceBytes || (has_all_ && !content_.empty());
  if (!has_piece && !has_all_) {
    return Next::step;
  }
  if (has_piece) {
    return sent_ - taken_ < kPiecesAhead ? Next::piece : Next::reply;
  }
  return taken_ == sent_ ? Next::end : Next::reply;
}

bool SnapshotWriter::work(RedisClient& redis) {
  const auto until = std::chrono::steady_clock::now() + filled::kImageTurn;
  bool is_more = !is_ending_;
  while (is_more && std::chrono::steady_clock::now() < until) {
    try {
      is_more = do_next(redis);
    } catch (const std::bad_alloc&) {
      fail("not enough memory for it");
      return false;
    }
  }
  return is_more;
}

bool SnapshotWriter::do_next(RedisClient& redis) {
  switch (next()) {
    case Next::reply:
      return false;
    case Next::step:
      read_image();
      return !is_ending_;
    case Next::piece:
      put_piece(redis);
      return true;
    case Next::end:
      break;
  }
  if (sent_ != plan_.line.pieces()) {
    fail("its length differs from the announced length");
    return false;
  }
  is_ending_ = true;
  let_stand(redis);
  return false;
}

void SnapshotWriter::read_image() {
  const std::size_t before = content_.size();
  has_all_ = !plan_.image->step(content_);
  mac_.add(std::string_view(content_).substr(before));
  if (plan_.image->is_lost()) {
    fail("not enough memory for the changes since it was started");
  } else if (has_all_) {
    plan_.image.reset();
  }
}

void SnapshotWriter::put_piece(RedisClient& redis) {
  const std::string_view bytes = std::string_view(content_).substr(0, SnapshotLine::kPieceBytes);
  redis.send({"EVAL",
              put_piece_script(),
              "3",
              keys_.meta,
              keys_.lock,
              keys_.piece(plan_.set, sent_),
              plan_.token,
              plan_.set,
              bytes,
              kPieceStays,
              kLockStays},
             [this, self = shared_from_this()](const Reply& reply) {
               ++taken_;
               if (const std::string why = why_not(*reply); !why.empty() && !is_ending_) {
                 fail(why);
               }
             });
  ++sent_;
  content_.erase(0, bytes.size());
}

void SnapshotWriter::let_stand(RedisClient& redis) {
  plan_.line.tag = mac_.finish();
  redis.send({"EVAL",
              stand_script(),
              "4",
              keys_.meta,
              keys_.log,
              keys_.lock,
              keys_.pieces,
              plan_.generation,
              plan_.token,
              plan_.set,
              std::to_string(plan_.line.pieces()),
              plan_.line.text(),
              std::to_string(plan_.line.seq),
              plan_.line.id,
              plan_.entry_tag},
             [this, self = shared_from_this()](const Reply& reply) { on_end_(why_not(*reply)); });
}

}  // namespace cuckooguard::replicated
