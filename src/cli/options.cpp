#include "cli/options.h"

#include <string_view>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "config/nearest.h"
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

// A flag for one setting of the configuration, which is above its file.
void add_override(
    CLI::App& app, Serve& serve, const char* flag, const char* path, const char* type) {
  app.add_option_function<std::string>(
         flag,
         [&serve, flag, path](const std::string& value) {
           serve.overrides.push_back({.flag = flag, .path = path, .value = value});
         },
         std::string(path) + ", instead of what the configuration says")
      ->type_name(type);
}

void add_serve(CLI::App& app, Serve& serve) {
  app.add_option("--config", serve.config_path, "The configuration, YAML; see config/minimal.yaml")
      ->type_name("FILE");
  auto* const check = app.add_flag(
      "--check-config",
      serve.check_config,
      "Check the configuration and exit: 0 if it is valid, 78 with every error otherwise");
  auto* const print =
      app.add_flag("--print-config",
                   serve.print_config,
                   "Print every effective setting and its origin, without secrets, and exit");
  auto* const plan = app.add_flag(
      "--plan",
      serve.plan,
      "Count the rows of every source, print the memory their filters will need, and exit");
  app.add_flag("--strict-start",
               serve.strict_start,
               "End with 78 if a source cannot be read as it is; else its namespaces pass, and it "
               "is tried again");
  print->excludes(check);
  plan->excludes(check)->excludes(print);
  add_override(app, serve, "--listen", "listen.address", "ADDRESS");
  add_override(app, serve, "--upstream", "upstream.address", "ADDRESS");
  add_override(app, serve, "--log-level", "log.level", "LEVEL");
  app.add_option_function<std::vector<std::string>>(
         "--set",
         [&serve](const std::vector<std::string>& settings) {
           for (const std::string& setting : settings) {
             serve.overrides.push_back(override_of(setting));
           }
         },
         "Another setting, by the path of its key: --set limits.max_clients=500")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
}

CLI::App& add_inspect(CLI::App& filter, InspectFilter& inspect) {
  CLI::App& command =
      *filter.add_subcommand("inspect", "Verify a filter file and print what it says of itself");
  command.add_option("file", inspect.path, "The filter file")->required();
  return command;
}

CLI::App& add_query(CLI::App& filter, QueryFilter& query) {
  CLI::App& command = *filter.add_subcommand(
      "query", "What a filter file says of Redis keys: one line each, `absent` or `may exist`");
  command.add_option("file", query.path, "The filter file")->required();
  command.add_option("--secret", query.secret_path, "The secret the file was hashed with")
      ->required()
      ->type_name("FILE");
  command.add_option("--template", query.key_template, "The namespace's, such as user:{id:uint64}")
      ->required()
      ->type_name("TEMPLATE");
  command.add_option("keys", query.keys, "Redis keys")->required();
  return command;
}

CLI::App& add_triggers(CLI::App& app, PrintTriggers& triggers) {
  CLI::App& command = *app.add_subcommand(
      "triggers",
      "Print the SQL that makes a SQLite database log its changes, for sources with `follow: "
      "triggers`; it changes nothing itself");
  command.add_option("--config", triggers.config_path, "The configuration")
      ->required()
      ->type_name("FILE");
  command.add_option("--source", triggers.source, "The source, if there are several")
      ->type_name("NAME");
  return command;
}

config::Parsed<std::chrono::milliseconds> parse_timeout(std::string_view text) {
  return config::bounded(config::parse_duration,
                         std::chrono::milliseconds(1),
                         std::chrono::milliseconds(std::chrono::minutes(10)),
                         "must be from 1ms to 10m")(text);
}

// A value as the configuration has it, by the configuration's own reader.
template <typename Value>
CLI::Option* add_value(CLI::App& command,
                       const char* name,
                       Value& value,
                       config::Parsed<Value> (*parse)(std::string_view),
                       const char* what) {
  return command.add_option_function<std::string>(
      name,
      [&value, parse](const std::string& text) {
        const auto parsed = parse(text);
        if (!parsed) {
          throw CLI::ValidationError(config::shown(text) + " " + parsed.error());
        }
        value = *parsed;
      },
      what);
}

// By the names that redis-cli has for them.
CLI::Option* add_tls(CLI::App& command, TlsFlags& flags) {
  CLI::Option* const tls = command.add_flag("--tls", flags.is_tls, "Use TLS");
  const auto add_file = [&](const char* name, std::string& file, const char* what) {
    return command.add_option(name, file, what)->type_name("FILE")->needs(tls);
  };
  add_file("--cacert", flags.tls.ca, "Whose certificates are trusted; else those of the system's");
  CLI::Option* const cert = add_file("--cert", flags.tls.cert, "A certificate to show");
  CLI::Option* const key = add_file("--key", flags.tls.key, "Its key");
  cert->needs(key);
  key->needs(cert);
  command
      .add_option(
          "--sni", flags.tls.server_name, "Name the certificate must match, if not the host")
      ->type_name("NAME")
      ->needs(tls);
  command.add_flag("!--insecure", flags.tls.verify, "Do not verify the certificate")->needs(tls);
  return tls;
}

