// Streams of Redis, as Debezium Server's Redis sink fills them.
//
// That nothing is missing is shown by counting: when its newest entry has been read, a stream has
// been given altogether (`entries-added`) what was read, and what had been taken out in front of it
// when reading began.
//
// Not shown: what a master has confirmed and lost before its replica had it
// (debezium.sink.redis.wait.enabled).
//
// Threads, errors: as in reader.h. Lifetimes: `open` outlives it. Limits: one connection for each
// stream, as they may be on several nodes.
// Source: Redis 7.0, XREAD, XINFO STREAM.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "debezium/stream_entry.h"
#include "source/source_kind.h"
#include "stream/reader.h"

namespace cuckooguard::source::stream {

class StreamReader final : public Reader {
 public:
  static constexpr std::uint64_t kEntriesMax = 4096;  // at once

  StreamReader(OpenRedis open, std::vector<std::string> streams, int db);

  std::expected<Batch, std::string> read(std::size_t channel) override;
  void begin_anew(std::size_t channel) override;
  std::expected<Channels, std::string> channels() override { return numbers_; }
  std::string place(std::size_t channel) const override;
  bool go_on_at(std::size_t channel, std::string_view place) override;

 private:
  struct Id {
    std::uint64_t milliseconds = 0;
    std::uint64_t number = 0;

    auto operator<=>(const Id&) const = default;
    std::string text() const;
    static std::optional<Id> parse(std::string_view text);
  };
  struct Channel {
    std::string stream;
    std::unique_ptr<RedisSession> session{};
    Id last{};                              // that was read
    std::uint64_t read = 0;                 // entries
    std::optional<std::uint64_t> before{};  // given to it and taken out, before the first was read
    std::uint64_t count = kEntriesMax / 16;
  };

  std::expected<resp::Value, std::string> ask(Channel& channel);
  std::expected<void, std::string> take_entries(Channel& channel, Batch& batch);
  static std::expected<void, std::string> compare(Channel& channel,
                                                  const resp::Value& info,
                                                  Batch& batch);

  OpenRedis open_;
  int db_;
  std::vector<Channel> channels_;
  Channels numbers_;
  std::vector<resp::Value> entries_;  // of the last read()
};

}  // namespace cuckooguard::source::stream
