// The target of a request, taken apart as RFC 3986 has it. Bytes that should have been
// percent-encoded and are not stand for themselves: gateways hand on what they were sent.
//
// Threads: any. Lifetimes: a Target views its text.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cuckooguard::http {

struct Target {
  std::string_view path;                    // begins with '/'
  std::optional<std::string_view> query{};  // without '?'
};

// Absolute form, as proxies send it (RFC 9112, 3.2.2), or the path alone; nothing if it is neither.
std::optional<Target> parse_target(std::string_view text);

// What is between the slashes of a path, each decoded once: any bytes, NUL too; %2F is a slash, '+'
// is a plus. Nothing if a '%' has no two hexadecimal digits behind it: what was meant is not known.
std::optional<std::vector<std::string>> decoded_segments(std::string_view path);

// "" for a name without a value; nothing if the query does not have the name, or is none by RFC
// 3986.
std::optional<std::string> parameter(std::optional<std::string_view> query, std::string_view name);

}  // namespace cuckooguard::http
