#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <expected>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

#include "app/load_report.h"
#include "cli/offline_targets.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/plan.h"
#include "cli/redis_call.h"
#include "config/config.h"
#include "config/nearest.h"
#include "config/password_file.h"
#include "config/table_pattern.h"
#include "keyspace/identity.h"
#include "keyspace/misfit.h"
#include "source/row_lookup.h"
#include "source/source_kind.h"
#include "text/printable.h"
#include "text/try.h"
#include "upstream/not_allowed.h"

namespace cuckooguard::cli {
namespace {

// Redis, asked once what the control connection will ask, of somebody who sets a guard up.
// Threads: one. Errors: they are the result. Limits: 2 s for the connect, and for each reply.

std::string error_of(const resp::Value& reply) {
  return reply.is_error() ? reply.text : std::string();
}

std::string set_user(const config::Upstream& redis) {
  const std::string& user = redis.control.username;
  return fmt::format(
      "In redis-cli, with the password in place of PASSWORD{}:\n"
      "  ACL SETUSER {} on >PASSWORD resetkeys -@all {}",
      user.empty() ? ", and then --redis-user guard with its --redis-password-file" : "",
      user.empty() ? "guard" : user,
      upstream::kControlRights);
}

// For sources whose tables Redis tells.
class RedisOfInit final : public source::RedisSession {
 public:
  explicit RedisOfInit(RedisCall redis) : redis_(std::move(redis)) {}

  using RedisSession::ask;
  Answer ask(std::span<const std::string_view> command) override {
    return redis_.call({command.begin(), command.end()});
  }

