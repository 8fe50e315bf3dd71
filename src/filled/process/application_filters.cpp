#include "process/application_filters.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "config/password_file.h"
#include "filled/filters.h"
#include "filled/local_store.h"
#include "filled/log_entry.h"
#include "io/clock.h"
#include "replicated/filter_log.h"
#include "served/filled.h"

namespace cuckooguard::guard {
namespace {

using app::ApplicationFilters;

constexpr std::size_t kKeyBytesMin = 16;

std::uint64_t wall_time() {
  return static_cast<std::uint64_t>(io::wall_time().time_since_epoch().count());
}

std::expected<std::string, std::string> read_key(const std::string& path) {
  std::string key = config::password_of(path, "");
  if (key.size() < kKeyBytesMin) {
    return std::unexpected(path + " is unreadable, or its first line has fewer than " +
                           std::to_string(kKeyBytesMin) + " bytes");
  }
  return key;
}

// The same on every guard that has the key.
filter::HashSecret hash_secret_of(std::string_view key) {
  const filled::LogKey log_key(key);
  filter::HashSecret secret;
  std::size_t at = 0;
  for (std::uint64_t part = 0; at < secret.bytes.size(); ++part) {
    filled::Mac mac = log_key.begin("hash of items");
    mac.add_number(part);
    for (const char byte : mac.finish()) {
      if (at < secret.bytes.size()) {
        secret.bytes.at(at++) = static_cast<std::byte>(byte);
      }
    }
  }
  return secret;
}

class KeptFilters final : public ApplicationFilters {
 public:
  KeptFilters(const filter::HashSecret& secret, filled::Filters::Room room)
      : filters_(secret, room) {}

  void start() override { start_(); }
  std::unique_ptr<CommandServer> commands(Guard& guard) override {
    return filled_commands(guard, *filled_);
  }
  void show(FactTable& table) const override { filled_facts(table, *filled_); }
  std::optional<Complaint> complaint() const override { return complaint_of(*filled_); }

  void share(const config::Config& config, const std::string& key, const Environment& environment);
  std::expected<void, std::string> keep_here(const config::Config& config,
                                             const Environment& environment);
  // Once they are shared, or kept here.
  void serve(const config::FilledFilters& settings) {
    filled_ = std::make_unique<Filled>(Filled::Parts{
        .filters = filters_, .store = *store_, .settings = settings, .wall_time = wall_time});
  }

 private:
  filled::Filters filters_;
  std::unique_ptr<filled::Store> store_;
  std::function<void()> start_;
  std::unique_ptr<Filled> filled_;
};

std::expected<void, std::string> KeptFilters::keep_here(const config::Config& config,
                                                        const Environment& environment) {
  auto store = std::make_unique<filled::LocalStore>(
      filters_,
      filled::LocalStore::Settings{
          .path = environment.storage != nullptr ? environment.storage->filled_path() : "",
          .every = config.storage.checkpoint_every,
          .wall_time = wall_time,
          .on_trouble = [&log = environment.log](const std::string& what) {
            log.warning("filters_trouble", {{"what", what}});
          }});
  auto restored = store->restore();
  start_ = [&store = *store] { store.start(); };
  store_ = std::move(store);
  return restored;
}

void KeptFilters::share(const config::Config& config,
                        const std::string& key,
                        const Environment& environment) {
  log::EventLog& log = environment.log;
  auto store = std::make_unique<replicated::FilterLog>(
      environment.redis_of,
      replicated::FilterLog::Settings{.prefix = config.filters.log, .key = key},
      filters_,
      replicated::FilterLog::Calls{
          .on_state =
              [&log, look_again = environment.look_again](replicated::FilterLog::State state,
                                                          const std::string& why) {
                if (state == replicated::FilterLog::State::lost) {
                  look_again();  // it may be elsewhere by now
                  log.warning("filters_state", {{"state", name_of(state)}, {"why", why}});
                } else {
                  log.info("filters_state", {{"state", name_of(state)}, {"why", why}});
                }
              },
          .on_new_generation = {},
          .on_trouble =
              [&log](const std::string& what) {
                log.warning("filters_trouble", {{"what", what}});
              }},
      &environment.tls);
  start_ = [&store = *store] { store.start(); };
  store_ = std::move(store);
}

}  // namespace

ApplicationFilters::Made make_application_filters(
    const config::Config& config, const ApplicationFilters::Environment& environment) {
  const bool is_shared = config.filters.durability == config::Durability::redis;
  const auto key =
      is_shared ? read_key(config.filters.secret_file) : std::expected<std::string, std::string>();
  if (!key) {
    return std::unexpected("filters.secret_file: " + key.error());
  }
  const filter::HashSecret secret = is_shared                        ? hash_secret_of(*key)
                                    : environment.storage != nullptr ? environment.storage->secret()
                                                                     : filter::random_secret();
  // Alone, what clients may have made is all that there is.
  const auto room = is_shared ? filled::Filters::Room{.bytes_max = config.filters.max_memory,
                                                      .is_one_of_several = true}
                              : filled::Filters::Room();
  auto made = std::make_unique<KeptFilters>(secret, room);
  if (is_shared) {
    made->share(config, *key, environment);
  } else if (auto kept = made->keep_here(config, environment); !kept) {
    return std::unexpected("filters: " + kept.error());
  }
  made->serve(config.filters);
  return made;
}

}  // namespace cuckooguard::guard
