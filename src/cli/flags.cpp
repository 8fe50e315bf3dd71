#include "cli/flags.h"

#include <fmt/format.h>

#include "config/password_file.h"
#include "text/try.h"

namespace cuckooguard::cli {
namespace {

std::expected<config::Override, std::string> override_of(const std::string& setting) {
  const std::size_t equals = setting.find('=');
  if (equals == std::string::npos) {
    return std::unexpected("needs KEY=VALUE, such as limits.max_clients=500");
  }
  const std::string path = setting.substr(0, equals);
  return config::Override{
      .flag = "--set " + path, .path = path, .value = setting.substr(equals + 1)};
}

}  // namespace

Option ConfigFlags::add_file(Parser command) {
  return command.add_option(
      "--config", path, "FILE", "Configuration file (YAML); `cuckooguard init` writes one");
}

Parser ConfigFlags::add_subcommand(Parser app, const char* name, const char* what) {
  Parser command = app.add_subcommand(name, what);
  add_file(command).required();
  add_overrides(command);
  return command;
}

void ConfigFlags::add_overrides(Parser command) {
  const auto add = [&](const char* flag, const char* setting, const char* type) {
    command.add_option(
        flag,
        [this, flag, setting](const std::string& value) {
          overrides.push_back({.flag = flag, .path = setting, .value = value});
          return Taken{};
        },
        type,
        std::string("Override ") + setting);
  };
  add("--listen", "listen.address", "ADDRESS");
  add("--upstream", "upstream.address", "ADDRESS");
  add("--log-level", "log.level", "LEVEL");
  command.add_repeated(
      "--set",
      [this](const std::string& setting) -> Taken {
        overrides.push_back(TRY(override_of(setting)));
        return {};
      },
      "KEY=VALUE",
      "Override any setting by its path, such as --set limits.max_clients=500");
}

Parser SourceFlags::add(Parser command) {
  command.add_option("--config", config_path, "FILE", "Configuration file").required();
  command.add_option("--source", name, "NAME", "Source to use, if the configuration has several");
  return command;
}

std::expected<config::Config, std::string> SourceFlags::load(const config::Built& built) const {
  auto config = config::load_config(config_path, config::process_environment(), {}, built);
  if (!config) {
    return std::unexpected(config_path +
                           " is not valid; for its errors run: cuckooguard check --config " +
                           config_path);
  }
  return *std::move(config);
}

std::expected<const config::Source*, std::string> SourceFlags::choose(
    const config::Config& config,
    std::string_view what,
    bool (*fits)(const config::Source&)) const {
  const config::Source* found = nullptr;
  for (const config::Source& source : config.sources) {
    if (fits(source) && (name.empty() || source.name == name)) {
      if (found != nullptr) {
        return std::unexpected(
            fmt::format("several sources are {}; choose one with --source", what));
      }
      found = &source;
    }
  }
  if (found == nullptr) {
    return std::unexpected(name.empty() ? fmt::format("no source is {}", what)
                                        : fmt::format("{} is not a source {}", name, what));
  }
  return found;
}

Option TlsFlags::add(Parser command, const char* key_flag) {
  const Option flag = command.add_flag("--tls", is_tls, "Use TLS");
  const auto add_file = [&](const char* name, std::string& file, const char* what) {
    return command.add_option(name, file, "FILE", what).needs(flag);
  };
  add_file("--cacert", tls.ca, "CA certificates to trust (default: the system's)");
  const Option cert = add_file("--cert", tls.cert, "Client certificate");
  const Option key = add_file(key_flag, tls.key, "Key of the client certificate");
  cert.needs(key);
  key.needs(cert);
  command
      .add_option(
          "--sni", tls.server_name, "NAME", "Server name to send and verify, if not the host")
      .needs(flag);
  command.add_flag("!--insecure", tls.verify, "Do not verify the certificate").needs(flag);
  return flag;
}

std::array<Option, 2> Login::add(Parser command, const char* what) {
  return {command.add_option("--user", user, "NAME", what),
          command.add_option("--password-file",
                             password_file,
                             "FILE",
                             "File whose first line is the password (default: REDISCLI_AUTH)")};
}

Login Login::with_environment() const {
  Login login = *this;
  login.password = config::process_environment()("REDISCLI_AUTH").value_or("");
  return login;
}

std::expected<std::vector<std::string>, std::string> Login::words() const {
  const std::string word = config::password_of(password_file, password);
  if (word.empty() && !password_file.empty()) {
    return std::unexpected(password_file + ": the first line must contain the password");
  }
  if (word.empty()) {
    if (!user.empty()) {
      return std::unexpected("--user " + user +
                             " needs a password: --password-file FILE, or REDISCLI_AUTH");
    }
    return {};
  }
  return user.empty() ? std::vector<std::string>{"AUTH", word}
                      : std::vector<std::string>{"AUTH", user, word};
}

}  // namespace cuckooguard::cli
