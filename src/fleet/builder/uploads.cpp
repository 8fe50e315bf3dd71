#include "builder/uploads.h"

#include <algorithm>
#include <utility>

#include "text/try.h"

namespace cuckooguard::fleet {
void Uploads::add(Snapshot snapshot, std::ifstream file) {
  std::erase_if(waiting_,
                [&](const Upload& each) { return each.snapshot.table == snapshot.table; });
  waiting_.push_back({.snapshot = std::move(snapshot), .file = std::move(file)});
}

bool Uploads::has(TableId table) const {
  return std::ranges::any_of(waiting_,
                             [table](const Upload& each) { return each.snapshot.table == table; });
}

Uploads::Done Uploads::put_piece(Redis& redis, Upload& upload) {
  std::string piece(kPieceBytes, '\0');
  upload.file.read(piece.data(), static_cast<std::streamsize>(piece.size()));
  piece.resize(static_cast<std::size_t>(upload.file.gcount()));
  if (upload.file.bad() || piece.empty()) {
    return std::unexpected("cannot read the file of a snapshot");
  }
  upload.hashes += hash_of(piece);
  upload.snapshot.bytes += piece.size();
  if (upload.snapshot.is_at_builder) {
    return {};
  }
  TRY(accepted(redis.ask(
      {"SET", keys_.piece(upload.snapshot.name, upload.pieces++), piece, "EX", kPieceStays})));
  return {};
}

Uploads::Done Uploads::step(Redis& redis) {
  for (int i = 0; i < kPiecesAtOnce && !waiting_.empty(); ++i) {
    Upload& upload = waiting_.front();
    if (const Done put = put_piece(redis, upload); !put) {
      waiting_.pop_front();
      return put;
    }
    if (upload.file.peek() == std::ifstream::traits_type::eof()) {
      upload.snapshot.hash = hash_of(upload.hashes);
      standing_[upload.snapshot.table] = std::move(upload.snapshot);
      waiting_.pop_front();
    }
  }
  return {};
}

void Uploads::adopt(const Manifest& manifest) {
  standing_.clear();
  kept_ = manifest.snapshots;
  for (const Snapshot& snapshot : manifest.snapshots) {
    if (!snapshot.is_at_builder || has_file(snapshot)) {
      standing_[snapshot.table] = snapshot;
    }
  }
}

std::set<std::string> Uploads::names() const {
  std::set<std::string> names;
  for (const Upload& upload : waiting_) {
    names.insert(upload.snapshot.name);
  }
  for (const auto& [table, snapshot] : standing_) {
    names.insert(snapshot.name);
  }
  for (const Snapshot& snapshot : kept_) {
    names.insert(snapshot.name);
  }
  return names;
}

Uploads::Done Uploads::stands(Redis& redis) {
  const auto is_of = [](const auto& all, const Snapshot& snapshot) {
    return std::ranges::any_of(all,
                               [&](const Snapshot& each) { return each.name == snapshot.name; });
  };
  std::vector<Snapshot> now;
  now.reserve(standing_.size());
  for (const auto& [table, snapshot] : standing_) {
    now.push_back(snapshot);
  }
  for (const Snapshot& snapshot : now) {
    const std::uint64_t pieces = is_of(kept_, snapshot) ? 0 : pieces_of(snapshot);
    for (std::uint64_t i = 0; i < pieces; ++i) {
      TRY(accepted(redis.ask({"PERSIST", keys_.piece(snapshot.name, i)})));
    }
  }
  for (const Snapshot& snapshot : kept_) {
    const std::uint64_t pieces = is_of(now, snapshot) ? 0 : pieces_of(snapshot);
    for (std::uint64_t i = 0; i < pieces; ++i) {
      TRY(accepted(redis.ask({"EXPIRE", keys_.piece(snapshot.name, i), kOldStays})));
    }
  }
  kept_ = std::move(now);
  return {};
}

std::expected<bool, std::string> Uploads::is_whole(Redis& redis, const Snapshot& snapshot) const {
  for (std::uint64_t i = 0; i < pieces_of(snapshot); ++i) {
    const resp::Value there = TRY(accepted(redis.ask({"EXISTS", keys_.piece(snapshot.name, i)})));
    if (there.number == 0) {
      return false;
    }
  }
  return !snapshot.is_at_builder || has_file(snapshot);
}

}  // namespace cuckooguard::fleet
