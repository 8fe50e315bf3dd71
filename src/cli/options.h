// The command line: which command was asked for, with its options. Help and usage errors are
// printed by the parser.
//
// Threads: free function. Errors: usage errors are printed and end with kExitUsage.
#pragma once

#include <chrono>
#include <cstdint>
#include <expected>
#include <functional>
#include <iosfwd>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/command.h"
#include "cli/flags.h"
#include "cli/plan.h"
#include "config/config.h"

namespace cuckooguard::cli {

// `cuckooguard --version`: what this program was built from, how, and with which libraries; of a
// shared library the version that is loaded. One `name: value` per line behind the first.
//
// Threads: free function.
struct ShowVersion {
  int run(const app::Guests& guests) const;
};

std::string version_text(const app::Guests& guests);

// `cuckooguard --config FILE`: the guard itself, until a signal ends it.
//
// Threads: the main thread's, and all that app::Assembly starts. Errors: std::exception if it
// cannot start (the port is taken, no memory, no descriptors).
struct Serve {
  ConfigFlags config;
  bool strict_start = false;  // what a source refuses ends the start

  int run(const app::Guests& guests) const;
};

// `cuckooguard print-config`: the settings in force, as YAML that can be used as a configuration,
// each with its origin.
//
// Threads: the main thread's.
struct PrintConfig {
  ConfigFlags config;

  Parser add(Parser app);
  int run(const app::Guests& guests) const;
};

// `cuckooguard presets`: the values that `absent_reply` can have, with their bytes, which framework
// reads them, where that has them, how its keys look, and what to watch out for. A name stands
// alone in its line; what belongs to it is indented.
//
// Threads: free function.
struct ListPresets {
  Parser add(Parser app);
  int run() const;
};

std::string list_presets();

// `cuckooguard ping ADDRESS`: does anything there answer like Redis? For health checks of
// containers.
//
// Threads: the main thread's. Errors: a sentence. Limits: the time-out is for the connect, and
// again for the reply; looking a name up may take the system's own time.
//
// Any reply is good, an error too: -NOAUTH comes from a server that works. The guard forwards PING,
// so that it answers as long as Redis does.
//
// --alive asks the guard itself (GUARD.PING), which needs no Redis and no login; it retries a few
// times within the time-out while nothing is replied. Redis's error for an unknown command is no
// sign of a guard; any other error is: a guard at `max_clients` refuses, and a pinned client gets
// the error of a Redis that is full.
struct Ping {
  config::Address address{.host = "127.0.0.1", .port = 6380, .unix_path = {}};
  std::chrono::milliseconds timeout{2000};
  bool alive = false;  // the guard itself
  TlsFlags tls;

  Parser add(Parser app);
  int run() const;
};

// The reply with a line end: "PONG", or the error.
std::expected<std::string, std::string> ping(const Ping& options);

// `cuckooguard init`: from a Redis and a database to a configuration that observes. It asks on the
// terminal what no flag says, tries each answer on the servers themselves, and says what they lack
// in words that can be pasted: SQL, and one ACL SETUSER. Without a terminal a flag that is missing
// is an error, and what a server lacks is told of all of them at once.
//
// Threads: the main thread's; servers are only read. Errors: told on standard error, with the exit
// code; nothing is written then. Secrets: a password is named by its file or its variable, and
// stands nowhere else.
// With --add it adds namespaces to a configuration that is there, and asks for these alone.
// Not asked: TLS, several templates of a namespace, columns of other names, which
// config/cuckooguard.yaml has.

// The configuration that `cuckooguard init` writes: what was answered, in observe mode, with
// comments, and no secret.
//
// Threads: pure functions, but for the current folder. Errors: of answers that make no sense the
// text is no valid configuration.

using Answers = std::map<std::string, std::string, std::less<>>;  // by the name of the flag

std::string answer_to(const Answers& answers, std::string_view flag);  // empty: there is none

// ${NAME}, and nothing beside it that could be a secret.
bool is_variable(std::string_view text);

enum class Part : std::uint8_t { redis, type, source, keys };

// `spaces`: what was answered of each namespace; none: `answers` is of the only one.
std::string first_configuration(const Answers& answers,
                                Part last = Part::keys,
                                std::span<const Answers> spaces = {});

// What a configuration has already.
struct Addition {
  std::string source;
  std::vector<std::string> taken;  // names of its namespaces
};
// The configuration with these namespaces behind its own, all else as it stands there; or why there
// is no place for them.
std::expected<std::string, std::string> with_namespaces(std::string_view yaml,
                                                        std::span<const Answers> spaces,
                                                        const Addition& addition);

struct Init {
  Answers answers;
  std::vector<std::string> tables;  // the first has the first of `keys` and of `examples`
  std::vector<std::string> keys;
  std::vector<std::string> examples;
  std::string output = "cuckooguard.yaml";
  bool force = false;    // overwrite it
  std::string added_to;  // a configuration that gets more namespaces, instead; empty: none
  std::string source;    // of that configuration; empty: its only one

  Parser add(Parser app);
  int run(const app::Guests& guests) const;
};

// `terminal`: where answers are read; null: there is none.
int initialize(const Init& flags, std::istream* terminal, const app::Guests& guests);

// `cuckooguard explain KEY`: what a Redis key is to the guard. By a configuration: its namespace,
// template and identity, or where the nearest template ceases to fit. By a guard that runs:
// GUARD.EXPLAIN, as a user of Redis: with the password in a file, or that of REDISCLI_AUTH, as
// redis-cli takes it.
//
// Threads: the main thread's. Errors: a sentence; only run() prints.

// `cuckooguard explain KEY --config FILE`, or `--address ADDRESS`
struct Explain {
  std::string key;
  std::string config_path;                 // its templates, without a guard
  std::optional<config::Address> address;  // a guard that runs
  Login login;
  TlsFlags tls;

  Parser add(Parser app);
  int run(const app::Guests& guests) const;
};

// One `name: value` per line.
std::string explain_key(const config::Config& config, std::string_view key);

struct AskedGuard {
  config::Address address;
  std::chrono::milliseconds timeout{2000};
  Login login{};
  std::optional<config::UpstreamTls> tls{};
};

std::expected<std::string, std::string> explain_key(const AskedGuard& guard, std::string_view key);

// `cuckooguard check`: what is wrong with a configuration, as far as it and the files that it names
// can tell.
//
// Threads: the main thread's; nobody is asked.
struct Check {
  ConfigFlags config;

  Parser add(Parser app);
  int run(const app::Guests& guests) const;
};

// Nothing if the process is to end now with `exit_code` (help, a usage error; both already
// printed).
std::optional<Command> parse_options(int argc,
                                     const char* const* argv,
                                     const Program& program,
                                     int& exit_code);

}  // namespace cuckooguard::cli
