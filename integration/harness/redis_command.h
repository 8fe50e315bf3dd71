// Commands and replies as bytes, for the tests' own use; written here anew, so that a mistake of
// the product's writer is not repeated.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

namespace cuckooguard::harness {

// *2\r\n$3\r\nGET\r\n$1\r\na\r\n
std::string command(std::span<const std::string_view> arguments);
std::string command(std::initializer_list<std::string_view> arguments);

std::string bulk(std::string_view text);  // $3\r\nabc\r\n

inline constexpr std::string_view kNil = "$-1\r\n";
inline constexpr std::string_view kOk = "+OK\r\n";
inline constexpr std::string_view kPong = "+PONG\r\n";

// What INFO, or GUARD.INFO, says of a field; empty if it is not there.
std::string info_field(std::string_view info, std::string_view field);
// What INFO commandstats says of a command; `name` in lower case.
std::uint64_t calls_in(std::string_view info, std::string_view name);

// How often it is there.
std::size_t count_in(std::string_view text, std::string_view part);

// For a failure's message: printable, not too long.
std::string shown(std::string_view bytes);

}  // namespace cuckooguard::harness