 private:
  RedisCall redis_;
};

std::vector<std::string> log_in(RedisCall& connection, const config::Upstream& redis) {
  const auto& [user, password, password_file] = redis.control;
  const auto words =
      Login{.user = user, .password_file = password_file, .password = password}.words();
  if (!words || words->empty()) {
    return {};
  }
  const auto reply = connection.call({words->begin(), words->end()});
  const std::string error = reply ? error_of(*reply) : reply.error();
  if (error.empty() || !reply || !upstream::is_about_login(error)) {
    return error.empty() ? std::vector<std::string>() : std::vector<std::string>{error};
  }
  return {error, set_user(redis)};
}

// What Redis does not let the guard do, and the remedy: an ACL SETUSER in a line of its own. Empty:
// nothing is missing.
std::vector<std::string> try_redis(const config::Upstream& redis) {
  using upstream::Question;
  static const std::vector<std::pair<Question, std::vector<std::string_view>>> kAll{
      {Question::users, {"ACL", "GETUSER", "default"}},
      {Question::commands_of_users, {"ACL", "DRYRUN", "default", "PING"}},
      {Question::commands, {"COMMAND", "INFO", "GET"}},
      {Question::state, {"DBSIZE"}},
      {Question::takes_writes, {"INFO"}},
      {Question::idle_timeout, {"CONFIG", "GET", "timeout"}}};
  auto connection = RedisCall::open(redis.address, std::chrono::seconds(2));
  if (!connection) {
    return {connection.error()};
  }
  if (std::vector<std::string> refused = log_in(*connection, redis); !refused.empty()) {
    return refused;
  }
  upstream::Answers answers{.is_cluster = false};
  for (const auto& [question, words] : kAll) {
    if (redis.acl == config::Acl::trust && words.front() == "ACL") {
      continue;
    }
    const auto reply = connection->call(words);
    if (!reply) {
      return {reply.error()};
    }
    const std::string error = error_of(*reply);
    if (upstream::is_about_rights(error)) {
      answers.refused.push_back({.question = question, .error = error});
    } else if (question == Question::users && !error.empty()) {
      return {error,
              "if this Redis cannot report what its users may do, and all of them may read the "
              "keys, use --acl trust"};
    }
    if (question == Question::takes_writes && reply->kind == resp::Value::Kind::text) {
      answers.is_cluster = reply->text.contains("cluster_enabled:1");
    }
  }
  const redis::ControlReport report = upstream::not_allowed(redis, answers);
  if (report.state == redis::ControlReport::State::allowed) {
    return {};
  }
  return {report.why, *answers.is_cluster ? report.hint : set_user(redis)};
}

using Words = std::vector<std::string>;  // what is wrong; empty: nothing is

struct Question {
  const char* flag;
  const char* type;  // as --help calls the answer
  const char* what;
  const char* otherwise = nullptr;  // what holds without an answer; null: there must be one
};

constexpr const char* kPasswordFile = "File whose first line is the password (empty: no password)";

constexpr std::array kAboutRedis{
    Question{"--redis", "ADDRESS", "Address of Redis", "127.0.0.1:6379"},
    Question{"--redis-user", "NAME", "Redis user for the guard (empty: the default user)", ""},
    Question{"--redis-password-file", "FILE", kPasswordFile, ""},
    Question{"--listen",
             "ADDRESS",
             "Address where applications will connect instead of to Redis",
             "127.0.0.1:6380"}};
constexpr std::array kAboutType{
    Question{"--type",
             "TYPE",
             "Where the rows are stored: mysql (also for MariaDB), postgres, sqlite or file; or "
             "debezium: what Debezium Server writes into this Redis"}};
constexpr const char* kPostgresAddress = "127.0.0.1:5432";
constexpr std::array kAboutServer{
    Question{"--database-address", "ADDRESS", "Address of the database server", "127.0.0.1:3306"},
    Question{"--database-user", "NAME", "Database user for the guard", "guard"},
    Question{"--database-password-file", "FILE", kPasswordFile, ""},
    Question{"--database", "NAME", "Name of the database"}};
constexpr std::array kAboutSchema{
    Question{"--schema", "NAME", "Schema that contains the tables", "public"}};
constexpr std::array kAboutFile{
    Question{"--path", "FILE", "Path of the SQLite database, or of the file of values"}};
constexpr std::array kAboutStreams{
    Question{"--connector",
             "NAME",
             "Debezium connector: mysql, mariadb, postgresql, sqlserver or oracle"},
    Question{"--topic-prefix", "PREFIX", "Its topic.prefix, with which the names of streams begin"},
    Question{"--heartbeat-table",
             "TABLE",
             "Table that its heartbeat.action.query writes (empty: none yet)",
             ""},
    Question{"--freshness",
             "none|trust_lag",
             "trust_lag: the clocks of this machine and the database agree, and there is a "
             "heartbeat.action.query; none: not so"}};
constexpr std::array kAboutTable{
    Question{"--table", "TABLE", "Table whose rows the Redis keys are built from"}};
constexpr std::array kAboutKeys{
    Question{"--key", "TEMPLATE", "Template of the Redis keys of a row, such as user:{id:uint64}"},
    Question{"--db", "N", "Redis database number of these keys, as in redis://HOST/1", "0"},
    Question{"--example",
             "KEY",
             "An existing key that the application reads, to test the template with (empty: none)",
             ""}};

constexpr Question kAnotherTable{"--table", "TABLE", "Another table (Enter: none)", ""};

struct Unanswered : std::runtime_error {
  using std::runtime_error::runtime_error;
};

std::vector<Question> questions_about(std::string_view type) {
  if (type == "debezium") {
    return {kAboutStreams.begin(), kAboutStreams.end()};
  }
  if (type != "mysql" && type != "postgres") {
    return {kAboutFile.begin(), kAboutFile.end()};
  }
  std::vector<Question> questions(kAboutServer.begin(), kAboutServer.end());
  if (type == "postgres") {
    questions.insert(questions.end(), kAboutSchema.begin(), kAboutSchema.end());
  }
  return questions;
}

// As packaging/systemd has it.
constexpr std::string_view kOfService = "/etc/cuckooguard/cuckooguard.yaml";

std::string whole_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

bool is_password(std::string_view flag) {
  return flag.ends_with("-password-file");
}

class Interview {
 public:
  Interview(const Init& flags, std::istream* terminal, const app::Guests& guests)
      : flags_(flags), terminal_(terminal), guests_(guests), answers_(flags.answers) {}

