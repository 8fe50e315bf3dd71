// The body of POST /v1/check/NAMESPACE: a JSON list of identities.
//
//   ["42", 43]                     one value each: text, or a whole number
//   [["acme", 7], ["acme", 8]]     several values each, in the order of the first template's
//                                  placeholders
//
// Errors: a sentence, without bytes of the body. Limits: kIdentitiesMax; the connection's for the
//   body.
#pragma once

#include <cstddef>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

namespace cuckooguard::views {

inline constexpr std::size_t kIdentitiesMax = 1000;

using Identity = std::vector<std::string>;

// Each has `values` values, none of them empty.
std::expected<std::vector<Identity>, std::string> parse_identities(std::string_view json,
                                                                   std::size_t values);

}  // namespace cuckooguard::views
