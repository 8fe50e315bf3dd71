#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>

#include "cli/options.h"
#include "cli/output.h"
#include "cli/redis_call.h"
#include "config/values.h"
#include "text/try.h"

namespace cuckooguard::cli {
namespace {

config::Parsed<std::chrono::milliseconds> parse_timeout(std::string_view text) {
  return config::bounded(config::parse_duration,
                         std::chrono::milliseconds(1),
                         std::chrono::milliseconds(std::chrono::minutes(10)),
                         "must be from 1ms to 10m")(text);
}

// Of a Redis that no guard is in front of; or of a guard that is too old.
bool is_unknown_there(std::string_view reply) {
  constexpr std::array<std::string_view, 3> kWords{"ERR unknown command", "NOAUTH ", "NOPERM "};
  return std::ranges::any_of(kWords,
                             [reply](std::string_view word) { return reply.starts_with(word); });
}

// A Redis that takes connections and closes them at once ends pinned clients of the guard, before
// they are answered or after.
constexpr int kMoreAttempts = 4;

std::expected<std::string, std::string> ask(const Ping& options) {
  auto connection = TRY(RedisCall::open(options.address, options.timeout, options.tls.chosen()));
  const auto reply = TRY(connection.call({options.alive ? "GUARD.PING" : "PING"}));
  const bool has_text = reply.kind == resp::Value::Kind::text || reply.is_error();
  return has_text ? reply.text : "a reply";
}

}  // namespace

Parser Ping::add(Parser app) {
  Parser command = app.add_subcommand(
      "ping", "Send PING to a guard or a Redis: exits with 0 if it replies, with 1 if not");
  command
      .add_option(
          "address", into(address, config::parse_address), "ADDRESS", "host:port or unix:/path")
      .otherwise(address.text());
  command
      .add_option("--timeout",
                  into(timeout, parse_timeout),
                  "DURATION",
                  "Time limit for the connect and for the reply")
      .otherwise("2s");
  command.add_flag("--alive", alive, "Ping the guard itself, whatever the state of Redis");
  tls.add(command);
  return command;
}

int Ping::run() const {
  return print(ping(*this));
}

std::expected<std::string, std::string> ping(const Ping& options) {
  const auto deadline = std::chrono::steady_clock::now() + options.timeout;
  auto text = ask(options);
  for (int more = options.alive ? kMoreAttempts : 0;
       !text && more > 0 && std::chrono::steady_clock::now() < deadline;
       --more) {
    text = ask(options);
  }
  if (text && options.alive && is_unknown_there(*text)) {
    return std::unexpected(
        fmt::format("{}: not a guard, or too old for --alive: {}", options.address.text(), *text));
  }
  return text ? std::expected<std::string, std::string>(*text + "\n") : text;
}

}  // namespace cuckooguard::cli
