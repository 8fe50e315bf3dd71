#include "exactness/restarted_guard.h"

#include <algorithm>
#include <csignal>
#include <iterator>
#include <stdexcept>
#include <utility>

#include "harness/configuration.h"
#include "harness/deadline.h"

namespace cuckooguard::harness {
namespace {

// An id of a row that nobody else writes.
constexpr const char* kMarker = "99999";

}  // namespace

RestartedGuard::RestartedGuard(Shop shop, const GuardedFilters& guarded)
    : shop_(std::move(shop)), guarded_(guarded) {}

void RestartedGuard::start() {
  guard_.emplace(GuardProcess::on_port(Configuration{.upstream = redis_.address(),
                                                     .source = shop_.source,
                                                     .namespaces = shop_.namespaces,
                                                     .more = storage(kept_.path())}
                                           .yaml()));
}

void RestartedGuard::restart() {
  guard_->send_signal(SIGKILL);
  if (!guard_->exit_code()) {
    throw std::runtime_error("a guard that was killed is still there");
  }
  guard_.reset();
  ++kills_;
  start();
}

bool RestartedGuard::is_absent(RawClient& client, const std::string& key) const {
  return client.call({"GET", key}) == kAnswer;
}

// A row that comes and goes: once its key is answered absent again, all that was written before it
// has been applied.
bool RestartedGuard::is_current() const {
  RawClient client = guard_->client();
  const std::string key = std::string("user:") + kMarker;
  shop_.ask("INSERT INTO " + shop_.users + " (id, name) VALUES (" + kMarker + ", 'marker')");
  const bool is_seen = eventually([&] { return !is_absent(client, key); });
  shop_.ask("DELETE FROM " + shop_.users + " WHERE id = " + kMarker);
  return is_seen && eventually([&] {
           return is_absent(client, key) &&
                  std::ranges::all_of(shop_.nobodys, [&](const std::string& nobodys) {
                    return is_absent(client, nobodys);
                  });
         });
}

std::vector<std::string> RestartedGuard::hidden_keys() {
  RawClient client = guard_->client();
  std::vector<std::string> hidden;
  for (const std::string& key : guarded_.keys(shop_.ask)) {
    ++keys_;
    if (is_absent(client, key)) {
      hidden.push_back("a row is hidden: " + key);
    }
  }
  return hidden;
}

// Of the guard that has just ended.
std::vector<std::string> RestartedGuard::wrong_checkpoints() const {
  std::vector<std::string> wrong;
  for (const GuardedTable& guarded : guarded_.tables()) {
    const std::string name = guarded.table.substr(guarded.table.rfind('.') + 1);
    const std::filesystem::path file = kept_ / ("shop." + guarded.ns + "." + name + ".filter");
    const Ended inspected = run_guard({"filter", "inspect", file.string()});
    const auto rows = shop_.ask("SELECT COUNT(*) FROM " + guarded.table);
    const std::string items = "items: " + rows.at(0).at(0).value_or("") + "\n";
    if (guarded.is_unique && !inspected.standard_output.contains(items)) {
      wrong.push_back(guarded.ns + " has not " + items + inspected.standard_output +
                      inspected.standard_error);
    }
  }
  return wrong;
}

std::vector<std::string> RestartedGuard::wrong() {
  if (!is_current()) {
    return {"the guard does not become current:\n" + guard_->log()};
  }
  std::vector<std::string> found = hidden_keys();
  if (!found.empty()) {
    found.push_back(guard_->log());
  }
  read_anew_ += static_cast<unsigned>(guard_->log().contains("event=loaded"));
  guard_.reset();  // asks it to end, and it writes
  std::ranges::move(wrong_checkpoints(), std::back_inserter(found));
  start();
  return found;
}

std::string RestartedGuard::text() const {
  return "kills=" + std::to_string(kills_) + " read_anew=" + std::to_string(read_anew_) +
         " keys=" + std::to_string(keys_);
}

}  // namespace cuckooguard::harness
