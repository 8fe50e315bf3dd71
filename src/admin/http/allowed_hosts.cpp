#include "http/allowed_hosts.h"

#include <algorithm>
#include <utility>

#include <boost/asio/ip/address.hpp>
#include <boost/beast/core/string.hpp>

namespace cuckooguard::http {
namespace {

using boost::beast::iequals;

bool is_ip_address(std::string_view text) {
  boost::system::error_code error;
  boost::asio::ip::make_address(text, error);
  return !error;
}

// `name:port`, `name`, `[IPv6]:port`.
std::string_view without_port(std::string_view host) {
  if (host.starts_with('[')) {
    const std::size_t end = host.find(']');
    return end == std::string_view::npos ? host : host.substr(1, end - 1);
  }
  return host.substr(0, host.find(':'));
}

}  // namespace

AllowedHosts::AllowedHosts(const config::Address& address, std::vector<std::string> names)
    : allows_all_(address.is_unix()), names_(std::move(names)) {
  const bool is_loopback = address.host == "::1" || address.host.starts_with("127.");
  names_.push_back(is_loopback ? "localhost" : address.host);
}

bool AllowedHosts::may_ask(std::string_view host, std::string_view origin) const {
  if (!host.empty() && !allows(host)) {
    return false;
  }
  if (origin.empty()) {
    return true;
  }
  const std::string own(host);
  return !own.empty() && (iequals(origin, "http://" + own) || iequals(origin, "https://" + own));
}

bool AllowedHosts::allows(std::string_view host) const {
  const std::string_view name = without_port(host);
  return allows_all_ || is_ip_address(name) ||
         std::ranges::any_of(names_, [&](const std::string& own) { return iequals(own, name); });
}

}  // namespace cuckooguard::http
