#include "stream/seen_changes.h"

#include <algorithm>

#include "text/little_endian.h"

namespace cuckooguard::source::stream {
namespace {

using debezium::Change;
using debezium::Connector;
using debezium::Position;

// What rows of a snapshot can be compared by: PostgreSQL's have no commit before them.
auto reached(const Position& position) {
  auto place = position.place;
  if (position.connector == Connector::postgresql) {
    place[0] = 0;
  }
  return place;
}

}  // namespace

SeenChanges::Kind SeenChanges::add(const Change& change) {
  if (!change.position) {
    return Kind::unknown;
  }
  const Position& position = *change.position;
  const std::uint64_t digest = digest_of(change, position);
  if (last_ && why_incomparable(last_->origin, *change.origin)) {
    return Kind::unknown;
  }
  const bool is_before_snapshot = position.connector == Connector::postgresql &&
                                  position.place[0] < snapshot_lsn_ &&
                                  position.place[1] < snapshot_lsn_;
  const bool is_behind = (!last_ || last_->position < position) && !is_before_snapshot;
  if (!is_behind) {
    if (was_seen(digest)) {
      return Kind::again;
    }
    const bool is_all_of_place_here = of_place_ < most_;
    if (is_before_snapshot || last_->position != position || !is_all_of_place_here) {
      return Kind::unknown;
    }
  }
  of_place_ = last_ && last_->position == position ? of_place_ + 1 : 1;
  if (is_behind) {
    last_ = {.origin = *change.origin, .position = position};
  }
  digests_.push_back(digest);
  if (digests_.size() > most_) {
    digests_.pop_front();
  }
  next_ = digests_.size();
  return Kind::fresh;
}

bool SeenChanges::snapshot_at(const Change& row) {
  if (!row.position) {
    return true;
  }
  const bool is_known = last_ && !why_incomparable(last_->origin, *row.origin);
  const bool is_behind = is_known && reached(*row.position) < reached(last_->position);
  if (!is_known || is_behind) {
    forget();
  }
  if (!last_ || last_->position < *row.position) {
    last_ = {.origin = *row.origin, .position = *row.position};
    of_place_ = 0;
  }
  if (row.position->connector == Connector::postgresql) {
    snapshot_lsn_ = row.position->place[1];
  }
  next_ = digests_.size();
  return !is_behind;
}

void SeenChanges::put(std::string& out) const {
  const std::size_t kept = std::min(digests_.size(), kKeptMax);
  text::put_text(out, last_ ? last_->text() : "");
  text::put(out, std::uint64_t{of_place_ > kept ? most_ : of_place_});
  text::put(out, snapshot_lsn_);
  text::put(out, std::uint64_t{kept});
  for (std::size_t i = digests_.size() - kept; i < digests_.size(); ++i) {
    text::put(out, digests_[i]);
  }
}

bool SeenChanges::take(text::LittleEndianCursor& from) {
  forget();
  const std::string_view last = from.take_text();
  last_ = debezium::Place::parse(last);
  of_place_ = from.take<std::uint64_t>();
  snapshot_lsn_ = from.take<std::uint64_t>();
  const auto kept = from.take<std::uint64_t>();
  if (last_.has_value() == last.empty() || kept > kKeptMax) {
    return false;
  }
  for (std::uint64_t i = 0; i < kept && from.ok(); ++i) {
    digests_.push_back(from.take<std::uint64_t>());
  }
  next_ = digests_.size();
  return from.at_end();
}

void SeenChanges::forget() {
  last_.reset();
  snapshot_lsn_ = 0;
  digests_.clear();
  of_place_ = 0;
  next_ = 0;
}

std::uint64_t SeenChanges::digest_of(const Change& change, const Position& position) {
  bytes_.clear();
  bytes_ += static_cast<char>(change.op);
  for (const std::uint64_t part : position.place) {
    text::put(bytes_, part);
  }
  text::put_text(bytes_, change.source_ms);  // in a log that begins again it is another
  text::put_text(bytes_, change.name.table);
  text::put_text(bytes_, change.name.schema);
  text::put_text(bytes_, change.key_json);
  for (const debezium::Value& value : change.after) {
    bytes_ += static_cast<char>(value.state);
    text::put_text(bytes_, value.text);
  }
  return hash_(bytes_);
}

// They come again in their order: mostly it is the next one.
bool SeenChanges::was_seen(std::uint64_t digest) {
  if (next_ < digests_.size() && digests_[next_] == digest) {
    ++next_;
    return true;
  }
  const auto found = std::find(digests_.rbegin(), digests_.rend(), digest);
  if (found == digests_.rend()) {
    return false;
  }
  next_ = static_cast<std::size_t>(digests_.rend() - found);
  return true;
}

}  // namespace cuckooguard::source::stream
