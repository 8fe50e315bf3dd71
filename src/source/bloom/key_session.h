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
#include "source/source_kind.h"

namespace cuckooguard::source {

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

}  // namespace cuckooguard::source
