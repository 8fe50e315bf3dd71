#include "fleet_status/fleet_status.h"

#include <algorithm>
#include <chrono>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "cli/output.h"
#include "cli/redis_call.h"
#include "config/values.h"
#include "fleet/layout.h"
#include "fleet/signature.h"
#include "text/try.h"
#include "upstream/redis_client.h"

namespace cuckooguard::cli {
namespace {

using namespace std::chrono_literals;

constexpr auto kMovesWithin = 1500ms;  // builders append twice a second, followers ask four times
constexpr auto kPatience = 2s;

// Of a builder, or of a follower.
struct Named {
  std::string name;
  const config::Fleet* fleet;
};
std::optional<Named> fleet_of(const config::Source& source) {
  if (const auto* const follower = std::get_if<config::FleetSource>(&source.kind)) {
    return Named{.name = follower->name, .fleet = &follower->fleet};
  }
  return source.publish == config::Publish::redis
             ? std::optional(Named{.name = source.name, .fleet = &source.fleet})
             : std::nullopt;
}

// Of a cluster the node that has the fleet's keys.
std::expected<RedisCall, std::string> open(const config::Upstream& settings,
                                           const std::string& meta) {
  RedisCall redis = TRY(RedisCall::open(settings, kPatience));
  const resp::Value reply = TRY(redis.call({"HLEN", meta}));
  if (!reply.is_error() || !reply.text.starts_with("MOVED ")) {
    return redis;
  }
  const std::string node = reply.text.substr(reply.text.rfind(' ') + 1);
  const config::Address address = TRY(config::parse_address(node));
  return RedisCall::open(upstream::settings_at(settings, address), kPatience);
}

std::expected<FleetSeen, std::string> look(RedisCall& redis, const fleet::Keys& keys) {
  const fleet::Meta meta(TRY(redis.ask({"HMGET", keys.meta, "epoch", "seq", "tag"})));
  const resp::Value asks = TRY(redis.ask({"HGETALL", keys.asks}));
  FleetSeen seen;
  seen.epoch = meta.epoch_number();
  seen.seq = meta.seq_number();
  for (std::size_t i = 0; i + 1 < asks.list.size(); i += 2) {
    if (auto ask = fleet::read_ask(asks.list[i + 1].text)) {
      seen.asks.emplace(asks.list[i].text, *std::move(ask));
    }
  }
  return seen;
}

// It asks the same as before.
bool is_silent(const std::string& name, const FleetReport& report) {
  const auto before = report.before.asks.find(name);
  const auto now = report.now.asks.find(name);
  return before != report.before.asks.end() && now != report.now.asks.end() &&
         before->second.nonce == now->second.nonce;
}

bool has_all_moved(const FleetReport& report) {
  return report.is_published() && std::ranges::none_of(report.now.asks, [&](const auto& each) {
           return is_silent(each.first, report);
         });
}

// Empty: it is as near as it can be.
std::string trouble_with(const std::string& name, const FleetReport& report) {
  return is_silent(name, report) ? "no longer polls the log" : report.now.asks.at(name).why;
}

std::string described_manifest(const FleetReport& report) {
  if (!report.manifest) {
    return "no manifest signed with a key in `public_key_files`: new followers cannot start\n";
  }
  const auto list = fleet::read_list(report.manifest->begin.list);
  std::size_t ready = 0;
  for (const auto& [number, table] : report.manifest->begin.tables) {
    ready += table.is_ready ? 1 : 0;
  }
  std::uint64_t bytes = 0;
  for (const fleet::Snapshot& snapshot : report.manifest->snapshots) {
    bytes += snapshot.bytes;
  }
  return fmt::format("builder {}; tables {}, ready {}, with a snapshot {} ({} bytes)\n",
                     list && !list->builder.empty() ? list->builder : "not named",
                     report.manifest->begin.tables.size(),
                     ready,
                     report.manifest->snapshots.size(),
                     bytes);
}

}  // namespace

void add_fleet_commands(Parser app, Commands& commands) {
  Parser fleet = app.add_subcommand("fleet", "Inspect the builders and followers of a fleet", true);
  commands.add(fleet, FleetStatus{});
}

Parser FleetStatus::add(Parser fleet) {
  Parser command = from.add(fleet.add_subcommand(
      "status", "Show which builder publishes a fleet's log, and which followers lag, and why"));
  command.add_option("--redis", redis, "ADDRESS", "Redis that holds the fleet's log")
      .otherwise("upstream.address");
  command.add_flag("--all", all, "Show all followers, not only those that lag");
  return command;
}

int FleetStatus::run(const app::Guests& guests) const {
  return print(fleet_status_of(*this, guests.built));
}

std::string describe(const FleetReport& report, bool shows_all) {
  std::string text = fmt::format("fleet {}: epoch {}, entry {}, {}\n{}",
                                 report.name,
                                 report.now.epoch,
                                 report.now.seq,
                                 report.is_published() ? "published" : "no builder publishes",
                                 described_manifest(report));
  std::size_t behind = 0;
  for (const auto& [name, ask] : report.now.asks) {
    const std::string trouble = trouble_with(name, report);
    behind += trouble.empty() ? 0 : 1;
    if (shows_all || !trouble.empty()) {
      fleet::Ask shown = ask;
      shown.why = trouble;
      text += fmt::format("{}: {}\n", name, fleet::words_of(shown, report.now.seq));
    }
  }
  return text + fmt::format("fleet: publishes={} followers={} behind={}\n",
                            report.is_published() ? "yes" : "no",
                            report.now.asks.size(),
                            behind);
}

std::expected<std::string, std::string> fleet_status_of(const FleetStatus& options,
                                                        const config::Built& built) {
  const config::Config config = TRY(options.from.load(built));
  const config::Source* const source = TRY(options.from.choose(
      config, "of type fleet, or with `publish`", [](const config::Source& each) {
        return fleet_of(each).has_value();
      }));
  const Named named = fleet_of(*source).value_or(Named{});
  const auto verifying = TRY(fleet::VerifyingKeys::load(named.fleet->public_key_files));
  config::Upstream upstream = config.upstream;
  if (!options.redis.empty()) {
    upstream.address = TRY(config::parse_address(options.redis));
  }
  const fleet::Keys keys(named.fleet->prefix, named.name);
  auto redis = TRY(open(upstream, keys.meta));
  FleetReport report{.name = named.name, .before = TRY(look(redis, keys)), .now = {}};
  report.now = report.before;
  const auto deadline = std::chrono::steady_clock::now() + kMovesWithin;
  do {  // one entry after the other
    TRY(redis.ask({"XREAD", "BLOCK", "300", "STREAMS", keys.log, fleet::id_of(report.now.seq)}));
    report.now = TRY(look(redis, keys));
  } while (!has_all_moved(report) && std::chrono::steady_clock::now() < deadline);
  if (report.now.epoch == 0) {
    return std::unexpected("no builder has published `" + named.name + "` in " +
                           upstream.address.text());
  }
  report.manifest = fleet::read_manifest(TRY(redis.ask({"GET", keys.manifest})).text, verifying);
  return describe(report, options.all);
}

}  // namespace cuckooguard::cli
