// Bytes in hexadecimal, in small letters.
//
// Threads: any. Errors: nothing, if it is not two digits for each byte; digits may be capitals.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace cuckooguard::text {

void append_hex(std::string& out, unsigned char byte);
std::string hex_of(std::string_view bytes);
std::optional<std::string> bytes_of_hex(std::string_view hex);

}  // namespace cuckooguard::text
