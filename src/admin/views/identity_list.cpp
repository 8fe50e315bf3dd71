#include "views/identity_list.h"

#include <optional>

#include <boost/json.hpp>

namespace cuckooguard::views {
namespace {

namespace json = boost::json;

// A fraction, or a number too large to be exact, is nothing that a key has.
std::optional<std::string> text_of(const json::value& value) {
  if (value.is_string()) {
    const json::string& text = value.get_string();
    return std::string(text.data(), text.size());
  }
  if (value.is_int64()) {
    return std::to_string(value.get_int64());
  }
  if (value.is_uint64()) {
    return std::to_string(value.get_uint64());
  }
  return std::nullopt;
}

std::optional<Identity> identity_of(const json::value& element, std::size_t values) {
  Identity identity;
  const auto take = [&](const json::value& value) {
    std::optional<std::string> text = text_of(value);
    const bool is_good = text && !text->empty();
    identity.push_back(std::move(text).value_or(""));
    return is_good;
  };
  bool is_good = true;
  if (element.is_array()) {
    for (const json::value& value : element.get_array()) {
      is_good = take(value) && is_good;
    }
  } else {
    is_good = take(element);
  }
  return is_good && identity.size() == values ? std::optional(std::move(identity)) : std::nullopt;
}

std::string wanted(std::size_t values) {
  return values == 1 ? "a text that is not empty, or a whole number"
                     : "a list of " + std::to_string(values) +
                           " values, each a text that is not empty or a whole number";
}

}  // namespace

std::expected<std::vector<Identity>, std::string> parse_identities(std::string_view text,
                                                                   std::size_t values) {
  json::error_code error;
  const json::value body = json::parse({text.data(), text.size()}, error);
  if (error || !body.is_array()) {
    return std::unexpected("The body must be a JSON list of identities" +
                           (error ? ": " + error.message() : "") + ".");
  }
  const json::array& list = body.get_array();
  if (list.size() > kIdentitiesMax) {
    return std::unexpected("The list has more than " + std::to_string(kIdentitiesMax) +
                           " identities.");
  }
  std::vector<Identity> identities;
  identities.reserve(list.size());
  for (const json::value& element : list) {
    auto identity = identity_of(element, values);
    if (!identity) {
      return std::unexpected("Element " + std::to_string(identities.size()) +
                             " of the list must be " + wanted(values) + ".");
    }
    identities.push_back(*std::move(identity));
  }
  return identities;
}

}  // namespace cuckooguard::views
