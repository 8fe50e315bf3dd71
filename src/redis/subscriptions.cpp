#include "redis/subscriptions.h"

#include <algorithm>
#include <optional>

#include "text/number.h"

namespace cuckooguard::redis {
namespace {

struct Word {
  std::string_view word;
  PubSubFrame::Kind kind;
  ChannelKind channels;
};

using enum PubSubFrame::Kind;

constexpr std::array<Word, 9> kWords{{
    {"message", message, ChannelKind::plain},
    {"pmessage", message, ChannelKind::pattern},
    {"smessage", message, ChannelKind::shard},
    {"subscribe", confirmation, ChannelKind::plain},
    {"psubscribe", confirmation, ChannelKind::pattern},
    {"ssubscribe", confirmation, ChannelKind::shard},
    {"unsubscribe", confirmation, ChannelKind::plain},
    {"punsubscribe", confirmation, ChannelKind::pattern},
    {"sunsubscribe", confirmation, ChannelKind::shard},
}};

// `head` without its first line; a first line that is not whole is all of it.
std::string_view behind_line(std::string_view head) {
  const std::size_t end = head.find("\r\n");
  return end == std::string_view::npos ? std::string_view{} : head.substr(end + 2);
}

const Word* first_word(std::string_view head) {
  const std::string_view length = behind_line(head);
  const std::string_view bytes = behind_line(length);
  if (!length.starts_with('$')) {
    return nullptr;
  }
  const std::string_view word = bytes.substr(0, bytes.find("\r\n"));
  const auto* const found = std::ranges::find(kWords, word, &Word::word);
  return found == kWords.end() ? nullptr : found;
}

// ":<count>\r\n" at the end.
std::optional<std::uint32_t> last_integer(std::string_view tail) {
  const std::size_t colon = tail.rfind(':');
  if (colon == std::string_view::npos) {
    return std::nullopt;
  }
  tail.remove_prefix(colon + 1);
  const auto count = text::take_number<std::uint32_t>(tail);
  return tail == "\r\n" ? count : std::nullopt;
}

}  // namespace

PubSubFrame parse_pubsub_frame(std::string_view head, std::string_view tail) {
  const Word* const word = first_word(head);
  if (word == nullptr) {
    return {};
  }
  if (word->kind == message) {
    return {.kind = message, .channels = word->channels};
  }
  const auto count = last_integer(tail);
  return count ? PubSubFrame{confirmation, word->channels, *count, word->word} : PubSubFrame{};
}

ChannelKind channel_kind_of(std::string_view command) {
  const auto* const found = std::ranges::find(kWords, command, &Word::word);
  return found == kWords.end() ? ChannelKind::plain : found->channels;
}

void Subscriptions::confirmed(const PubSubFrame& frame) {
  auto& own = counts_[static_cast<std::size_t>(frame.channels)];
  if (frame.channels == ChannelKind::shard) {
    own = frame.count;
    return;
  }
  const auto& other = frame.channels == ChannelKind::plain
                          ? counts_[static_cast<std::size_t>(ChannelKind::pattern)]
                          : counts_[static_cast<std::size_t>(ChannelKind::plain)];
  own = frame.count - std::min(frame.count, other);
}

}  // namespace cuckooguard::redis
