#include "app/tls_sides.h"

#include <string_view>
#include <utility>

namespace cuckooguard::app {

TlsSides::TlsSides(log::EventLog& log)
    : log_(log),
      on_client_failure_(
          [&log](const std::string& why) { log.warning("client_tls_failed", {{"why", why}}); }),
      on_upstream_failure_(
          [&log](const std::string& why) { log.warning("upstream_tls_failed", {{"why", why}}); }) {}

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
  std::vector<std::shared_ptr<const io::TlsCredentials>> of_clients(config.listen.size());
  std::shared_ptr<const io::TlsCredentials> of_upstream;
  for (std::size_t i = 0; i < config.listen.size(); ++i) {
    if (const auto& tls = config.listen[i].tls) {
      of_clients[i] = take("listen.tls", io::TlsCredentials::load(*tls));
    }
  }
  if (config.upstream.tls) {
    of_upstream = take("upstream.tls", io::TlsCredentials::load(*config.upstream.tls));
  }
  if (errors.empty()) {
    clients_.resize(of_clients.size());
    for (std::size_t i = 0; i < of_clients.size(); ++i) {
      clients_[i].set(std::move(of_clients[i]));
    }
    upstream_.set(std::move(of_upstream));
    for (const std::string& warning : warnings) {
      log_.warning("tls_warning", {{"why", warning}});
    }
  }
  return errors;
}

void TlsSides::encrypt_connects(io::AsioLoop& loop) const {
  loop.encrypt_connects(upstream_, on_upstream_failure_);
}

std::unique_ptr<io::Transport> TlsSides::accepted(io::Loop& loop,
                                                  std::unique_ptr<io::Transport> client,
                                                  std::size_t listen) const {
  const auto credentials = clients_[listen].get();
  if (!credentials) {
    return client;
  }
  return io::TlsTransport::accepted(loop, std::move(client), *credentials, on_client_failure_);
}

}  // namespace cuckooguard::app
