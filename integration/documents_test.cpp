// What the documents tell people to type does what they say: every block of commands in README.md,
// CONTRIBUTING.md and docs/ is run as it stands there, the quick start first, the other pages on
// what it leaves behind.
//
//   sh      each command by a shell; of ./dev only that its help has it; systemctl is the test
//   sql     by an administrator of the database, a MariaDB
//   postgresql  by one of a PostgreSQL, which has no role and no publication yet
//   redis   to the guard, or to Redis as long as no guard runs
//   http    to the admin server: GET or POST, path, body, and the status if one is promised
//
// With the addresses, ports and paths of here(), and the configurations that the pages have.
// `# 1: words` behind a command says that the reply is 1. A block that cannot be run here says why
// behind its language, `not run: why`; tests/lint/documents.py has no block be neither.

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fixtures/skip.h"
#include "harness/admin_client.h"
#include "harness/guard_process.h"
#include "harness/mariadb_server.h"
#include "harness/ports.h"
#include "harness/postgres_server.h"
#include "harness/redis_server.h"
#include "harness/temporary_directory.h"

namespace cuckooguard::harness {
namespace {

constexpr const char* kQuickStart = "docs/quick-start.md";
constexpr const char* kHttp = "docs/http.md";
constexpr const char* kMaster = "master";  // the password that applications have
constexpr const char* kAdminToken = "word";

struct Block {
  std::string language;  // and what else stands behind ```
  std::vector<std::string> lines;
  std::string where;  // page:line
};

std::string path_of(const std::string& page) {
  return std::string(CUCKOOGUARD_SOURCE "/") + page;
}

std::vector<Block> blocks_of(const std::string& page) {
  std::vector<Block> blocks;
  bool is_inside = false;
  std::size_t indent = 0;
  std::istringstream text(read_whole_file(path_of(page)));
  int number = 0;
  for (std::string line; std::getline(text, line);) {
    ++number;
    const std::size_t begin = std::min(line.find_first_not_of(' '), line.size());
    if (line.substr(begin).starts_with("```")) {
      is_inside = !is_inside;
      if (is_inside) {
        indent = begin;
        blocks.push_back({.language = line.substr(begin + 3),
                          .lines = {},
                          .where = page + ":" + std::to_string(number)});
      }
    } else if (is_inside) {
      blocks.back().lines.push_back(line.substr(std::min(indent, line.size())));
    }
  }
  return blocks;
}

// The quick start first: the others need what it makes.
std::vector<std::string> pages() {
  std::vector<std::string> all{"README.md", "CONTRIBUTING.md"};
  for (const auto& file : std::filesystem::directory_iterator(path_of("docs"))) {
    if (file.path().extension() == ".md" && file.path().filename() != "quick-start.md") {
      all.push_back("docs/" + file.path().filename().string());
    }
  }
  std::ranges::sort(all);
  all.insert(all.begin(), kQuickStart);
  return all;
}

std::string first_yaml(const std::string& page, std::string_view with) {
  for (const Block& block : blocks_of(page)) {
    std::string text;
    for (const std::string& line : block.lines) {
      text += line + "\n";
    }
    if (block.language == "yaml" && text.contains(with)) {
      return text;
    }
  }
  return "";
}

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
    text.replace(at, from.size(), to);
  }
  return text;
}

// A command, and what it promises to reply; empty: nothing but that it is no error.
struct Line {
  std::string command;
  std::string promise;
};
Line line_of(const std::string& text) {
  const std::size_t comment = text.find("  #");
  Line line{.command = text.substr(0, comment), .promise = {}};
  if (comment != std::string::npos) {
    const std::size_t begin = text.find_first_not_of(" #", comment);
    const std::size_t end = text.find(':', begin);
    if (end != std::string::npos &&
        std::ranges::all_of(text.substr(begin, end - begin),
                            [](char each) { return each >= '0' && each <= '9'; })) {
      line.promise = text.substr(begin, end - begin);
    }
  }
  return line;
}

