#include "app/tls_sides.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <ranges>
#include <utility>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <openssl/crypto.h>

#include "io/clock.h"

namespace cuckooguard::app {

TlsSides::TlsSides(log::EventLog& log)
    : log_(log),
      on_client_failure_(
          [&log](const std::string& why) { log.warning("client_tls_failed", {{"why", why}}); }),
      on_upstream_failure_(
          [&log](const std::string& why) { log.warning("upstream_tls_failed", {{"why", why}}); }) {}

std::vector<TlsSides::Side> TlsSides::sides_of(const config::Config& config) {
  const auto files = [](std::initializer_list<std::string> names) {
    std::vector<std::string> all(names);
    std::erase(all, "");
    return all;
  };
  std::vector<Side> sides;
  for (std::size_t i = 0; i < config.listen.size(); ++i) {
    if (const auto& tls = config.listen[i].tls) {
      sides.push_back({.setting = "listen.tls",
                       .slot = i,
                       .certificate = tls->cert,
                       .files = files({tls->cert, tls->key, tls->client_ca}),
                       .read = [tls = *tls] { return io::TlsCredentials::load(tls); }});
    }
  }
  if (const auto& tls = config.upstream.tls) {
    sides.push_back({.setting = "upstream.tls",
                     .slot = config.listen.size(),
                     .certificate = tls->cert,
                     .files = files({tls->cert, tls->key, tls->ca}),
                     .read = [tls = *tls] { return io::TlsCredentials::load(tls); }});
  }
  return sides;
}

std::string TlsSides::read(Side& side) {
  side.stamps.clear();
  for (const std::string& file : side.files) {
    side.stamps.push_back(source::stamp_of_path(file));
  }
  auto loaded = side.read();
  if (!loaded) {
    return side.setting + ": " + loaded.error();
  }
  side.credentials = std::move(*loaded);
  return {};
}

std::vector<std::string> TlsSides::load(const config::Config& config) {
  std::vector<std::string> errors;
  std::vector<Side> sides = sides_of(config);
  for (Side& side : sides) {
    if (std::string error = read(side); !error.empty()) {
      errors.push_back(std::move(error));
    }
  }
  if (!errors.empty()) {
    return errors;
  }
  const std::lock_guard lock(mutex_);
  ++loads_;
  sides_ = std::move(sides);
  clients_.resize(config.listen.size());
  for (std::size_t i = 0; i <= clients_.size(); ++i) {
    const auto side = std::ranges::find(sides_, i, &Side::slot);
    slot(i).set(side == sides_.end() ? nullptr : side->credentials);
  }
  for (const Side& side : sides_) {
    warn_of(side);
  }
  return errors;
}

void TlsSides::keep_library_at_exit() {
  (void)::OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, nullptr);
}

void TlsSides::look() {
  const auto look = std::make_shared<Look>();
  {
    const std::lock_guard lock(mutex_);
    look->load = loads_;
    look->sides = sides_;
  }
  (void)thread_.post(
      [look] {
        for (Side& side : look->sides) {
          const auto has_changed = [&side](std::size_t i) {
            return source::stamp_of_path(side.files[i]) != side.stamps[i];
          };
          side.is_read_again =
              std::ranges::any_of(std::views::iota(std::size_t{0}, side.files.size()), has_changed);
          if (side.is_read_again) {
            side.error = read(side);
          }
        }
      },
      [this, look] { take(*look); });
}

void TlsSides::take(const Look& look) {
  const std::lock_guard lock(mutex_);
  if (look.load != loads_) {  // a reload has read them since
    return;
  }
  sides_ = look.sides;
  for (Side& side : sides_) {
    if (!std::exchange(side.is_read_again, false)) {
      continue;
    }
    if (side.error.empty()) {
      slot(side.slot).set(side.credentials);
      log_.info("tls_loaded", {{"setting", side.setting}, {"certificate", side.certificate}});
      warn_of(side);
    } else {
      log_.warning("tls_warning",
                   {{"why", side.error + "; the previously loaded files stay in use"}});
    }
  }
  warn_of_ends();
}

io::TlsSlot& TlsSides::slot(std::size_t number) {
  return number < clients_.size() ? clients_[number] : upstream_;
}

void TlsSides::warn_of(const Side& side) {
  for (const std::string& warning : side.credentials->warnings()) {
    log_.warning("tls_warning", {{"why", side.setting + ": " + warning}});
  }
}

// Once per step and certificate.
void TlsSides::warn_of_ends() {
  const auto now = std::chrono::floor<std::chrono::seconds>(io::wall_time());
  for (const Side& side : sides_) {
    const auto& validity = side.credentials->validity();
    if (!validity) {
      continue;
    }
    const std::chrono::seconds left = validity->until - now;
    const std::chrono::seconds life = validity->until - validity->from;
    const auto steps = std::ranges::count_if(
        std::array{std::min<std::chrono::seconds>(life / 5, std::chrono::days(7)),
                   std::min<std::chrono::seconds>(life / 20, std::chrono::days(1)),
                   std::chrono::seconds(0)},
        [left](std::chrono::seconds step) { return left <= step; });
    Warned& warned = warned_[side.certificate];
    if (warned.until != validity->until) {
      warned = {.until = validity->until};
    }
    if (steps > std::exchange(warned.steps, steps)) {
      log_.warning(
          "certificate_ends",
          {{"setting", side.setting},
           {"certificate", side.certificate},
           {"expires",
            fmt::format("{:%Y-%m-%dT%H:%M:%SZ}",
                        fmt::gmtime(std::chrono::system_clock::to_time_t(validity->until)))},
           {"seconds_left", left.count()}});
    }
  }
}

std::vector<views::Certificate> TlsSides::certificates() const {
  const std::lock_guard lock(mutex_);
  std::vector<views::Certificate> all;
  for (const Side& side : sides_) {
    const auto& validity = side.credentials->validity();
    if (validity && std::ranges::count(all, side.certificate, &views::Certificate::file) == 0) {
      all.push_back({.file = side.certificate, .expires_at = validity->until});
    }
  }
  return all;
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
