#include "debezium/stream_entry.h"

#include <cstddef>
#include <optional>

namespace cuckooguard::debezium {

std::expected<Message, std::string> message_of(std::span<const std::string_view> fields,
                                               const NullWords& nulls) {
  std::optional<std::string_view> key;
  std::optional<std::string_view> value;
  if (fields.size() == 2) {
    key = fields[0];
    value = fields[1];
  } else if (fields.size() % 2 == 0) {
    for (std::size_t i = 0; i < fields.size(); i += 2) {
      std::optional<std::string_view>* const found = fields[i] == "key"     ? &key
                                                     : fields[i] == "value" ? &value
                                                                            : nullptr;
      if (found != nullptr && !*found) {
        *found = fields[i + 1];
      }
    }
  }
  if (!key || !value) {
    return std::unexpected(
        "an entry is neither in the format `extended` nor in `compact` of Debezium Server's Redis "
        "sink (debezium.sink.redis.message.format)");
  }
  const auto unless_null = [](std::string_view text, std::string_view null) {
    return text == null ? std::nullopt : std::optional(text);
  };
  return Message{.key = unless_null(*key, nulls.key), .value = unless_null(*value, nulls.value)};
}

}  // namespace cuckooguard::debezium
