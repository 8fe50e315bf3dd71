#include "cli/admin_server.h"

#include <system_error>

#include <spdlog/spdlog.h>

#include "io/clock.h"

namespace cuckooguard::cli {
namespace {

bool is_loopback(const config::Address& address) {
  return address.is_unix() || address.host == "localhost" || address.host == "::1" ||
         address.host.starts_with("127.");
}

}  // namespace

std::optional<std::string> refusal(const config::Admin& settings) {
  if (!settings.address || settings.token_file.empty()) {
    return std::nullopt;
  }
  const auto token = admin::BearerToken(settings.token_file).read();
  return token ? std::nullopt
               : std::optional("admin: token_file " + settings.token_file + ": " + token.error());
}

AdminServer::AdminServer(const World& world)
    : address_(world.address),
      asks_for_token_(!world.token_file.empty()),
      guard_(world.guarded),
      pages_({.guard = guard_,
              .reader = world.reader,
              .vitals = world.vitals,
              .token = admin::BearerToken(world.token_file),
              .now = io::now_since_boot}),
      server_(address_,
              {},
              {.answer = [this](const admin::Request& request) { return pages_.answer(request); },
               .on_failure =
                   [](std::error_code error) {
                     spdlog::error("event=admin_accept_failed why={}", error.message());
                   },
               .each_second = [this] { pages_.remember(); }}) {}

void AdminServer::start() {
  config::Address bound = address_;
  if (!bound.is_unix()) {
    bound.port = server_.port();
  }
  server_.start();
  spdlog::info("event=admin_listening address={}", bound.text());
  if (!asks_for_token_ && !is_loopback(bound)) {
    spdlog::warn(
        "event=admin_without_token address={} why=whoever reaches it may ask which rows exist",
        bound.text());
  }
}

}  // namespace cuckooguard::cli
