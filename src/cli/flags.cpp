#include "cli/flags.h"

#include <CLI/CLI.hpp>

#include "config/password_file.h"
#include "config/values.h"

namespace cuckooguard::cli {
namespace {

config::Override override_of(const std::string& setting) {
  const std::size_t equals = setting.find('=');
  if (equals == std::string::npos) {
    throw CLI::ValidationError("--set", "needs KEY=VALUE, such as limits.max_clients=500");
  }
  const std::string path = setting.substr(0, equals);
  return {.flag = "--set " + path, .path = path, .value = setting.substr(equals + 1)};
}

}  // namespace

CLI::Option* ConfigFlags::add_file(CLI::App& command) {
  return command.add_option("--config", path, "The configuration, YAML; see config/minimal.yaml")
      ->type_name("FILE");
}

CLI::App& ConfigFlags::add_subcommand(CLI::App& app, const char* name, const char* what) {
  CLI::App& command = *app.add_subcommand(name, what);
  add_file(command)->required();
  add_overrides(command);
  return command;
}

void ConfigFlags::add_overrides(CLI::App& command) {
  const auto add = [&](const char* flag, const char* setting, const char* type) {
    command
        .add_option_function<std::string>(
            flag,
            [this, flag, setting](const std::string& value) {
              overrides.push_back({.flag = flag, .path = setting, .value = value});
            },
            std::string(setting) + ", instead of what the configuration says")
        ->type_name(type);
  };
  add("--listen", "listen.address", "ADDRESS");
  add("--upstream", "upstream.address", "ADDRESS");
  add("--log-level", "log.level", "LEVEL");
  command
      .add_option_function<std::vector<std::string>>(
          "--set",
          [this](const std::vector<std::string>& settings) {
            for (const std::string& setting : settings) {
              overrides.push_back(override_of(setting));
            }
          },
          "Another setting, by the path of its key: --set limits.max_clients=500")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
}

CLI::Option* add_address(CLI::App& command,
                         const char* flag,
                         std::optional<config::Address>& address,
                         const char* what) {
  return command
      .add_option_function<std::string>(
          flag,
          [flag, &address](const std::string& text) {
            const auto parsed = config::parse_address(text);
            if (!parsed) {
              throw CLI::ValidationError(flag, config::shown(text) + " " + parsed.error());
            }
            address = *parsed;
          },
          what)
      ->type_name("ADDRESS");
}

CLI::Option* TlsFlags::add(CLI::App& command, const char* key_flag) {
  CLI::Option* const flag = command.add_flag("--tls", is_tls, "Use TLS");
  const auto add_file = [&](const char* name, std::string& file, const char* what) {
    return command.add_option(name, file, what)->type_name("FILE")->needs(flag);
  };
  add_file("--cacert", tls.ca, "Whose certificates are trusted; else those of the system's");
  CLI::Option* const cert = add_file("--cert", tls.cert, "A certificate to show");
  CLI::Option* const key = add_file(key_flag, tls.key, "Its key");
  cert->needs(key);
  key->needs(cert);
  command.add_option("--sni", tls.server_name, "Name the certificate must match, if not the host")
      ->type_name("NAME")
      ->needs(flag);
  command.add_flag("!--insecure", tls.verify, "Do not verify the certificate")->needs(flag);
  return flag;
}

std::array<CLI::Option*, 2> Login::add(CLI::App& command, const char* what) {
  return {command.add_option("--user", user, what)->type_name("NAME"),
          command
              .add_option("--password-file",
                          password_file,
                          "File whose first line is the password; default: REDISCLI_AUTH")
              ->type_name("FILE")};
}

Login Login::with_environment() const {
  Login login = *this;
  login.password = config::process_environment()("REDISCLI_AUTH").value_or("");
  return login;
}

std::expected<std::vector<std::string>, std::string> Login::words() const {
  const std::string word = config::password_of(password_file, password);
  if (word.empty() && !password_file.empty()) {
    return std::unexpected(password_file + ": its first line must be the password");
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
