// How Redis 7.0.15 takes commands out of a stream of bytes, whatever the bytes: inline, multibulk,
// empty, or refused in words. Of an authenticated connection.
//
// It shares no code with the product: a scanner's mistake must not be made twice.
// Source: Redis 7.0.15, networking.c (processInlineBuffer, processMultibulkBuffer), sds.c
// (sdssplitargs), util.c (string2ll).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cuckooguard::simulation {

enum class Parsed : std::uint8_t { incomplete, command, nothing, malformed };

struct Request {
  Parsed parsed = Parsed::incomplete;
  std::size_t consumed = 0;
  std::vector<std::string> words{};
  std::string refusal{};  // of what is malformed: the line after '-'
};

Request next_request(std::string_view input);

// As Redis reads numbers: no sign but '-', no leading zeros.
std::optional<long long> strict_number(std::string_view text);

}  // namespace cuckooguard::simulation