  // The exit code.
  int hold() {
    if (flags_.keys.size() > std::max<std::size_t>(1, flags_.tables.size())) {
      throw Unanswered(
          "each --key belongs to the --table at the same position, and there are more keys than "
          "tables");
    }
    if (!flags_.added_to.empty()) {
      return add();
    }
    if (!flags_.force && std::filesystem::exists(flags_.output)) {
      fmt::print(stderr,
                 "cuckooguard: {} already exists; --force overwrites it, --output writes another "
                 "file, --add adds namespaces to it\n",
                 flags_.output);
      return kExitFailure;
    }
    const auto file = std::filesystem::absolute(flags_.output);
    const auto place = std::filesystem::exists(file) ? file : file.parent_path();
    if (::access(place.c_str(), W_OK) != 0) {  // before anybody has answered anything
      fmt::print(stderr, "cuckooguard: {} does not exist or is not writable\n", place.string());
      return kExitFailure;
    }
    const bool redis = settle(Part::redis, kAboutRedis, [this] { return about_redis(); });
    if (!redis && !parsed()) {
      return kExitConfiguration;
    }
    const bool rows =
        settle(Part::type, kAboutType, [this] { return about_type(); }) &&
        settle(
            Part::source, questions_about(answer("--type")), [this] { return about_source(); }) &&
        about_namespaces();
    return redis && rows ? write() : kExitFailure;
  }

 private:
  // More namespaces for a configuration that is there.
  int add() {
    const auto config =
        config::load_config(flags_.added_to, config::process_environment(), {}, guests_.built);
    if (!config) {
      return report(config.error());
    }
    const SourceFlags wanted{.config_path = flags_.added_to, .name = flags_.source};
    const auto source = wanted.choose(*config, "a database", [](const config::Source& each) {
      return source::is_of<config::MysqlSource>(each) ||
             source::is_of<config::PostgresSource>(each) ||
             source::is_of<config::SqliteSource>(each) ||
             source::is_of<config::DebeziumSource>(each);
    });
    auto tables = source ? tables_of(config->upstream, **source) : std::unexpected(source.error());
    if (!tables) {
      fmt::print(stderr, "cuckooguard: {}\n", tables.error());
      return kExitFailure;
    }
    tables_ = *std::move(tables);
    answers_["--type"] = guests_.kind_of(**source).name;
    addition_ = {.source = (*source)->name, .taken = {}};
    std::ranges::transform(
        config->namespaces, std::back_inserter(addition_->taken), &config::Namespace::name);
    yaml_ = whole_text(flags_.added_to);
    return about_namespaces() ? write() : kExitFailure;
  }

  // The configuration as far as it is known.
  std::expected<std::string, std::string> text() const {
    return addition_ ? with_namespaces(yaml_, spaces_, *addition_)
                     : first_configuration(answers_, part_, spaces_);
  }

  // One after the other, until nobody names another table.
  bool about_namespaces() {
    const bool has_tables = answer("--type") != "file";
    do {
      begin_namespace();
      const bool is_done =
          (!has_tables || settle(Part::source, kAboutTable, [this] { return about_table(); })) &&
          settle(Part::keys, kAboutKeys, [this] { return about_keys(); });
      if (!is_done) {
        return false;
      }
    } while (has_tables && has_another_table());
    return true;
  }

  // With what flags say of it, in their order; the rest is asked.
  void begin_namespace() {
    const std::size_t place = spaces_.size();
    spaces_.emplace_back();
    for (const auto& [flag, given] : {std::pair{"--table", &flags_.tables},
                                      {"--key", &flags_.keys},
                                      {"--example", &flags_.examples}}) {
      if (place < given->size()) {
        answers_.insert_or_assign(flag, given->at(place));
      } else if (place > 0) {
        answers_.erase(flag);
      }
    }
    if (!another_.empty()) {
      answers_.insert_or_assign("--table", std::exchange(another_, ""));
    }
  }

  bool has_another_table() {
    if (flags_.tables.empty() && terminal_ != nullptr) {
      answers_.erase("--table");
      another_ = ask(kAnotherTable);
      return !another_.empty();
    }
    return spaces_.size() < flags_.tables.size();
  }

  std::string answer(std::string_view flag) const { return answer_to(answers_, flag); }

