#include "upstream/log_snapshot.h"

#include <utility>

#include "upstream/redis_reply.h"

namespace cuckooguard::upstream {
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
      plan_(std::move(plan)),
      mac_(begin_snapshot_tag(key, plan_.generation, plan_.line)),
      on_end_(std::move(on_end)) {}

void SnapshotWriter::go_on(PipelinedRedis& redis) {
  const std::uint64_t pieces = plan_.line.pieces();
  while (sent_ < pieces && sent_ - taken_ < kPiecesAhead) {
    put_piece(redis);
  }
  if (taken_ == pieces && !is_ending_) {
    is_ending_ = true;
    let_stand(redis);
  }
}

void SnapshotWriter::put_piece(PipelinedRedis& redis) {
  const std::string_view bytes =
      std::string_view(plan_.content).substr(sent_ * kPieceBytes, kPieceBytes);
  mac_.add(bytes);
  redis.send({"EVAL",
              put_piece_script(),
              "3",
              keys_.meta,
              keys_.lock,
              keys_.piece(plan_.set, sent_),
              plan_.token,
              plan_.set,
              bytes,
              kStays},
             [this, self = shared_from_this(), &redis](const Reply& reply) {
               const std::string why = why_not(*reply);
               if (is_ending_) {
                 return;
               }
               if (!why.empty()) {
                 is_ending_ = true;
                 on_end_(why);
                 return;
               }
               ++taken_;
               go_on(redis);
             });
  ++sent_;
}

void SnapshotWriter::let_stand(PipelinedRedis& redis) {
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

}  // namespace cuckooguard::upstream
