// An HTTP request and its response as values, as the pages see them; http/server.h does the bytes.
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
  std::string_view etag{};       // empty: not to be cached
  std::string_view content_security_policy{};
  bool is_to_come = false;  // not ready: ask again in a moment, with the same request
};

inline constexpr unsigned kNotModified = 304;  // never with a body

// `error` is a name for programs, `message` a sentence for people; neither contains bytes of the
// request.
Response refusal(unsigned status, std::string_view error, std::string_view message);

// The target of a request, split as by RFC 3986. Bytes that should have been percent-encoded stand
// for themselves: gateways pass on what they were sent.
//
// Threads: any. Lifetimes: a Target views its text.
struct Target {
  std::string_view path;                    // begins with '/'
  std::optional<std::string_view> query{};  // without '?'
};

// Absolute form, as proxies send it (RFC 9112, 3.2.2), or the path alone; nothing if it is neither.
std::optional<Target> parse_target(std::string_view text);

// The segments of a path, each decoded once: any bytes, NUL too; %2F is a slash, '+' a plus.
// Nothing if a '%' lacks its two hexadecimal digits.
std::optional<std::vector<std::string>> decoded_segments(std::string_view path);

// "" for a name without a value; nothing if the query lacks the name, or violates RFC 3986.
std::optional<std::string> parameter(std::optional<std::string_view> query, std::string_view name);

}  // namespace cuckooguard::http