  // Asks until `check` has nothing to say; without a terminal once.
  template <typename Check>
  bool settle(Part part, std::span<const Question> questions, const Check& check) {
    part_ = part;
    for (bool is_again = false;; is_again = true) {
      for (const Question& question : questions) {
        if (is_again || !answers_.contains(question.flag)) {
          answers_.insert_or_assign(question.flag, ask(question));
        }
      }
      const Words words = check();
      for (const std::string& each : words) {
        fmt::print(stderr, "cuckooguard: {}\n", each);
      }
      if (words.empty() || terminal_ == nullptr) {
        return words.empty();
      }
      fmt::print("Please answer again; Enter keeps an answer, - clears it.\n");
    }
  }

  // What holds if nothing is answered.
  std::optional<std::string> preset(const Question& question) const {
    if (const auto before = answers_.find(question.flag); before != answers_.end()) {
      return before->second;
    }
    if (question.otherwise != nullptr) {
      const bool is_at_postgres =
          std::string_view(question.flag) == "--database-address" && answer("--type") == "postgres";
      return is_at_postgres ? kPostgresAddress : question.otherwise;
    }
    const source::KeyedTable* const table = chosen_table();
    if (std::string_view(question.flag) != "--key" || table == nullptr ||
        table->placeholders().empty()) {
      return std::nullopt;
    }
    const std::size_t schema = table->name.rfind('.') + 1;  // none: 0
    return table->name.substr(schema) + ":" + table->placeholders();
  }

  // A line of the terminal.
  std::string read(const Question& question, std::string_view otherwise) const {
    const bool may_be_variable = is_password(question.flag);
    fmt::print("{}{}{}: ",
               question.what,
               may_be_variable ? ", or $NAME of an environment variable that holds it" : "",
               otherwise.empty() ? "" : fmt::format(" [{}]", otherwise));
    std::fflush(stdout);
    std::string line;
    if (!std::getline(*terminal_, line)) {
      throw Unanswered(fmt::format("no answer: {}", question.flag));
    }
    const bool lacks_braces = may_be_variable && line.starts_with('$') && !line.starts_with("${");
    return lacks_braces ? "${" + line.substr(1) + "}" : line;
  }

  std::string ask(const Question& question) const {
    const auto otherwise = preset(question);
    if (terminal_ == nullptr && !otherwise) {
      throw Unanswered(fmt::format("{} is missing, and there is no terminal to ask for it: {}",
                                   question.flag,
                                   question.what));
    }
    std::string line;
    while (terminal_ != nullptr) {
      line = read(question, otherwise.value_or(""));
      if (!line.empty() || otherwise) {
        break;
      }
    }
    return line == "-" ? "" : (line.empty() ? otherwise.value_or("") : line);
  }

  // --- what is wrong with the answers ---

  std::expected<config::Config, Words> parsed() const {
    const auto yaml = text();
    if (!yaml) {
      return std::unexpected(Words{yaml.error()});
    }
    auto config =
        config::parse_config(*yaml, flags_.output, config::process_environment(), guests_.built);
    if (config) {
      return *std::move(config);
    }
    Words words;
    std::ranges::transform(config.error(), std::back_inserter(words), &config::Diagnostic::what);
    return std::unexpected(std::move(words));
  }

  // What stands there may be the password itself, and is not repeated.
  Words about_password(std::string_view flag) const {
    const std::string file = answer(flag);
    const bool is_there =
        file.empty() || is_variable(file) || !config::password_of(file, "").empty();
    return is_there ? Words()
                    : Words{fmt::format("{}: cannot read a password from this file", flag)};
  }

  Words about_redis() const {
    const auto config = parsed();
    if (!config) {
      return config.error();
    }
    Words words = about_password("--redis-password-file");
    return words.empty() ? try_redis(config->upstream) : words;
  }

  // The rest is still missing.
  Words about_type() const {
    const auto config = parsed();
    Words words = config ? Words() : config.error();
    std::erase_if(words, [](const std::string& each) { return !each.starts_with("type"); });
    return words;
  }

