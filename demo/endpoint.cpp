#include "endpoint.h"

#include <charconv>
#include <stdexcept>

namespace cuckooguard::demo {

Endpoint Endpoint::parse(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  Endpoint endpoint;
  if (colon != std::string_view::npos && colon > 0) {
    const std::string_view digits = text.substr(colon + 1);
    const char* const begin = digits.data();
    const char* const end = begin + digits.size();
    const auto [stopped, error] = std::from_chars(begin, end, endpoint.port);
    if (error == std::errc() && stopped == end && endpoint.port != 0) {
      endpoint.host = text.substr(0, colon);
      return endpoint;
    }
  }
  throw std::invalid_argument("\"" + std::string(text) + "\" is no address: write host:port");
}

}  // namespace cuckooguard::demo
