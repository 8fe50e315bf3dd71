#include "stream/seen_changes.h"

#include <algorithm>

#include "text/little_endian.h"

namespace cuckooguard::source::stream {
namespace {

using debezium::Change;
using debezium::Connector;
using debezium::Position;

// Whether two changes were committed together: their order is then the stream's.
bool are_of_one_commit(const Position& one, const Position& other) {
  const bool is_in_two_parts =
      one.connector != Connector::postgresql && one.connector != Connector::oracle;
  return one.place[0] == other.place[0] && (!is_in_two_parts || one.place[1] == other.place[1]);
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
  const bool is_behind = !last_ || last_->position < position;
  if (!is_behind) {
    if (was_seen(digest)) {
      return Kind::again;
    }
    const bool is_all_of_commit_here = of_commit_ < most_;
    if (!are_of_one_commit(last_->position, position) || !is_all_of_commit_here) {
      return Kind::unknown;
    }
  }
  of_commit_ = last_ && are_of_one_commit(last_->position, position) ? of_commit_ + 1 : 1;
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

void SeenChanges::snapshot_at(const Change& row) {
  if (!row.position) {
    return;
  }
  if (last_ && why_incomparable(last_->origin, *row.origin)) {
    forget();
  }
  if (!last_ || last_->position < *row.position) {
    last_ = {.origin = *row.origin, .position = *row.position};
    of_commit_ = 0;
  }
  next_ = digests_.size();
}

void SeenChanges::forget() {
  last_.reset();
  digests_.clear();
  of_commit_ = 0;
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
  for (const auto row : {change.before, change.after}) {
    for (const debezium::Value& value : row) {
      bytes_ += static_cast<char>(value.state);
      text::put_text(bytes_, value.text);
    }
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
