// Percent-encoding (RFC 3986, 2.1) as it stands in a path: %2F is a slash, '+' is a plus.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace cuckooguard::http {

// Any bytes, NUL too. Nothing if a '%' has no two hexadecimal digits behind it: what was meant is not known.
std::optional<std::string> percent_decoded(std::string_view text);

}  // namespace cuckooguard::http
