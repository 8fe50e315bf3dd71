#include "filter/absent_reads.h"

#include <algorithm>
#include <cstring>

namespace cuckooguard::filter {
namespace {

using Word = std::atomic_ref<std::uint64_t>;

}  // namespace

// As in a seqlock, with the hash for its number: who reads the same one before and behind the rest
// has read what belongs to it.
void AbsentReads::add(std::uint64_t hash,
                      TimePoint read_at,
                      std::string_view key,
                      Kind kind) noexcept {
  std::array<std::uint64_t, kWords> read{};
  const auto time = static_cast<std::uint64_t>(read_at.time_since_epoch().count());
  read[1] = time << 1U | (kind == Kind::awaited ? 1U : 0U);
  auto* const bytes = reinterpret_cast<unsigned char*>(&read[kKeyAt]);
  const std::size_t size = std::min(key.size(), kKeyBytes);
  bytes[0] = static_cast<unsigned char>(size);
  std::memcpy(bytes + 1, key.data(), size);

  const auto place = place_of(hash);
  Word(place[0]).store(0, std::memory_order_relaxed);
  for (std::size_t i = 1; i < kWords; ++i) {
    Word(place[i]).store(read.at(i), std::memory_order_release);
  }
  Word(place[0]).store(hash, std::memory_order_release);
  if (!has_reads_.load(std::memory_order_relaxed)) {
    has_reads_.store(true, std::memory_order_relaxed);
  }
}

void AbsentReads::committed(std::span<const std::uint64_t> hashes,
                            const CommitTimes& times,
                            Epochs& epochs) {
  look(epochs);
  if (hashes.empty() || !has_reads_.load(std::memory_order_relaxed)) {
    return;
  }
  const std::uint64_t epoch = epochs.advance();
  for (const std::uint64_t hash : hashes.first(std::min(hashes.size(), kCommits - waiting_))) {
    commits_.at((first_ + waiting_) % kCommits) = {.hash = hash, .epoch = epoch, .times = times};
    ++waiting_;
  }
}

void AbsentReads::look_at_waiting(const Epochs& epochs) {
  std::uint64_t passed = 0;  // rows of one transaction have one number
  while (waiting_ != 0) {
    const Commit& commit = commits_.at(first_);
    if (commit.epoch != passed && !epochs.passed(commit.epoch)) {
      return;
    }
    passed = commit.epoch;
    if (auto read = take(commit.hash)) {
      judge(*std::move(read), commit.times);
    }
    first_ = (first_ + 1) % kCommits;
    --waiting_;
  }
}

// A row comes once: what is taken is not found again.
std::optional<AbsentReads::Read> AbsentReads::take(std::uint64_t hash) const {
  const auto place = place_of(hash);
  if (Word(place[0]).load(std::memory_order_acquire) != hash) {
    return std::nullopt;
  }
  std::array<std::uint64_t, kWords> read{};
  for (std::size_t i = 1; i < kWords; ++i) {
    read.at(i) = Word(place[i]).load(std::memory_order_acquire);
  }
  if (std::uint64_t same = hash;
      !Word(place[0]).compare_exchange_strong(same, 0, std::memory_order_relaxed)) {
    return std::nullopt;
  }
  const auto* const bytes = reinterpret_cast<const char*>(&read[kKeyAt]);
  const std::size_t size = std::min<std::size_t>(static_cast<unsigned char>(bytes[0]), kKeyBytes);
  return Read{.at = TimePoint(TimePoint::duration(static_cast<TimePoint::rep>(read[1] >> 1U))),
              .kind = (read[1] & 1U) != 0 ? Kind::awaited : Kind::told,
              .key = std::string(bytes + 1, size)};
}

void AbsentReads::judge(Read read, const CommitTimes& times) {
  const std::scoped_lock lock(mutex_);
  if (read.at < times.by) {
    ++findings_.before_commit;
    return;
  }
  if (read.kind == Kind::awaited) {
    return;  // its proof would have come from a question that shows the row
  }
  ++findings_.hidden_by_lag;
  findings_.key = std::move(read.key);
  if (read.at - times.by >= findings_.lag_least) {
    findings_.lag_least = read.at - times.by;
    findings_.lag_most =
        times.since == TimePoint::min() ? std::chrono::nanoseconds::max() : read.at - times.since;
  }
}

}  // namespace cuckooguard::filter