  Words about_source() {
    const auto config = parsed();
    if (!config) {
      return config.error();
    }
    if (Words words = about_password("--database-password-file"); !words.empty()) {
      return words;
    }
    const config::Source& source = config->sources.front();
    auto tables = tables_of(config->upstream, source);
    if (!tables) {
      return {tables.error()};
    }
    tables_ = *std::move(tables);
    const auto refusals = guests_.kind_of(source).check(source, {}, std::chrono::steady_clock::now);
    return app::Refusals(refusals).sentences(source.name);
  }

  std::expected<std::vector<source::KeyedTable>, std::string> tables_of(
      const config::Upstream& upstream, const config::Source& source) const {
    const source::SourceKind& kind = guests_.kind_of(source);
    if (kind.list_tables_in == nullptr) {
      return kind.list_tables(source);
    }
    RedisOfInit redis(TRY(RedisCall::open(upstream, std::chrono::seconds(2))));
    return kind.list_tables_in(source, redis);
  }

  const source::KeyedTable* chosen_table() const {
    const std::string wanted = answer("--table");
    const auto found = std::ranges::find_if(tables_, [&](const source::KeyedTable& table) {
      return config::matches_table(wanted, table.name, config::NameCase::exact);
    });
    return found == tables_.end() ? nullptr : &*found;
  }

  Words about_table() const {
    if (chosen_table() != nullptr) {
      return {};
    }
    const std::string wanted = answer("--table");
    return {fmt::format("table {} does not exist, or this user may not read it{}",
                        text::printable(wanted),
                        answer("--type") == "postgres" && wanted.contains('.')
                            ? "; set the schema with --schema and leave it out of the table name"
                            : config::suggestion(wanted, tables_, &source::KeyedTable::name))};
  }

  Words about_keys() {
    spaces_.back() = answers_;
    const auto config = parsed();
    if (!config) {
      return config.error();
    }
    const Plan plan = make_plan(*config, guests_);
    if (!plan.failures.empty()) {
      return plan.failures;
    }
    if (Words words = about_example(*config); !words.empty()) {
      return words;
    }
    fmt::print("{}", describe(plan));
    return {};
  }

  // Whether it is a key, and of a row.
  Words about_example(const config::Config& config) const {
    const std::string example = answer("--example");
    if (example.empty()) {
      return {};
    }
    const keyspace::Keyspace keyspace = config::keyspace_of(config);
    keyspace::IdentityBuffer scratch;
    const keyspace::Lookup found = keyspace.match(example, scratch);
    if (found.kind == keyspace::Lookup::Kind::unguarded) {
      return {fmt::format("{} does not match the template {}: {}",
                          text::printable(example),
                          answer("--key"),
                          keyspace::misfit_of(keyspace, example).why)};
    }
    const std::string& from = config.namespaces[found.ns].source.from;
    const config::Source& source = *std::ranges::find(config.sources, from, &config::Source::name);
    const source::SourceKind& kind = guests_.kind_of(source);
    OfflineTargets all(config);
    const auto targets = all.targets(from);
    const auto rows = kind.rows == nullptr ? nullptr : kind.rows(source, targets);
    const auto answer_of_row = rows ? rows->ask(found.ns, found.identity, {}) : source::RowAnswer{};
    if (answer_of_row.presence != source::RowPresence::absent) {
      return {};
    }
    return {
        fmt::format("{} matches {}, but its row does not exist: enter a key of an existing row, to "
                    "confirm that the template is right",
                    text::printable(example),
                    answer("--key"))};
  }

  int write() const {
    const bool is_added = addition_.has_value();
    const std::string& path = is_added ? flags_.added_to : flags_.output;
    const auto yaml = text();
    const auto how = is_added || flags_.force ? std::ios::out : std::ios::out | std::ios::noreplace;
    std::ofstream file(path, how);
    if (!yaml || !(file << *yaml << std::flush)) {
      fmt::print(stderr, "cuckooguard: cannot write {}\n", path);
      return kExitFailure;
    }
    if (is_added) {
      fmt::print(
          "{}: added {}, in observe mode. A running guard loads the change on SIGHUP:\n"
          "  systemctl reload cuckooguard\n",
          path,
          spaces_.size() == 1 ? "one namespace" : fmt::format("{} namespaces", spaces_.size()));
      return 0;
    }
    fmt::print(
        "Wrote {0}. With it the guard observes and answers nothing yet. Next:\n"
        "  cuckooguard --config {0}\n"
        "{2}Then connect applications to {1}; GUARD.INFO there reports what the guard observes.\n",
        path,
        answer("--listen"),
        std::filesystem::absolute(path).lexically_normal() == kOfService
            ? ""
            : fmt::format("(The packaged service reads only {}; write it there with --output.)\n",
                          kOfService));
    return 0;
  }

