// A filter in the guard's own Redis.
//
// Why a bitmap may be read in pieces while others write to it. Bits are only ever set: of an item
// that was added before the reading began, and is still in the filter when it ends, each piece has
// its bits, whatever is added meanwhile. If the key is deleted or replaced in between (DEL, SET,
// RENAME), pieces are of two filters, and they may lack items
//   - of the old one that the new one has not: they are in no filter any more;
//   - of the new one that the old one had not: they came into the filter with the change, which is
//     after the reading began, and so later than what this reading proves;
// but not one that is in both. The next look sees the change (WATCH), and all is read again. This
// asks for one shape in all pieces: Redisson's is asked for before and after.
// Such a filter is a mixture all the same: it may be told to have fewer bits than either.
//
// None of this holds where an item may be in one place of the one filter and in another of the
// other: filters of several layers, cuckoo filters, and those whose shape stands among their bytes
// (Guava). Of these what is read in several parts counts only if WATCH has seen nothing done to the
// key meanwhile; it is read kAttemptsMax times for that.
//
// Threads: the source's. Errors: values. Limits: BloomKeySession's.
#pragma once

#include <cstdint>
#include <expected>
#include <initializer_list>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "bloom/origin.h"
#include "config/config.h"
#include "foreign/format.h"
#include "source/source_kind.h"

namespace cuckooguard::source {

// What is asked of Redis about one filter in it: who it is, whether the filter has changed, and the
// filter's bytes.
//
// Whether it has changed is what WATCH knows: Redis marks a connection that watches a key as soon
// as anything is done to it (a bit set, DEL, RENAME over it, expiry, FLUSHALL, SWAPDB), and CLIENT
// INFO shows the mark (`d`), which stays until the next UNWATCH. So one short command proves that
// nothing was done to it since WATCH, also behind a busy Redis. CLIENT TRACKING would say no more,
// needs RESP3 or a second connection, and hears nothing of SWAPDB.
// Where WATCH or CLIENT INFO is not to be had (a right that is missing, Redis before 6.2), a change
// cannot be told.
//
// Threads: the source's. Errors: values, of which `lost` have closed the connection.
// Limits: of text() kStringBytesMax; a dump's chunk is as large as Redis makes it.
// Source: Redis 7.0.15, multi.c touchWatchedKey, touchAllWatchedKeysInDb; networking.c
// getClientFlagsString ("d"); https://redis.io/docs/latest/commands/client-list.
class BloomKeySession {
 public:
  static constexpr std::uint64_t kStringBytesMax = std::uint64_t{512} << 20U;  // of 2^32 bits
  static constexpr std::uint64_t kChunkBytes = std::uint64_t{1} << 20U;

  using Trouble = BloomReading;  // its kind and why
  template <typename T>
  using Outcome = std::expected<T, Trouble>;

  BloomKeySession(OpenRedis open, std::string key, int db);

  bool is_open() const { return session_ != nullptr; }
  // A connection there is, to a master.
  Outcome<void> be_open();
  // From here on changes are seen, if they can be.
  Outcome<void> watch(const std::vector<std::string>& keys);
  bool sees_changes() const { return sees_changes_; }
  Outcome<bool> has_changed();  // since watch(); in doubt it has

  Outcome<resp::Value> ask(std::initializer_list<std::string_view> command);
  // All at one moment (MULTI), or nothing. What was watched is watched no more.
  Outcome<std::vector<resp::Value>> ask_at_once(
      const std::vector<std::vector<std::string>>& commands);
  // Of the key: what is shorter than a chunk at one moment, all else in pieces; `unclear` if it
  // became shorter meanwhile.
  Outcome<std::string> text(const std::stop_token& stop);

  Trouble missing() const;

 private:
  OpenRedis open_;
  std::string key_;
  int db_;
  std::unique_ptr<RedisSession> session_;
  bool sees_changes_ = false;
};

// A filter of RedisBloom's by BF.SCANDUMP or CF.SCANDUMP, of a key that others change meanwhile.
//
// Behind the last chunk the header is asked for once more. A Bloom filter's bits are only set: what
// was in one of a single layer before the dump began is in the chunks, as long as both headers are
// of one shape; counts of items may differ. The same holds if it was replaced meanwhile by another
// one of that shape, for what is in both. With several layers an item of both may be in another
// layer of the one than of the other, and a cuckoo filter moves its items about
// (formats/formats.h): of these the chunks are one filter's only if it stood still, which the
// reading says of itself (BloomReading::must_have_stood_still).
//
// One that never does so is read by one transaction, in which Redis makes all chunks at once, if it
// is no larger than kAtOnceBytesMax (a few milliseconds).
//
// Threads: the source's. Errors: values. Limits: kDumpBytesMax, kAtOnceBytesMax.

inline constexpr std::uint64_t kDumpBytesMax = std::uint64_t{4} << 30U;

inline constexpr std::uint64_t kAtOnceBytesMax = std::uint64_t{16} << 20U;

// Whether two headers of BF.SCANDUMP differ in counts of items at most.
bool have_same_layers(std::string_view header, std::string_view other);

BloomReading read_dump(BloomKeySession& session,
                       const std::string& key,
                       const foreign::Format& format,
                       const std::stop_token& stop);
BloomReading read_dump_at_once(BloomKeySession& session,
                               const std::string& key,
                               const foreign::Format& format,
                               const std::stop_token& stop);

class BloomKeyOrigin final : public BloomOrigin {
 public:
  static constexpr int kAttemptsMax = 3;

  BloomKeyOrigin(config::BloomSource settings, OpenRedis open);

  BloomLook look() override;
  BloomReading read(const std::stop_token& stop) override;
  bool only_gains_bits() const override {
    return settings_.format->kept != foreign::Format::Kept::by_cuckoo_dump;
  }

  // Where Redisson keeps the shape of its filter of this name.
  static std::string redisson_config_key(const std::string& name);

 private:
  BloomReading read_once(const std::stop_token& stop);
  std::string why_unclear() const;
  BloomReading read_bitmap(const std::stop_token& stop);
  BloomReading read_redisson(const std::stop_token& stop);

  config::BloomSource settings_;
  BloomKeySession session_;
};

}  // namespace cuckooguard::source
