#include "framework.h"

#include <fstream>
#include <stdexcept>
#include <string>

#include <fmt/format.h>

#include "harness/configuration.h"
#include "harness/guard_process.h"
#include "harness/redis_server.h"
#include "progress_line.h"
#include "sqlite_shop.h"

namespace cuckooguard::demo {
namespace {

using harness::Interrupt;

constexpr std::chrono::minutes kPatience{10};

// What the application's keys are made of: its KEY_PREFIX, the version 1, and the key.
std::string namespace_of(const char* name, const char* keys, const char* absent_reply) {
  return harness::Guarded{.name = name,
                          .keys = keys,
                          .table = "users, columns: { id: id }",
                          .fresh_ids = "",
                          .absent_reply = absent_reply,
                          .filter = ""}
      .yaml();
}

// What a program has written since, in whole lines.
class NewLines {
 public:
  explicit NewLines(const std::string& path) : file_(path) {}

  void say(ProgressLine& progress) {
    file_.clear();
    for (std::string line; std::getline(file_, line);) {
      progress.say(line);
    }
  }

 private:
  std::ifstream file_;
};

}  // namespace

bool run_framework(const Options& options) {
  ProgressLine progress;
  harness::TemporaryDirectory directory;
  if (options.keep) {
    directory.keep();
  }
  const std::string database_path = directory / "shop.db";
  SqliteShop database(database_path);
  progress.say(fmt::format("Creating {} with {} users", database.name(), options.mix.users));
  database.create(options.mix.users,
                  [](std::uint64_t) { Interrupt::require_until(Interrupt::Clock::now()); });
  const harness::RedisServer redis({}, {}, directory.folder("redis"));
  const auto guard = harness::GuardProcess::on_port(
      harness::Configuration{
          .upstream = redis.address(),
          .source = database.guard_source(),
          .namespaces = namespace_of("users_with_nil", "nil:1:user:{id:uint64}", "nil") +
                        namespace_of("users", "shop:1:user:{id:uint64}", "django"),
          .workers = "auto"}
          .yaml(),
      options.guard,
      directory.folder("guard"));
  // Debian's python3, which has Debian's Django; -B: it writes nothing beside its sources.
  const std::string log = directory / "application.log";
  std::ofstream(log).flush();
  harness::ChildProcess application({"/usr/bin/python3",
                                     "-B",
                                     options.application,
                                     "--database=" + database_path,
                                     "--redis=" + redis.address(),
                                     fmt::format("--guard=127.0.0.1:{}", guard.port()),
                                     fmt::format("--users={}", options.mix.users),
                                     fmt::format("--lookups={}", options.framework_lookups),
                                     fmt::format("--seed={}", options.mix.seed)},
                                    {log, log});
  NewLines lines(log);
  const auto has_ended = [&] {
    lines.say(progress);
    return !application.is_running();
  };
  const bool ends = harness::eventually(has_ended, kPatience);
  lines.say(progress);
  if (!ends) {
    throw std::runtime_error("the application does not end within 10 minutes");
  }
  return application.exit_code() == 0;
}

}  // namespace cuckooguard::demo