  const Init& flags_;
  std::istream* terminal_;
  const app::Guests& guests_;
  Answers answers_;
  Part part_ = Part::redis;                 // that was asked for last
  std::vector<source::KeyedTable> tables_;  // of the source
  std::vector<Answers> spaces_;             // of each namespace; the last is being asked about
  std::string another_;                     // the next table
  std::optional<Addition> addition_;        // nothing: the file is a new one
  std::string yaml_;                        // of the file that there is
};

}  // namespace

Parser Init::add(Parser app) {
  Parser command = app.add_subcommand(
      "init",
      "Ask for Redis, database, table and keys, test the access, list what is missing, and write a "
      "configuration in observe mode; answers given as flags are not asked for");
  const auto add = [&](const std::string& name,
                       const std::string& answer,
                       const char* type,
                       const char* what,
                       bool is_variable = false) {
    const Parser::Take keep = [this, answer, is_variable](const std::string& text) {
      answers[answer] = is_variable ? "${" + text + "}" : text;
      return Taken{};
    };
    return command.add_option(name, keep, type, what);
  };
  const auto add_of_namespace = [&](const Question& question, std::vector<std::string>& all) {
    const Parser::Take keep = [&all](const std::string& text) {
      all.push_back(text);
      return Taken{};
    };
    command.add_repeated(question.flag, keep, question.type, question.what);
  };
  for (const std::span<const Question> questions : std::initializer_list<std::span<const Question>>{
           kAboutRedis, kAboutType, kAboutServer, kAboutSchema, kAboutFile, kAboutStreams}) {
    for (const Question& question : questions) {
      const std::string flag = question.flag;
      const std::string otherwise = question.otherwise == nullptr ? "" : question.otherwise;
      add(flag, flag, question.type, question.what)
          .otherwise(flag == "--database-address"
                         ? fmt::format("{}; postgres: {}", otherwise, kPostgresAddress)
                         : otherwise);
      if (is_password(flag)) {
        add(flag.substr(0, flag.size() - 4) + "env",
            flag,
            "NAME",
            "Environment variable that holds this password, instead of a file",
            true);
      }
    }
  }
  const auto& [key, db, example] = kAboutKeys;
  add_of_namespace(kAboutTable.front(), tables);
  add_of_namespace(key, keys);
  add_of_namespace(example, examples);
  add(db.flag, db.flag, db.type, db.what).otherwise(db.otherwise);
  add("--acl",
      "--acl",
      "ask|trust",
      "trust: assume that all Redis users may read the keys, and do not ask Redis");
  const Option file = command.add_option("--output", output, "FILE", "Configuration file to write")
                          .otherwise(output);
  const Option overwrite = command.add_flag("--force", force, "Overwrite the file");
  const Option addition =
      command
          .add_option(
              "--add", added_to, "FILE", "Add namespaces to this existing configuration instead")
          .excludes(file)
          .excludes(overwrite);
  command
      .add_option("--source",
                  source,
                  "NAME",
                  "Source of the added namespaces, if the configuration has several")
      .needs(addition);
  return command;
}

int Init::run(const app::Guests& guests) const {
  ::signal(SIGPIPE, SIG_IGN);
  return initialize(*this, ::isatty(STDIN_FILENO) != 0 ? &std::cin : nullptr, guests);
}

int initialize(const Init& flags, std::istream* terminal, const app::Guests& guests) {
  try {
    return Interview(flags, terminal, guests).hold();
  } catch (const Unanswered& missing) {
    fmt::print(stderr, "cuckooguard: {}\n", missing.what());
    return kExitUsage;
  }
}

}  // namespace cuckooguard::cli