class Documents : public testing::Test {
 protected:
  void SetUp() override {
    SKIP_IF_MISSING(MariaDbServer::missing());
    SKIP_IF_MISSING(PostgresServer::missing());
    SKIP_IF_MISSING(missing_program("redis-cli", "redis-tools"));
    server_.emplace();
    session_.emplace(server_->session());
    session_->run(
        "CREATE TABLE users (id BIGINT UNSIGNED NOT NULL PRIMARY KEY);"
        "INSERT INTO users VALUES (41), (43);"
        "CREATE TABLE orders (id BIGINT UNSIGNED NOT NULL PRIMARY KEY)");
    postgres_.emplace();
    postgres_session_.emplace(postgres_->session());
    postgres_session_->run(
        "CREATE TABLE users (id bigint PRIMARY KEY, active boolean NOT NULL); CREATE TABLE orders "
        "(id bigint PRIMARY KEY)");
    redis_.emplace(std::vector<std::string>{"--requirepass", kMaster}, kMaster);
    redis_->call({"ACL", "SETUSER", "shop", "on", std::string(">") + kMaster, "~*", "&*", "+@all"});
    for (const char* const name : {"bin", "etc", "var"}) {
      std::filesystem::create_directory(folder_ / name);
    }
    std::filesystem::create_symlink(guard_binary(), folder_ / "bin" / "cuckooguard");
    write_whole_file(folder_ / "etc" / "redis.password", "PASSWORD\n");
    write_whole_file(folder_ / "etc" / "database.password", "a password\n");
    write_whole_file(folder_ / "admin", std::string(kAdminToken) + "\n");
    write_whole_file(configuration_file(), "");  // the package's, which guards nothing
  }

  // The documents' addresses, ports and paths, and what cannot be the same here.
  std::string here(std::string text) const {
    const std::vector<std::pair<std::string, std::string>> table{
        {"127.0.0.1:6380", "127.0.0.1:" + std::to_string(port_)},
        {"redis-cli -p 6380 ", "redis-cli  -p " + std::to_string(port_) + " "},
        {"redis-cli --user ", "redis-cli  -p " + std::to_string(redis_->port()) + " --user "},
        {"--askpass ", std::string("--pass ") + kMaster + " --no-auth-warning "},
        {"127.0.0.1:6379", redis_->address()},
        {"127.0.0.1:3306", "127.0.0.1:" + std::to_string(server_->port())},
        {"127.0.0.1:5432", "127.0.0.1:" + std::to_string(postgres_->port())},
        {"127.0.0.1:9180", "127.0.0.1:" + std::to_string(admin_port_)},
        {"/run/secrets/admin", folder_.file("admin")},
        {"/etc/cuckooguard", folder_.file("etc")},
        {"/var/lib/cuckooguard", folder_.file("var")},
        {"<an id that does not exist>", "987654321"},
        {"0-1-75 100", position_ + " 60000"},  // a busy machine may take longer
        {"CREATE USER", "CREATE OR REPLACE USER"}};
    for (const auto& [there, ours] : table) {
      text = replaced(std::move(text), there, ours);
    }
    return text;
  }

  std::string configuration_file() const { return folder_ / "etc" / "cuckooguard.yaml"; }
  void write_configuration(const std::string& yaml) const {
    write_whole_file(configuration_file(), here(yaml));
  }
  std::string log() const { return read_whole_file(folder_ / "errors"); }

  // What systemd would do.
  void start() {
    EXPECT_THAT(read_whole_file(configuration_file()), testing::HasSubstr("namespaces:"))
        << "what the pages have written is not what the service reads";
    // Of a test's guard nobody waits for the first minute, in which all keys pass.
    write_configuration(replaced(first_yaml(kQuickStart, "mode: observe"),
                                 "    mode: observe\n",
                                 "    mode: observe\n    overlay: { pass_at_start: false }\n") +
                        first_yaml(kHttp, "admin:"));
    guard_.emplace(std::vector<std::string>{guard_binary(), "--config", configuration_file()},
                   ChildProcess::Output{folder_ / "output", folder_ / "errors"});
    EXPECT_TRUE(eventually([this] { return log().contains("event=loaded"); })) << log();
  }
  // With what the quick start says before.
  void reload() {
    write_configuration(replaced(read_whole_file(configuration_file()),
                                 "mode: observe",
                                 "mode: enforce\n    absent_reply: nil"));
    guard_->send_signal(SIGHUP);
    EXPECT_TRUE(eventually([this] { return log().contains("event=reloaded"); })) << log();
  }

  static void is_in_help(const std::string& command) {
    const Ended help = run_program({path_of("dev"), "help"});
    const std::size_t flags = std::min(command.find(" -"), command.size());
    EXPECT_THAT(
        "\n" + help.standard_output,
        testing::HasSubstr("\n" + command.substr(0, command.find_last_not_of(' ', flags - 1) + 1)));
    std::istringstream words(command.substr(flags));
    for (std::string word; words >> word;) {
      if (word.starts_with("--")) {
        EXPECT_THAT(help.standard_output, testing::HasSubstr(word));
      }
    }
  }

