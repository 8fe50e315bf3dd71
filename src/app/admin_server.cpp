#include "app/admin_server.h"

#include <system_error>

#include "app/machine.h"
#include "io/clock.h"

namespace cuckooguard::app {

std::optional<std::string> refusal(const config::Admin& settings) {
  if (!settings.address || settings.token_file.empty()) {
    return std::nullopt;
  }
  const auto token = http::BearerToken(settings.token_file).read();
  return token ? std::nullopt
               : std::optional("admin: token_file " + settings.token_file + ": " + token.error());
}

AdminServer::AdminServer(const Parts& parts)
    : log_(parts.log),
      address_(parts.address),
      asks_for_token_(!parts.settings.token_file.empty()),
      guard_(parts.guarded),
      pages_({.guard = guard_,
              .reader = parts.reader,
              .process_state = parts.process_state,
              .token = http::BearerToken(parts.settings.token_file),
              .hosts = http::AllowedHosts(address_, parts.settings.hosts),
              .now = io::now_since_boot}),
      server_(address_,
              {},
              {.answer = [this](const http::Request& request) { return pages_.answer(request); },
               .on_failure =
                   [this](std::error_code error) {
                     log_.error("admin_accept_failed", {{"why", error.message()}});
                   },
               .each_second = [this] { pages_.remember(); }}) {}

void AdminServer::adopt(const guard::Guard::Parts& guarded,
                        config::Admin settings,
                        std::function<void()> done) {
  server_.post([this, guarded, next = std::move(settings), told = std::move(done)]() mutable {
    if (guard_.parts().numbering != guarded.numbering) {
      pages_.forget();
    }
    guard_.adopt(guarded);
    pages_.set_access(http::BearerToken(std::move(next.token_file)),
                      http::AllowedHosts(address_, std::move(next.hosts)));
    told();
  });
}

void AdminServer::start() {
  const std::vector<config::Address> all = server_.addresses();
  server_.start();
  for (const config::Address& bound : all) {
    log_.info("admin_listening", {{"address", bound.text()}});
    if (!asks_for_token_ && !bound.is_unix() && !is_loopback(bound)) {
      log_.warning(
          "admin_without_token",
          {{"address", bound.text()},
           {"why",
            "without a token every client that reaches this address can query which rows exist"}});
    }
  }
}

}  // namespace cuckooguard::app
