#include "filter/absent_reads.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace cuckooguard::filter {
namespace {

using Word = std::atomic_ref<std::uint64_t>;

// In place of a hash.
constexpr std::uint64_t kNothing = 0;
constexpr std::uint64_t kBeingWritten = 1;

// Of the byte before a key's bytes: its length, which has six bits, and whether that is all of it.
constexpr unsigned kCutOff = 0x80;
constexpr unsigned kLength = 0x3f;

constexpr unsigned kKindBits = 2;

}  // namespace

// As in a seqlock, with the hash for its number: who reads the same one before and behind the rest
// has read what belongs to it. Of two that write at once the second one lets it be.
void AbsentReads::add(std::uint64_t hash,
                      TimePoint read_at,
                      std::string_view key,
                      Kind kind) noexcept {
  const auto place = place_of(hash);
  std::uint64_t before = Word(place[0]).load(std::memory_order_relaxed);
  if (before == kBeingWritten ||
      !Word(place[0]).compare_exchange_strong(before, kBeingWritten, std::memory_order_relaxed)) {
    return;
  }
  std::array<std::uint64_t, kWords> read{};
  const auto time = static_cast<std::uint64_t>(read_at.time_since_epoch().count());
  read[1] = time << kKindBits | static_cast<std::uint64_t>(kind);
  auto* const bytes = reinterpret_cast<unsigned char*>(&read[kKeyAt]);
  const std::size_t size = std::min(key.size(), kKeyBytes);
  bytes[0] = static_cast<unsigned char>(size | (size < key.size() ? kCutOff : 0U));
  std::memcpy(bytes + 1, key.data(), size);
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
  const std::size_t count = std::min(hashes.size(), kCommits - waiting_);
  if (count == 0 || !has_reads_.load(std::memory_order_relaxed)) {
    return;
  }
  const std::uint64_t epoch = epochs.advance();
  for (const std::uint64_t hash : hashes.first(count)) {
    commits_.at((first_ + waiting_) % kCommits) = {.hash = hash, .epoch = epoch, .times = times};
    ++waiting_;
  }
}

void AbsentReads::look_at_waiting(const Epochs& epochs, TimePoint proven) {
  std::uint64_t passed = 0;  // rows of one transaction have one number
  while (waiting_ != 0) {
    const Commit& commit = commits_.at(first_);
    if (commit.epoch != passed && !epochs.passed(commit.epoch)) {
      return;
    }
    passed = commit.epoch;
    auto read = commit.is_gone ? std::nullopt : find(commit.hash);
    if (read && read->at >= proven) {
      return;
    }
    if (read) {
      take_out(commit.hash);  // a row comes once
      judge(*std::move(read), commit.times);
    }
    first_ = (first_ + 1) % kCommits;
    --waiting_;
  }
}

std::optional<AbsentReads::Read> AbsentReads::find(std::uint64_t hash) const {
  const auto place = place_of(hash);
  if (Word(place[0]).load(std::memory_order_acquire) != hash) {
    return std::nullopt;
  }
  std::array<std::uint64_t, kWords> read{};
  for (std::size_t i = 1; i < kWords; ++i) {
    read.at(i) = Word(place[i]).load(std::memory_order_acquire);
  }
  if (Word(place[0]).load(std::memory_order_relaxed) != hash) {
    return std::nullopt;
  }
  const auto* const bytes = reinterpret_cast<const char*>(&read[kKeyAt]);
  const auto length = static_cast<unsigned char>(bytes[0]);
  return Read{
      .at = TimePoint(TimePoint::duration(static_cast<TimePoint::rep>(read[1] >> kKindBits))),
      .kind = static_cast<Kind>(read[1] & ((1U << kKindBits) - 1)),
      .key = std::string(bytes + 1, std::min<std::size_t>(length & kLength, kKeyBytes)),
      .is_key_whole = (length & kCutOff) == 0};
}

void AbsentReads::take_out(std::uint64_t hash) const noexcept {
  std::uint64_t same = hash;
  Word(place_of(hash)[0]).compare_exchange_strong(same, kNothing, std::memory_order_relaxed);
}

void AbsentReads::judge(Read read, const CommitTimes& times) {
  const std::scoped_lock lock(mutex_);
  const bool is_hidden = read.at >= times.by;
  if (!is_hidden && read.at < times.since) {
    findings_.before_commit += times.since - read.at <= kOld ? 1 : 0;
    return;
  }
  if (read.kind == Kind::would_wait) {
    return;  // its proof would have come from a question that shows the row
  }
  if (!is_hidden) {
    ++findings_.at_commit;
    return;
  }
  ++(read.kind == Kind::proof ? findings_.hidden_in_spite_of_proof : findings_.hidden_by_lag);
  findings_.key = std::move(read.key);
  findings_.is_key_whole = read.is_key_whole;
  findings_.lag_least = read.at - times.by;
  findings_.lag_most = times.since == TimePoint::min()
                           ? std::nullopt
                           : std::optional<std::chrono::nanoseconds>(read.at - times.since);
}

}  // namespace cuckooguard::filter