CLI::App& add_explain(CLI::App& app, Explain& explain) {
  CLI::App& command = *app.add_subcommand(
      "explain",
      "Say what a Redis key is to the guard: its namespace and identity, or why it has none");
  command.add_option("key", explain.key, "The Redis key")->required()->type_name("KEY");
  auto* const config =
      command
          .add_option(
              "--config", explain.config_path, "Explain by the templates of this configuration")
          ->type_name("FILE");
  auto* const address =
      command
          .add_option_function<std::string>(
              "--address",
              [&explain](const std::string& text) {
                const auto parsed = config::parse_address(text);
                if (!parsed) {
                  throw CLI::ValidationError("--address",
                                             config::shown(text) + " " + parsed.error());
                }
                explain.address = *parsed;
              },
              "By a guard that runs there: what it would answer now, and why (GUARD.EXPLAIN)")
          ->type_name("ADDRESS");
  address->excludes(config);
  command
      .add_option(
          "--user", explain.user, "Log in as this Redis user, who must be allowed to GET the key")
      ->type_name("NAME")
      ->needs(address);
  command
      .add_option("--password-file",
                  explain.password_file,
                  "File whose first line is the password; default: REDISCLI_AUTH")
      ->type_name("FILE")
      ->needs(address);
  add_tls(command, explain.tls)->needs(address);
  return command;
}

CLI::App& add_ping(CLI::App& app, Ping& ping) {
  CLI::App& command = *app.add_subcommand(
      "ping", "Send PING to a guard or a Redis: 0 if anything is replied, else 1");
  add_value(command, "address", ping.address, config::parse_address, "host:port or unix:/path")
      ->type_name("ADDRESS")
      ->default_str(ping.address.text());
  add_value(command, "--timeout", ping.timeout, parse_timeout, "To connect, and to reply")
      ->type_name("DURATION")
      ->default_str("2s");
  add_tls(command, ping.tls);
  return command;
}

// For what was not expected where it stands: the flags that there are.
std::string suggestions(const CLI::App& app) {
  const CLI::App* command = &app;
  while (!command->get_subcommands().empty()) {
    command = command->get_subcommands().front();
  }
  std::vector<std::string> flags;
  for (const CLI::Option* const option : command->get_options()) {
    if (!option->get_positional()) {
      flags.push_back(option->get_name());
    }
  }
  const std::vector<std::string_view> names(flags.begin(), flags.end());
  std::string text;
  for (const std::string& word : app.remaining(true)) {
    const std::string_view flag = std::string_view(word).substr(0, word.find('='));
    if (const auto meant = config::nearest(flag, names)) {
      text += fmt::format("{}: did you mean \"{}\"?\n", flag, *meant);
    }
  }
  return text;
}

}  // namespace

std::optional<Options> parse_options(int argc, const char* const* argv, int& exit_code) {
  CLI::App app{
      "A sidecar in front of Redis that answers reads of keys which exist nowhere, so that they "
      "reach neither Redis nor the database.",
      "cuckooguard"};
  bool wants_version = false;
  app.add_flag("--version", wants_version, "Print the versions of this build and its libraries");
  Serve serve;
  InspectFilter inspect;
  QueryFilter query;
  PrintTriggers triggers;
  Explain explain;
  Ping ping;
  add_serve(app, serve);
  CLI::App& filter = *app.add_subcommand("filter", "Look into a filter file");
  filter.require_subcommand(1);
  const CLI::App& inspecting = add_inspect(filter, inspect);
  const CLI::App& querying = add_query(filter, query);
  const CLI::App& printing = add_triggers(app, triggers);
  const CLI::App& listing =
      *app.add_subcommand("presets", "List what absent_reply can be, and which framework reads it");
  const CLI::App& explaining = add_explain(app, explain);
  const CLI::App& pinging = add_ping(app, ping);
  try {
    app.parse(argc, argv);
    if (inspecting.parsed()) {
      return inspect;
    }
    if (querying.parsed()) {
      return query;
    }
    if (printing.parsed()) {
      return triggers;
    }
    if (listing.parsed()) {
      return ListPresets{};
    }
    if (explaining.parsed()) {
      if (explain.config_path.empty() && !explain.address) {
        throw CLI::RequiredError("--config or --address");
      }
      return explain;
    }
    if (pinging.parsed()) {
      return ping;
    }
    if (wants_version) {
      return ShowVersion{};
    }
    if (serve.config_path.empty()) {
      throw CLI::RequiredError("--config");
    }
  } catch (const CLI::ParseError& outcome) {  // how CLI11 also says that it has printed help
    exit_code = app.exit(outcome) == 0 ? 0 : kExitUsage;
    if (exit_code != 0) {
      fmt::print(stderr, "{}", suggestions(app));
    }
    return std::nullopt;
  }
  return serve;
}

}  // namespace cuckooguard::cli
