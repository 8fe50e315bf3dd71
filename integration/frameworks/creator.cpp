#include "frameworks/creator.h"

#include <sstream>

#include <gtest/gtest.h>

#include "frameworks/application.h"
#include "harness/child_process.h"
#include "harness/deadline.h"
#include "harness/missing.h"
#include "harness/temporary_directory.h"

namespace cuckooguard::harness {
namespace {

constexpr milliseconds kPatienceOfALongForm{3'600'000};
constexpr const char* kPython = "/usr/bin/python3";  // Debian's, as in frameworks_test.cpp

std::string file(const std::string& name) {
  return std::string(CUCKOOGUARD_FRAMEWORKS) + "/" + name;
}

std::optional<std::string> missing_for_node(const std::string& database) {
  const std::string folder = CUCKOOGUARD_NODE_FOLDER;
  if (database != "sqlite") {
    return missing_node_module(folder, "pg");
  }
  // It is not among the others: npm would have to run what it says is to be run.
  return missing_node_module(folder, "better-sqlite3")
             ? std::optional(
                   "better-sqlite3, which has to be compiled, is not installed: npm "
                   "install --no-save better-sqlite3@12 in " +
                   folder)
             : std::nullopt;
}

}  // namespace

const char* name_of(Framework framework) {
  switch (framework) {
    case Framework::django:
      return "django";
    case Framework::rails:
      return "rails";
    case Framework::laravel:
      return "laravel";
    case Framework::node:
      return "node";
  }
  return "";
}

std::optional<std::string> missing_for(Framework framework, const std::string& database) {
  switch (framework) {
    case Framework::django:
      return missing_packages("python3-django-redis, python3-mysqldb and python3-psycopg2",
                              {kPython, "-c", "import django_redis, MySQLdb, psycopg2"});
    case Framework::rails:
      return missing_packages(
          "ruby, ruby-activerecord, ruby-redis, ruby-mysql2, ruby-pg and ruby-sqlite3",
          {"ruby", "-e", "%w[active_record redis mysql2 pg sqlite3].each { |name| require name }"});
    case Framework::laravel:
      return missing_packages(
          "php-cli, php-illuminate-cache, php-illuminate-database, php-illuminate-redis, "
          "php-redis, php-mysql, php-pgsql and php-sqlite3",
          {"php",
           "-r",
           "foreach (['Cache', 'Database', 'Redis'] as $name)"
           " { require \"Illuminate/$name/autoload.php\"; }"
           "exit(class_exists('Redis') && !array_diff(['mysql', 'pgsql', 'sqlite'],"
           " PDO::getAvailableDrivers()) ? 0 : 1);"});
    case Framework::node:
      return missing_for_node(database);
  }
  return std::nullopt;
}

Creator creator_on(Framework framework) {
  switch (framework) {
    case Framework::django:
      return {.name = "django",
              .key_prefix = ":1:",
              .absent_reply = "django",
              .program = {kPython, "-B", file("django_redis/created_and_read.py")}};
    case Framework::rails: {
      const std::string program = file("rails/created_and_read.rb");
      const std::string hex = run_program({"ruby", program, "--absent"}).standard_output;
      return {.name = "rails",
              .key_prefix = "",
              .absent_reply = "hex:" + hex.substr(0, hex.find('\n')),
              .program = {"ruby", program}};
    }
    case Framework::laravel:
      return {.name = "laravel",
              .key_prefix = "laravel_database_laravel_cache:",
              .absent_reply = "bytes:b:0;",
              .program = {"php", file("laravel/created_and_read.php")}};
    case Framework::node:
      return {.name = "node",
              .key_prefix = "",
              .absent_reply = "bytes:__ABSENT__",
              .program = {"node", file("ioredis/created_and_read.mjs"), CUCKOOGUARD_NODE_FOLDER}};
  }
  return {};
}

Created create_and_read(const Creator& creator,
                        std::uint16_t port,
                        const std::string& url,
                        const Work& work,
                        const std::function<void()>& on_ready) {
  const TemporaryDirectory directory;
  std::vector<std::string> command = creator.program;
  command.insert(command.end(),
                 {std::to_string(port),
                  url,
                  work.table,
                  std::to_string(work.processes),
                  std::to_string(work.rows),
                  work.when,
                  std::to_string(work.interval_ms)});
  ChildProcess program(command, {directory / "output", directory / "errors"});
  const auto output = [&] { return read_whole_file(directory / "output"); };
  EXPECT_TRUE(eventually([&] { return output().contains("ready") || !program.is_running(); }));
  on_ready();
  EXPECT_EQ(program.exit_code(kPatienceOfALongForm), 0)
      << output() << read_whole_file(directory / "errors");
  Created sum;
  std::istringstream lines(output());
  for (std::string line; std::getline(lines, line);) {
    auto values = values_of(line);
    sum.rows += number(values["rows"]);
    sum.absent += number(values["absent"]);
  }
  return sum;
}

}  // namespace cuckooguard::harness
