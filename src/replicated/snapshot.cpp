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
             : "another guard writes one, or the log has begun anew";
}

}  // namespace

std::string SnapshotLine::text() const {
  std::string out;
  filled::put(out, seq);
  filled::put_text(out, id);
  filled::put(out, bytes);
  filled::put_text(out, tag);
  return out;
}

std::optional<SnapshotLine> SnapshotLine::read(std::string_view text) {
  filled::ByteReader reader(text);
  SnapshotLine line;
  line.seq = reader.take<std::uint64_t>();
  line.id = reader.take_text();
  line.bytes = reader.take<std::uint64_t>();
  line.tag = reader.take_text();
  const bool is_one = reader.ok() && reader.is_at_end() && line.pieces() <= kPiecesMax;
  return is_one ? std::optional(std::move(line)) : std::nullopt;
}

filled::Mac begin_snapshot_tag(const filled::LogKey& key,
                               std::string_view generation,
                               const SnapshotLine& line) {
  filled::Mac mac = key.begin("snapshot");
  mac.add_text(generation);
  mac.add_number(line.seq);
  mac.add_text(line.id);
  mac.add_number(line.bytes);
  return mac;
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
      mac_(begin_snapshot_tag(key, plan_.generation, plan_.line)),
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
  const bool has_piece = content_.size() >= kPieceBytes || (has_all_ && !content_.empty());
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
      fail("there is no memory for it");
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
    fail("it is not as long as was said");
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
    fail("there is no memory for what has changed since it was begun");
  } else if (has_all_) {
    plan_.image.reset();
  }
}

void SnapshotWriter::put_piece(RedisClient& redis) {
  const std::string_view bytes = std::string_view(content_).substr(0, kPieceBytes);
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
