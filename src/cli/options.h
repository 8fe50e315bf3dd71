// The command line: which command was asked for, with its options. CLI11 prints help and usage
// errors itself.
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
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "cli/flags.h"
#include "cli/plan.h"
#include "cli/redis_call.h"
#include "config/config.h"
#include "foreign/filter.h"
#include "foreign/guava.h"

namespace CLI {  // NOLINT(readability-identifier-naming)
class App;
class Option;
}  // namespace CLI

namespace cuckooguard::cli {

// A filter of another library, as `cuckooguard filter` is told of it: how it is read, of a file or
// of what Redis has, and made.
//
// Threads: the main thread's; files are only read. Errors: a sentence. Limits: kFileBytesMax.
struct ForeignFile {
  static constexpr std::uint64_t kFileBytesMax = std::uint64_t{16} << 30U;

  std::string format;  // empty: it is one of the guard's own
  std::uint64_t bits = 0;
  std::uint32_t hashes = 0;
  std::string strategy = "murmur128_mitz_32";
  std::string funnel = "utf8";

  bool is_given() const { return !format.empty(); }
  CLI::Option* add(CLI::App& command);               // `--format` itself
  std::optional<std::string> missing_flags() const;  // in words
  // Of this file.
  foreign::FilterOrWhyNot read(const std::string& path) const;
  // Without a look at missing_flags().
  foreign::FilterOrWhyNot read_bytes(std::string bytes) const;

  // An empty one; what it is made of, and what must not be said of it, is the format's.
  struct Wanted {
    std::uint64_t capacity = 0;  // items; 0: not said
    double rate = 0;             // of false positives; 0: not said
  };
  foreign::FilterOrWhyNot make(const Wanted& wanted) const;

  bool is_bitmap() const;  // of Redis
  // Why add() has refused an item.
  std::string refused_item(std::string_view item) const;
};

// The parameters of a filter that an application, and every later command, must know, one
// `name: value` per line, and how full it is.
std::string told(const foreign::Facts& facts);

// What the filter says of itself, one `name: value` per line.
std::expected<std::string, std::string> inspect_foreign(const ForeignFile& file,
                                                        const std::string& path);
// One line per item: `absent` or `may exist`, and the item.
std::expected<std::string, std::string> query_foreign(const ForeignFile& file,
                                                      const std::string& path,
                                                      const std::vector<std::string>& items);

// `cuckooguard --version`: what this program was built from, how, and with which libraries; of a
// shared library the version that is loaded. One `name: value` per line behind the first.
//
// Threads: free function.
struct ShowVersion {
  int run() const;
};

std::string version_text();

// `cuckooguard slot list|drop`: replication slots of guards on a PostgreSQL, each of which keeps
// the server from removing its log: one whose guard has gone for good fills the disk.
//
// Threads: the main thread's. Errors: a sentence; only run() prints.

CLI::App& add_slot(CLI::App& app);  // `slot`, of which the others are subcommands

// `cuckooguard slot list --config FILE [--source NAME]`
struct ListSlots {
  std::string config_path;
  std::string source;  // empty: the only one of type postgres

  CLI::App& add(CLI::App& slot);
  int run() const;
};

// `cuckooguard slot drop --config FILE [--source NAME] SLOT`
struct DropSlot {
  std::string config_path;
  std::string source;
  std::string name;  // of the slot

  CLI::App& add(CLI::App& slot);
  int run() const;
};

// One line per slot whose name begins as a guard's, or is the source's.
std::expected<std::string, std::string> list_slots_of(const ListSlots& options);
// Not one that is in use.
std::expected<std::string, std::string> drop_slot_of(const DropSlot& options);

// `cuckooguard --config FILE`: the guard itself, until a signal ends it.
//
// Threads: the main thread's, and all that app::Assembly starts. Errors: std::exception if it
// cannot start (the port is taken, no memory, no descriptors).
struct Serve {
  ConfigFlags config;
  bool strict_start = false;  // what a source refuses ends the start

  int run() const;
};

// `cuckooguard triggers`: the SQL by which a SQLite database logs what changes in its guarded
// tables.
//
// Threads: the main thread's; the database is only read, and only what it does not have yet is
// printed.

// `cuckooguard triggers --config FILE [--source NAME]`
struct PrintTriggers {
  std::string config_path;
  std::string source;  // empty: the only one that follows triggers

  CLI::App& add(CLI::App& app);
  int run() const;
};

// `cuckooguard print-config`: the settings in force, as YAML that can be used as a configuration,
// each with its origin.
//
// Threads: the main thread's.
struct PrintConfig {
  ConfigFlags config;

  CLI::App& add(CLI::App& app);
  int run() const;
};

// `cuckooguard presets`: the values that `absent_reply` can have, with their bytes, which framework
// reads them, where that has them, how its keys look, and what to watch out for. A name stands
// alone in its line; what belongs to it is indented.
//
// Threads: free function.
struct ListPresets {
  CLI::App& add(CLI::App& app);
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

  CLI::App& add(CLI::App& app);
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
// Not asked: TLS, several templates, columns of other names; config/cuckooguard.yaml has them.

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

std::string first_configuration(const Answers& answers, Part last = Part::keys);

struct Init {
  Answers answers;
  std::string output = "cuckooguard.yaml";
  bool force = false;  // overwrite it

  CLI::App& add(CLI::App& app);
  int run() const;
};

// `terminal`: where answers are read; null: there is none.
int initialize(const Init& flags, std::istream* terminal);

// `cuckooguard filter create|add`: filters of other libraries, in files, without those libraries.
//
// Threads: the main thread's. Errors: a sentence, and the file is as it was; only run() prints.
// Limits: an item of standard input is a line, held as a whole.

// `cuckooguard filter create FILE --format FORMAT`, and what the format is made of
struct CreateFilter {
  std::string path;
  ForeignFile foreign{};
  ForeignFile::Wanted wanted{};

