#include "http/message.h"

#include <algorithm>

#include <boost/json.hpp>
#include <boost/url/grammar/all_chars.hpp>
#include <boost/url/grammar/delim_rule.hpp>
#include <boost/url/grammar/lut_chars.hpp>
#include <boost/url/grammar/parse.hpp>
#include <boost/url/grammar/range_rule.hpp>
#include <boost/url/grammar/tuple_rule.hpp>
#include <boost/url/parse_query.hpp>
#include <boost/url/rfc/pct_encoded_rule.hpp>

namespace cuckooguard::http {
namespace {

namespace urls = boost::urls;
namespace grammar = urls::grammar;

constexpr auto kSegment = urls::pct_encoded_rule(grammar::lut_chars(grammar::all_chars) - "/%");
constexpr auto kNextSegment =
    grammar::tuple_rule(grammar::squelch(grammar::delim_rule('/')), kSegment);

}  // namespace

Response refusal(unsigned status, std::string_view error, std::string_view message) {
  const boost::json::object body{{"error", error}, {"message", message}};
  return {.status = status, .body = boost::json::serialize(body) + "\n"};
}

std::optional<Target> parse_target(std::string_view text) {
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (text.starts_with(scheme)) {
      text.remove_prefix(scheme.size());
      text.remove_prefix(std::min(text.find('/'), text.size()));
    }
  }
  if (!text.starts_with('/')) {
    return std::nullopt;
  }
  const std::size_t mark = text.find('?');
  return mark == std::string_view::npos ? Target{.path = text}
                                        : Target{text.substr(0, mark), text.substr(mark + 1)};
}

std::optional<std::vector<std::string>> decoded_segments(std::string_view path) {
  const auto parsed = grammar::parse(path, grammar::range_rule(kSegment, kNextSegment));
  if (!parsed) {
    return std::nullopt;
  }
  std::vector<std::string> segments;
  for (const urls::pct_string_view segment : *parsed) {
    segments.push_back(segment.decode());
  }
  return segments;
}

std::optional<std::string> parameter(std::optional<std::string_view> query, std::string_view name) {
  // Boost 1.81 takes the length of what it is given by its NUL (parse_query.ipp).
  const std::string text(query.value_or(""));
  const auto parameters = urls::parse_query(text);
  if (!parameters) {
    return std::nullopt;
  }
  const auto found = parameters->find(name);
  return found == parameters->end() ? std::nullopt : std::optional(found->value.decode());
}

}  // namespace cuckooguard::http
