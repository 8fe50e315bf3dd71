#include "harness/admin_client.h"

#include <stdexcept>

namespace cuckooguard::harness {

std::uint16_t admin_port(const GuardProcess& guard) {
  constexpr std::string_view kTold = "event=admin_listening address=127.0.0.1:";
  const std::string log = guard.log();
  const std::size_t at = log.find(kTold);
  if (at == std::string::npos) {
    throw std::runtime_error("the guard has no admin server: " + log);
  }
  return static_cast<std::uint16_t>(std::stoi(log.substr(at + kTold.size())));
}

HttpAnswer AdminClient::ask(std::string_view method,
                            std::string_view target,
                            std::string_view headers,
                            std::string_view body) const {
  std::string request(method);
  request.append(" ").append(target).append(
      " HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n");
  request.append(headers);
  if (!body.empty()) {
    request += "Content-Length: " + std::to_string(body.size()) + "\r\n";
  }
  request.append("\r\n").append(body);
  RawClient client = connection();
  client.send(request);
  const std::string response = client.read_until_closed();
  const std::size_t end = response.find("\r\n\r\n");
  if (!response.starts_with("HTTP/1.1 ") || end == std::string::npos) {
    throw std::runtime_error("no HTTP response: " + response);
  }
  constexpr std::size_t kStatusAt = 9;
  return {.status = std::stoi(response.substr(kStatusAt)),
          .header = response.substr(0, end + 2),
          .body = response.substr(end + 4)};
}

}  // namespace cuckooguard::harness
