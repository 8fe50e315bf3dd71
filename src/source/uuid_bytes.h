// A UUID in the 16 bytes in which databases keep it, and its text, as keys have it
// (keyspace/canonical_text.h).
//
//   plain     in the order of the text
//   swapped   as UUID_TO_BIN(uuid, 1) of MySQL has them: the third group, the second, the first,
//             and the rest
//
// Threads: free functions without state.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "config/sources.h"
#include "keyspace/key_template.h"

namespace cuckooguard::source {

inline constexpr std::size_t kUuidBytes = 16;
inline constexpr std::size_t kUuidTextBytes = 36;

// `bytes`: kUuidBytes at most; a log leaves out zeros at the end.
std::string_view write_uuid(std::string_view bytes,
                            config::UuidOrder order,
                            std::span<char, kUuidTextBytes> text);
// The bytes in hexadecimal, as SQL has them: X'...'. Of what is no such text none.
std::string hex_of_uuid(std::string_view text, config::UuidOrder order);

// Why a column of so many bytes is not for this placeholder; nothing: it may be.
std::optional<std::string> why_not_text(const keyspace::Placeholder& placeholder);

}  // namespace cuckooguard::source
