#include "breakdown/cached_application.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "harness/missing.h"

namespace cuckooguard::harness {
namespace {

constexpr const char* kPython = "/usr/bin/python3";  // Debian's, whose packages are meant
constexpr std::uint64_t kNobody = 1'000'000'000;

std::string file(const std::string& name) {
  return std::string(CUCKOOGUARD_HERDS) + "/" + name;
}

std::string yaml(const Guarding& guarding, const std::string& redis, const std::string& rows) {
  return "upstream: { address: \"" + redis + "\", mode: " + guarding.mode +
         " }\nworkers: 2\nsources:\n  rows: { type: file, path: \"" + rows +
         "\", format: lines }\nnamespaces:\n  users:\n    keys: [ \"user:{id:uint64}\", "
         "\":1:user:{id:uint64}\", \"laravel_database_laravel_cache:user:{id:uint64}\" ]\n"
         "    source: { from: rows }\n    mode: enforce\n    absent_reply: nil\n"
         "    overlay: { pass_at_start: false }\n    breakdown: " +
         guarding.breakdown + "\n";
}

std::string rows_in_lines() {
  std::string lines;
  for (std::uint64_t id = 1; id <= kHerdRows; ++id) {
    lines += std::to_string(id) + "\n";
  }
  return lines;
}

void append(Herd::Round& sum, const Herd::Round& round) {
  sum.loads += round.loads;
  sum.most_at_once = std::max(sum.most_at_once, round.most_at_once);
  sum.wrong += round.wrong;
  sum.total_ms += round.total_ms;
  sum.took_ms.insert(sum.took_ms.end(), round.took_ms.begin(), round.took_ms.end());
}

}  // namespace

Application python_redis(std::size_t clients, std::size_t pool) {
  return {.name = "python-redis",
          .program = {kPython, "-B", file("herd.py"), "redis"},
          .size = {std::to_string(clients), std::to_string(pool)},
          .clients = clients};
}

Application never_sets(std::size_t clients) {
  Application application = python_redis(clients, clients);
  application.program.back() = "never";
  return application;
}

Application django(std::size_t clients) {
  return {.name = "django",
          .program = {kPython, "-B", file("herd.py"), "django"},
          .size = {std::to_string(clients), std::to_string(clients)},
          .clients = clients,
          .key_prefix = ":1:user:"};
}

Application hiredis(std::size_t clients) {
  return {.name = "hiredis",
          .program = {CUCKOOGUARD_HERD_HIREDIS},
          .size = {std::to_string(clients)},
          .clients = clients};
}

Application phpredis(std::size_t clients) {
  return {.name = "phpredis",
          .program = {"php", file("herd.php"), "phpredis"},
          .size = {std::to_string(clients)},
          .clients = clients};
}

Application laravel(std::size_t clients) {
  return {.name = "laravel",
          .program = {"php", file("herd.php"), "laravel"},
          .size = {std::to_string(clients)},
          .clients = clients,
          .key_prefix = "laravel_database_laravel_cache:user:"};
}

Application rails(std::size_t processes, std::size_t threads) {
  return {.name = "rails",
          .program = {"ruby", file("herd.rb")},
          .size = {std::to_string(processes), std::to_string(threads)},
          .clients = processes * threads};
}

Application ioredis(std::size_t clients) {
  return {.name = "ioredis",
          .program = {"node", file("herd.mjs"), "ioredis", CUCKOOGUARD_NODE_FOLDER},
          .size = {std::to_string(clients)},
          .clients = clients};
}

Application node_redis(std::size_t clients) {
  return {.name = "node-redis",
          .program = {"node", file("herd.mjs"), "node-redis", CUCKOOGUARD_NODE_FOLDER},
          .size = {std::to_string(clients)},
          .clients = clients};
}

std::optional<std::string> missing_for(const Application& application) {
  const std::string& program = application.program.front();
  if (program == kPython) {
    return missing_packages("python3-redis and python3-django-redis",
                            {kPython, "-c", "import redis, django_redis"});
  }
  if (program == "php") {
    return missing_packages("php-cli, php-illuminate-cache, php-illuminate-redis and php-redis",
                            {"php",
                             "-r",
                             "foreach (['Cache', 'Redis'] as $name)"
                             " { require \"Illuminate/$name/autoload.php\"; }"
                             "exit(class_exists('Redis') ? 0 : 1);"});
  }
  if (program == "ruby") {
    return missing_packages(
        "ruby, ruby-activesupport and ruby-redis",
        {"ruby", "-e", "%w[active_support redis].each { |name| require name }"});
  }
  return program == "node" ? missing_node_module(CUCKOOGUARD_NODE_FOLDER, "ioredis") : std::nullopt;
}

CachedApplication::CachedApplication(Application application,
                                     const Guarding& guarding,
                                     Loading loading)
    : application_(std::move(application)), herd_(loading.time, loading.at_a_time) {
  if (!guarding.breakdown.empty()) {
    write_whole_file(directory_ / "rows", rows_in_lines());
    guard_.emplace(
        GuardProcess::on_port(yaml(guarding, redis_.address(), (directory_ / "rows").string())));
    const std::string nobody = "user:" + std::to_string(kNobody);
    if (!eventually([&] { return guard_->call({"GUARD.CHECK", nobody}) == "*1\r\n:0\r\n"; })) {
      throw std::runtime_error("the guard does not answer absent keys: " + guard_->log());
    }
  }
  program_.emplace(command(), ChildProcess::Output{directory_ / "output", directory_ / "output"});
  herd_.wait_for(application_.clients);
  // Nobody has it yet.
  herd_.run(std::vector<std::uint64_t>(application_.clients, kHotRow));
}

std::vector<std::string> CachedApplication::command() const {
  std::vector<std::string> command = application_.program;
  command.insert(command.end(), {std::to_string(port()), std::to_string(herd_.port())});
  command.insert(command.end(), application_.size.begin(), application_.size.end());
  return command;
}

Herd::Round CachedApplication::expire() {
  return expire(application_.clients);
}

Herd::Round CachedApplication::expire(std::size_t lookups) {
  const std::string key = application_.key_prefix + std::to_string(kHotRow);
  RawClient client = redis_.client();
  client.call({"PEXPIRE", key, "1"});
  if (!eventually([&] { return client.call({"EXISTS", key}) == ":0\r\n"; })) {
    throw std::runtime_error("a key does not expire");
  }
  return herd_.run(std::vector<std::uint64_t>(lookups, kHotRow));
}

Herd::Round CachedApplication::expire_again_and_again(std::size_t rounds) {
  Herd::Round sum;
  for (std::size_t i = 0; i < rounds; ++i) {
    append(sum, expire());
  }
  sum.total_ms /= static_cast<double>(rounds);
  std::ranges::sort(sum.took_ms);
  return sum;
}

Herd::Round CachedApplication::restart_redis(std::uint64_t rows) {
  redis_.kill();
  redis_.start_again();
  std::vector<std::uint64_t> ids;
  for (std::uint64_t id = 1; id <= rows; ++id) {
    ids.push_back(id);
    // Loaded a while ago by then, or by somebody just now.
    ids.push_back(id > application_.clients ? id - application_.clients : id);
  }
  return herd_.run(ids);
}

std::uint64_t CachedApplication::info(const std::string& field) const {
  const std::string text = info_field(*guard_, "users", field);
  if (text.empty()) {
    throw std::runtime_error("GUARD.INFO has no " + field);
  }
  return std::stoull(text);
}

}  // namespace cuckooguard::harness