  void run_shell(const std::string& text) {
    const Line line = line_of(text);
    if (line.command.starts_with("./dev ")) {
      is_in_help(line.command);
    } else if (line.command.starts_with("systemctl enable --now cuckooguard.socket")) {
      start();
    } else if (line.command.starts_with("systemctl reload cuckooguard")) {
      reload();
    } else {
      const std::string script = "cd " + folder_.path().string() +
                                 "; export PATH=\"$PWD/bin:$PATH\"; " + here(line.command);
      Ended ended;
      EXPECT_TRUE(eventually([&] {
        ended = run_program({"/bin/sh", "-ec", script}, "/dev/null");
        return line.promise.empty() || ended.standard_output == line.promise + "\n";
      })) << ended.standard_output;
      EXPECT_EQ(ended.exit_code, 0) << ended.standard_output << ended.standard_error;
      // redis-cli ends with 0 where Redis refuses.
      EXPECT_THAT(ended.standard_output,
                  testing::Not(testing::ContainsRegex("^(ERR|NOAUTH|NOPERM|WRONG)")));
    }
  }

  void run_sql(const std::string& text) {
    const std::string sql = text.substr(0, text.find("--"));
    const std::string value = session_->value(here(sql));
    position_ = value.empty() ? position_ : value;
  }

  void run_postgresql(const std::string& text) { postgres_session_->run(here(text)); }
  // As it was before a page had a role made.
  void begin_anew_on_postgres() {
    postgres_session_->run("DROP PUBLICATION IF EXISTS cuckooguard");
    if (!postgres_session_->value("SELECT 1 FROM pg_roles WHERE rolname = 'guard'").empty()) {
      postgres_session_->run("DROP OWNED BY guard; DROP ROLE guard");
    }
  }

  void run_redis(const std::string& text) {
    const Line line = line_of(text);
    std::string reply;
    EXPECT_TRUE(eventually([&] {
      RawClient client = guard_ ? RawClient::to_port(port_) : redis_->client();
      client.call({"AUTH", kMaster});
      client.send(here(line.command) + "\r\n");
      reply = client.read_reply();
      return line.promise.empty() || reply == ":" + line.promise + "\r\n";
    })) << reply;
    EXPECT_FALSE(reply.starts_with("-")) << reply;
  }

  void run_http(const std::string& text) const {
    std::istringstream words(text);
    std::string method;
    std::string path;
    std::string rest;
    words >> method >> path >> std::ws;
    std::getline(words, rest);
    const AdminClient admin(admin_port_);
    const std::string token = std::string("Authorization: Bearer ") + kAdminToken + "\r\n";
    if (const std::size_t arrow = rest.find("->"); arrow != std::string::npos) {
      const HttpAnswer answer = admin.post(path, rest.substr(0, arrow), token);
      EXPECT_EQ(answer.status, 200);
      const std::string promised = rest.substr(rest.find('[', arrow));
      EXPECT_EQ(replaced(answer.body, "\n", ""),
                replaced(promised.substr(0, promised.find(']') + 1), " ", ""));
      return;
    }
    const int promised = rest.starts_with("404") ? 404 : 200;
    EXPECT_TRUE(eventually([&] { return admin.ask(method, path, token, "").status == promised; }))
        << admin.ask(method, path, token, "").body;
  }

  // As many commands.
  int run(const Block& block) {
    if (block.language == "postgresql") {
      begin_anew_on_postgres();
    }
    int count = 0;
    std::string whole;
    for (const std::string& line : block.lines) {
      whole += line;
      if (whole.ends_with("\\") && block.language == "sh") {
        whole.back() = ' ';
        continue;
      }
      SCOPED_TRACE(block.where + ": " + whole);
      if (block.language == "sh") {
        run_shell(whole);
      } else if (block.language == "sql") {
        run_sql(whole);
      } else if (block.language == "postgresql") {
        run_postgresql(whole);
      } else if (block.language == "redis") {
        run_redis(whole);
      } else if (block.language == "http") {
        run_http(whole);
      } else {
        return count;
      }
      whole.clear();
      ++count;
    }
    return count;
  }

  TemporaryDirectory folder_;
  std::optional<MariaDbServer> server_;
  std::optional<SqlSession> session_;
  std::optional<PostgresServer> postgres_;
  std::optional<PostgresSession> postgres_session_;
  std::optional<RedisServer> redis_;
  std::uint16_t port_ = free_port();
  std::uint16_t admin_port_ = free_port();
  std::string position_;  // what the last SQL said
  std::optional<ChildProcess> guard_;
};

TEST_F(Documents, say_what_can_be_typed_and_does_what_they_say) {
  std::map<std::string, int> commands;  // by language
  for (const std::string& page : pages()) {
    for (const Block& block : blocks_of(page)) {
      commands[block.language] += run(block);
    }
  }
  for (const char* const language : {"sh", "sql", "postgresql", "redis", "http"}) {
    EXPECT_GT(commands[language], 2) << language;
  }
  EXPECT_THAT(log(), testing::Not(testing::HasSubstr("control_not_allowed"))) << log();
  guard_->send_signal(SIGTERM);
  EXPECT_EQ(guard_->exit_code(), 0) << log();
}

}  // namespace
}  // namespace cuckooguard::harness
