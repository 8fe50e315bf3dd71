// How many subscriptions a connection has, read from Redis's own frames.
//
// SUBSCRIBE and its like are not answered one for one: Redis sends one confirmation per channel,
// and messages come unasked. In RESP2 both are plain arrays (`*3 subscribe a :1`), in RESP3 they
// are pushes (`>3 ...`).
//
//   client:  SUBSCRIBE a b              UNSUBSCRIBE
//   Redis:   subscribe a :1             unsubscribe a :1
//            subscribe b :2             unsubscribe b :0
//            message a hello
//
// Threads: its worker's. Errors: none; a frame that is none of these is `other`.
// Source: Redis 7.0.15, pubsub.c.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace cuckooguard::redis {

enum class ChannelKind : std::uint8_t { plain, pattern, shard };

struct PubSubFrame {
  enum class Kind : std::uint8_t {
    other,
    message,       // also of patterns and shards
    confirmation,  // of one channel, or that there was nothing to unsubscribe from
  };
  Kind kind = Kind::other;
  ChannelKind channels = ChannelKind::plain;
  // In a confirmation: how many subscriptions there are now, plain ones and patterns together.
  std::uint32_t count = 0;
  std::string_view command{};  // that it confirms, in lower case; static
};

// Of an array or push reply: its first bytes (kPubSubHeadBytes are enough) and its last ones
// (kPubSubTailBytes).
inline constexpr std::size_t kPubSubHeadBytes = 32;
inline constexpr std::size_t kPubSubTailBytes = 16;
PubSubFrame parse_pubsub_frame(std::string_view head, std::string_view tail);

// SUBSCRIBE, PSUBSCRIBE ...: from the command's name in lower case.
ChannelKind channel_kind_of(std::string_view command);

class Subscriptions {
 public:
  void confirmed(const PubSubFrame& frame);
  // RESET ends them all without a word.
  void clear() { counts_ = {}; }

  std::uint32_t count(ChannelKind channels) const {
    return counts_[static_cast<std::size_t>(channels)];
  }
  bool any() const { return (counts_[0] | counts_[1] | counts_[2]) != 0; }

 private:
  std::array<std::uint32_t, 3> counts_{};
};

}  // namespace cuckooguard::redis