  CLI::App& add(CLI::App& filter);
  int run() const;
};

// `cuckooguard filter add FILE --format FORMAT [ITEM...]`
struct AddToFilter {
  std::string path;
  std::vector<std::string> items;  // none, or "-": the lines of standard input
  ForeignFile foreign{};

  CLI::App& add(CLI::App& filter);
  int run() const;
};

// Its parameters for the application.
std::expected<std::string, std::string> create_filter(const CreateFilter& options);

// How many, and how full the filter is now. A line is an item as it stands there, an empty one too.
std::expected<std::string, std::string> add_to_filter(const AddToFilter& options,
                                                      std::istream& lines);

// `cuckooguard filter import|export`: bitmaps of other libraries, from Redis into files and back.
//
// A bitmap only ever gains bits. What an application adds while one is read may be missing in the
// file, and one that is replaced meanwhile is refused; what is added between import and export,
// Redis loses.
//
// Threads: the main thread's. Errors: a sentence, and what was to be written is as it was; only
// run() prints. Limits: 512 MiB, as Redis's strings; kTimeout for each reply.

// Where the bitmap is, or is to be.
struct RedisKey {
  static constexpr std::chrono::seconds kTimeout{10};

  std::optional<config::Address> address;
  std::string key;
  std::uint32_t db = 0;
  Login login{};  // the password of REDISCLI_AUTH, if no file has one
  TlsFlags tls{};

  void add(CLI::App& command);
  std::expected<RedisCall, std::string> open() const;  // logged in, in its db
};

// `cuckooguard filter import FILE --format FORMAT --redis ADDRESS --key KEY`
struct ImportFilter {
  std::string path;
  bool force = false;  // into a file that exists
  ForeignFile foreign{};
  RedisKey redis{};

  CLI::App& add(CLI::App& filter);
  int run() const;
};

// `cuckooguard filter export FILE --format FORMAT --redis ADDRESS --key KEY`
struct ExportFilter {
  std::string path;
  ForeignFile foreign{};
  RedisKey redis{};

  CLI::App& add(CLI::App& filter);
  int run() const;
};

// The parameters that later commands need. For Redisson the hash beside the key has them.
std::expected<std::string, std::string> import_filter(const ImportFilter& options);

// In pieces into a key beside it, then RENAME: nobody sees half of it. With it, in one MULTI,
// Redisson's hash, unless it says the same already.
std::expected<std::string, std::string> export_filter(const ExportFilter& options);

// `cuckooguard filter inspect|query`: what a filter file says, for an operator who asks "is this
// key in it?".
//
// Threads: the main thread's; files are only read. Errors: a sentence; only run() prints.

CLI::App& add_filter(CLI::App& app);  // `filter`, of which the others are subcommands

// `cuckooguard filter inspect FILE [--format FORMAT]`
struct InspectFilter {
  std::string path;
  ForeignFile foreign{};

  CLI::App& add(CLI::App& filter);
  int run() const;
};

// `cuckooguard filter query FILE --secret FILE --template TEMPLATE KEY...`, or of another library's
// `cuckooguard filter query FILE --format FORMAT ITEM...`
struct QueryFilter {
  std::string path;
  std::string secret_path;
  std::string key_template;
  std::vector<std::string> keys;  // or items
  ForeignFile foreign{};

  CLI::App& add(CLI::App& filter);
  int run() const;
};

// One `name: value` per line. All checksums have been verified; the secret is not needed.
std::expected<std::string, std::string> inspect_filter(const InspectFilter& options);

// One line per key: what the file says of it (`absent`, `may exist`, or `unguarded`: no key of the
// template), and the key.
std::expected<std::string, std::string> query_filter(const QueryFilter& options);

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
  std::string user;                        // of Redis, whom it is asked as; empty: the default one
  std::string password_file;               // empty: the password is REDISCLI_AUTH, if there is one
  TlsFlags tls;

  CLI::App& add(CLI::App& app);
  int run() const;
};

// One `name: value` per line.
std::string explain_key(const config::Config& config, std::string_view key);

struct AskedGuard {
  config::Address address;
  std::chrono::milliseconds timeout{2000};
  std::string user{};           // empty: the default one
  std::string password_file{};  // its first line is the password
  std::string password{};       // if there is no such file; empty, and no user: no AUTH
  std::optional<config::UpstreamTls> tls{};
};

std::expected<std::string, std::string> explain_key(const AskedGuard& guard, std::string_view key);

// `cuckooguard check`: what is wrong with a configuration, as far as it and the files that it names
// can tell.
//
// Threads: the main thread's; nobody is asked.
struct Check {
  ConfigFlags config;

  CLI::App& add(CLI::App& app);
  int run() const;
};

// A subcommand add()s itself to the command line; each command has run(), which returns the exit
// code.
using Command = std::variant<Serve,
                             Check,
                             PrintConfig,
                             ShowPlan,
                             Init,
                             InspectFilter,
                             QueryFilter,
                             CreateFilter,
                             AddToFilter,
                             ImportFilter,
                             ExportFilter,
                             PrintTriggers,
                             ListSlots,
                             DropSlot,
                             ListPresets,
                             Explain,
                             ShowVersion,
                             Ping>;

// Nothing if the process is to end now with `exit_code` (help, a usage error; both already
// printed).
std::optional<Command> parse_options(int argc, const char* const* argv, int& exit_code);

}  // namespace cuckooguard::cli
