#include "app/settings_as_read.h"

#include <variant>

namespace cuckooguard::app {

SettingsAsRead::SettingsAsRead(const config::Config& config) : config_(config) {
  for (const config::Listen& listen : config.listen) {
    if (listen.tls) {
      look_at(listen.tls->cert);
      look_at(listen.tls->key);
      look_at(listen.tls->client_ca);
    }
  }
  if (const auto& tls = config.upstream.tls) {
    look_at(tls->ca);
    look_at(tls->cert);
    look_at(tls->key);
  }
  look_at(config.upstream.control.password_file);
  for (const config::Source& source : config.sources) {
    std::visit(
        [this](const auto& kind) {
          if constexpr (requires { kind.password_file; }) {
            look_at(kind.password_file);
            look_at(kind.ca_file);
          }
        },
        source.kind);
  }
  look_at(config.admin.token_file);
}

void SettingsAsRead::look_at(const std::string& path) {
  if (!path.empty()) {
    files_.push_back(source::stamp_of_path(path));
  }
}

}  // namespace cuckooguard::app
