#include "cli/tls_sides.h"

#include <utility>

#include <spdlog/spdlog.h>

namespace cuckooguard::cli {

TlsSides::Side::Side(std::string_view name)
    : on_failure([this, name](const std::string& why) {
        const std::uint64_t failures = ++untold;
        const io::TimePoint now = io::now_since_boot();
        io::TimePoint last = told;
        const bool is_due = last == io::TimePoint{} || now - last >= kTellEvery;
        if (is_due && told.compare_exchange_strong(last, now)) {
          untold -= failures;
          spdlog::warn("event=tls_failed with={} times={} why={}", name, failures, why);
        }
      }) {}

std::vector<std::string> TlsSides::load(const config::Config& config) {
  std::vector<std::string> errors;
  std::vector<std::string> warnings;
  const auto take = [&](std::string_view setting, io::TlsCredentials::Loaded loaded) {
    if (!loaded) {
      errors.push_back(std::string(setting) + ": " + loaded.error());
      return std::shared_ptr<const io::TlsCredentials>();
    }
    for (const std::string& warning : (*loaded)->warnings()) {
      warnings.push_back(std::string(setting) + ": " + warning);
    }
    return std::move(*loaded);
  };
  std::shared_ptr<const io::TlsCredentials> of_clients;
  std::shared_ptr<const io::TlsCredentials> of_upstream;
  if (config.listen_tls) {
    of_clients = take("listen.tls", io::TlsCredentials::load(*config.listen_tls));
  }
  if (config.upstream.tls) {
    of_upstream = take("upstream.tls",
                       io::TlsCredentials::load(*config.upstream.tls, config.upstream.address));
  }
  if (errors.empty()) {
    if (of_clients || of_upstream) {
      spdlog::info("event=tls clients={} upstream={}",
                   of_clients ? "on" : "off",
                   of_upstream ? "on" : "off");
    }
    clients_.credentials.set(std::move(of_clients));
    upstream_.credentials.set(std::move(of_upstream));
    for (const std::string& warning : warnings) {
      spdlog::warn("event=tls_warning why={}", warning);
    }
  }
  return errors;
}

void TlsSides::encrypt_connects(io::AsioLoop& loop) {
  loop.encrypt_connects(upstream_.credentials, upstream_.on_failure);
}

std::unique_ptr<io::Transport> TlsSides::accepted(io::Loop& loop,
                                                  std::unique_ptr<io::Transport> client) const {
  const auto credentials = clients_.credentials.get();
  if (!credentials) {
    return client;
  }
  return io::TlsTransport::accepted(loop, std::move(client), *credentials, clients_.on_failure);
}

}  // namespace cuckooguard::cli
