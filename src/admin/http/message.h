// One HTTP request and its response as values: all that the pages see of HTTP. http/server.h
// turns bytes into them.
//
// Threads: plain values. Lifetimes: a Request views the connection's buffer.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/clock.h"

namespace cuckooguard::http {

struct Request {
  std::string_view method{};         // GET, as it was sent
  std::string_view target{};         // path and query, as they were sent
  std::string_view authorization{};  // empty: no such header
  std::string_view body{};
  std::string_view if_none_match{};  // empty: no such header
  std::string_view host{};           // the same
  std::string_view origin{};         // the same
  io::TimePoint since{};             // when it had come
};

inline constexpr std::string_view kJson = "application/json";
inline constexpr std::string_view kPlainText = "text/plain; charset=utf-8";

struct Response {
  unsigned status = 200;
  std::string body{};
  std::string_view content_type = kJson;
  std::string_view allow{};      // methods, with 405
  std::string_view challenge{};  // WWW-Authenticate, with 401
  std::string_view etag{};       // else nobody may keep it
  std::string_view content_security_policy{};
  bool is_to_come = false;  // there is none yet: ask again in a moment, with the same request
};

inline constexpr unsigned kNotModified = 304;  // never with a body

// `error` is a name for programs, `message` a sentence for people; neither has bytes of the request
// in it.
Response refusal(unsigned status, std::string_view error, std::string_view message);

// The target of a request, taken apart as RFC 3986 has it. Bytes that should have been
// percent-encoded and are not stand for themselves: gateways hand on what they were sent.
//
// Threads: any. Lifetimes: a Target views its text.
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
