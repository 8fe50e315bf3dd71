#include "framework.h"

#include <fstream>
#include <stdexcept>
#include <string>

#include <fmt/format.h>

#include "child_process.h"
#include "progress_line.h"
#include "servers.h"
#include "sqlite_users.h"
#include "temp_directory.h"

namespace cuckooguard::demo {
namespace {

constexpr std::chrono::minutes kPatience{10};

// What the application's keys are made of: its KEY_PREFIX, the version 1, and the key.
constexpr std::string_view kNamespaces = R"(
  users_with_nil:
    keys: "nil:1:user:{id:uint64}"
    source: { from: shop, table: users, columns: { id: id } }
    mode: enforce
    overlay: { pass_at_start: false }
    absent_reply: nil
  users:
    keys: "shop:1:user:{id:uint64}"
    source: { from: shop, table: users, columns: { id: id } }
    mode: enforce
    overlay: { pass_at_start: false }
    absent_reply: django
)";

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

bool run_framework(const Options& options, const Interrupt& interrupt) {
  ProgressLine progress;
  const TempDirectory directory(options.keep);
  const std::string database_path = directory.file("shop.db");
  SqliteUsers database(database_path);
  progress.say(fmt::format("Creating {} of {} users", database.name(), options.mix.users));
  database.create(options.mix.users, [&](std::uint64_t) {
    if (interrupt.requested()) {
      throw Interrupted();
    }
  });
  const Server redis = Server::redis(directory, interrupt);
  const Server guard = Server::guard({.program = options.guard,
                                      .redis = redis.endpoint(),
                                      .source = database.guard_source(),
                                      .namespaces = std::string(kNamespaces)},
                                     directory,
                                     interrupt);
  // Debian's python3, which has Debian's Django; -B: it writes nothing beside its sources.
  const std::string log = directory.file("application.log");
  std::ofstream(log).flush();
  ChildProcess application({"/usr/bin/python3",
                            "-B",
                            options.application,
                            "--database=" + database_path,
                            "--redis=" + redis.endpoint().text(),
                            "--guard=" + guard.endpoint().text(),
                            fmt::format("--users={}", options.mix.users),
                            fmt::format("--lookups={}", options.mix.lookups),
                            fmt::format("--seed={}", options.mix.seed)},
                           log);
  NewLines lines(log);
  const bool has_ended = interrupt.eventually(kPatience, [&] {
    lines.say(progress);
    return !application.is_running();
  });
  lines.say(progress);
  if (!has_ended) {
    throw std::runtime_error("the application does not end within 10 minutes");
  }
  return application.has_succeeded();
}

}  // namespace cuckooguard::demo
