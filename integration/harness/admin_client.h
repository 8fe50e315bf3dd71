// The admin server of a guard under test, in HTTP: a connection per request.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "harness/guard_process.h"
#include "harness/raw_client.h"

namespace cuckooguard::harness {

struct HttpAnswer {
  int status = 0;
  std::string header;
  std::string body;
};

// What the guard's configuration has.
inline constexpr std::string_view kAdmin = "admin: { address: \"127.0.0.1:0\" }\n";
// Where its log says that it listens.
std::uint16_t admin_port(const GuardProcess& guard);

class AdminClient {
 public:
  explicit AdminClient(std::uint16_t port) : port_(port) {}
  explicit AdminClient(const GuardProcess& guard) : port_(admin_port(guard)) {}

  // `headers`: whole lines, each with its CRLF.
  HttpAnswer get(std::string_view target, std::string_view headers = {}) const {
    return ask("GET", target, headers, {});
  }
  HttpAnswer post(std::string_view target,
                  std::string_view body,
                  std::string_view headers = {}) const {
    return ask("POST", target, headers, body);
  }
  HttpAnswer ask(std::string_view method,
                 std::string_view target,
                 std::string_view headers,
                 std::string_view body) const;
  RawClient connection() const { return RawClient::to_port(port_); }

 private:
  std::uint16_t port_;
};

}  // namespace cuckooguard::harness
