#include "http/access.h"

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <system_error>

#include <boost/asio/ip/address.hpp>
#include <boost/beast/core/string.hpp>

#include "text/words.h"

namespace cuckooguard::http {
namespace {

constexpr std::string_view kSpace = " \t\r\n";
constexpr std::string_view kScheme = "bearer ";

bool has_scheme(std::string_view authorization) {
  return boost::beast::iequals(authorization.substr(0, kScheme.size()), kScheme);
}

// Looks at all of `given`, whatever it finds.
bool is_equal(std::string_view given, std::string_view token) {
  volatile unsigned difference = given.size() == token.size() ? 0 : 1;
  for (std::size_t i = 0; i < given.size(); ++i) {
    const auto one = static_cast<unsigned char>(given[i]);
    const auto other = static_cast<unsigned char>(token[i % token.size()]);
    difference = difference | static_cast<unsigned>(one ^ other);
  }
  return difference == 0;
}

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

BearerToken::Verdict BearerToken::judge(std::string_view authorization) const {
  if (path_.empty()) {
    return Verdict::allowed;
  }
  if (!has_scheme(authorization)) {
    return Verdict::missing;
  }
  const auto token = read();
  if (!token) {
    return Verdict::unreadable;
  }
  return is_equal(text::trimmed(authorization.substr(kScheme.size()), kSpace), *token)
             ? Verdict::allowed
             : Verdict::wrong;
}

std::expected<std::string, std::string> BearerToken::read() const {
  std::ifstream file(path_, std::ios::binary);
  std::string text(kTokenBytesMax + 1, '\0');
  if (!file || !file.read(text.data(), static_cast<std::streamsize>(text.size())).eof()) {
    return std::unexpected(file ? "it is larger than " + std::to_string(kTokenBytesMax) + " bytes"
                                : "it is unreadable: " + std::generic_category().message(errno));
  }
  const std::string_view word = text::trimmed(
      std::string_view(text).substr(0, static_cast<std::size_t>(file.gcount())), kSpace);
  if (word.empty()) {
    return std::unexpected("it is empty");
  }
  return std::string(word);
}

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
