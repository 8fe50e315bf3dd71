#include "simulation/sim_shop.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "simulation/resp_text.h"

namespace cuckooguard::simulation {
namespace {

struct Plan {
  std::string_view name;
  std::string_view prefix;
  std::string_view key;
  bool is_integer;
  bool canonical_keys;
  int db;
  config::Mode mode;
  std::uint64_t rows;
};

constexpr std::array<Plan, SimShop::kNamespaces> kPlans{{
    {"users", "user:", "user:{id:uint64}", true, false, 0, config::Mode::enforce, 400},
    {"items", "item:", "item:{sku}", false, false, 0, config::Mode::enforce, 150},
    {"orders", "order:", "order:{id:uint64}", true, true, 0, config::Mode::enforce, 200},
    {"carts", "cart:", "cart:{id}", false, false, 2, config::Mode::enforce, 50},
    {"drafts", "draft:", "draft:{id}", false, false, 0, config::Mode::observe, 50},
}};

// Of all that may be answered the simulated Redis has these.
std::shared_ptr<const redis::Commands> known_commands() {
  auto commands = std::make_shared<redis::Commands>();
  for (const redis::Command& command : redis::all_commands()) {
    const bool is_here =
        command.name == "get" || command.name == "mget" || command.name == "exists";
    if (redis::may_be_answered(command.role) && !is_here) {
      commands->listed.reset(redis::command_index(command));
    }
  }
  return commands;
}

constexpr std::size_t kGuardedKeyBytesMax = 16 * 1024;

bool is_canonical_number(std::string_view text) {
  constexpr std::string_view kLargest = "18446744073709551615";
  const bool fits =
      text.size() < kLargest.size() || (text.size() == kLargest.size() && text <= kLargest);
  return !text.empty() && fits && (text == "0" || text.front() != '0') &&
         std::ranges::all_of(text, [](char digit) { return digit >= '0' && digit <= '9'; });
}

}  // namespace

SimShop::SimShop(SimLoop& loop, std::uint64_t seed)
    : loop_(loop),
      random_(seed),
      keyspace_(build_keyspace()),
      epochs_(1),
      spaces_(kNamespaces),
      commands_(known_commands()) {
  for (std::uint32_t ns = 0; ns < kNamespaces; ++ns) {
    Space& space = spaces_[ns];
    space.parts = std::make_unique<filter::LiveParts>(epochs_, secret());
    space.filter = space.parts->add(kPlans[ns].name);
    space.parts->set_complete(true);
    space.overlay = std::make_unique<guard::Overlay>(
        guard::Overlay::Limits{.max_keys = 1'000'000, .ttl = kOverlayTtl});
    guarded_.push_back({.mode = kPlans[ns].mode,
                        .db = kPlans[ns].db,
                        .filter_key = std::string(kPlans[ns].name),
                        .filter = space.parts.get(),
                        .overlay = space.overlay.get()});
  }
  guarded_[kItems].absent_reply =
      guard::AbsentReplyBytes({.nil = false, .bytes = std::string(kItemAbsent)});
  for (Worker& worker : workers_) {
    worker.guard = std::make_unique<guard::Guard>(
        guard::Guard::Parts{.keyspace = keyspace_, .namespaces = guarded_, .facts = facts_});
    worker.commands = std::make_unique<guard::OwnCommands>(
        *worker.guard, guard::guard_commands(*worker.guard), guard::filter_commands(*worker.guard));
  }
  fill();
}

keyspace::Keyspace SimShop::build_keyspace() {
  std::vector<keyspace::NamespaceTemplates> namespaces;
  for (const Plan& plan : kPlans) {
    std::vector<keyspace::KeyTemplate> templates;
    templates.push_back(keyspace::KeyTemplate::parse(plan.key).value());
    namespaces.push_back({std::string(plan.name), std::move(templates), plan.canonical_keys});
  }
  return keyspace::Keyspace::build(std::move(namespaces)).value();
}

filter::HashSecret SimShop::secret() {
  filter::HashSecret secret;
  for (std::byte& byte : secret.bytes) {
    byte = static_cast<std::byte>(random_.next());
  }
  return secret;
}

void SimShop::fill() {
  for (std::uint32_t ns = 0; ns < kNamespaces; ++ns) {
    for (std::uint64_t i = 0; i < kPlans[ns].rows; ++i) {
      commit_row(ns);
    }
    for (auto& [identity, committed] : spaces_[ns].rows) {
      committed -= kMaxLag;
    }
  }
}

void SimShop::start() {
  apply_all();
  for (std::uint32_t ns = 0; ns < kNamespaces; ++ns) {
    rebuild(ns);
    spaces_[ns].is_published = true;
  }
  apply_later();
  prove();
}

std::string SimShop::key_of(std::uint32_t ns, const std::string& identity) const {
  return std::string(kPlans[ns].prefix) + identity;
}

std::string SimShop::commit_row(std::uint32_t ns) {
  Space& space = spaces_[ns];
  const std::string identity = kPlans[ns].is_integer ? std::to_string(++space.largest_committed)
                                                     : "t" + std::to_string(++next_text_);
  space.rows[identity] = loop_.now();
  unapplied_.push_back({ns, identity, true});
  return key_of(ns, identity);
}

void SimShop::delete_row(std::uint32_t ns) {
  Space& space = spaces_[ns];
  if (space.rows.size() > 10) {
    const auto row = std::next(space.rows.begin(),
                               static_cast<std::ptrdiff_t>(random_.below(space.rows.size())));
    unapplied_.push_back({ns, row->first, false});
    space.rows.erase(row);
  }
}

void SimShop::apply_all() {
  for (; !unapplied_.empty(); unapplied_.pop_front()) {
    const Change& change = unapplied_.front();
    Space& space = spaces_[change.ns];
    const filter::CuckooFilter* const filter = space.filter->writable();
    if (change.is_insert) {
      if (filter != nullptr) {
        space.filter->insert(filter->hash(change.identity));
      }
      space.applied.insert(change.identity);
    } else {
      if (filter != nullptr) {
        space.filter->erase(filter->hash(change.identity));
      }
      space.applied.erase(change.identity);
    }
    if (kPlans[change.ns].is_integer && change.is_insert) {
      space.largest_applied =
          std::max<std::uint64_t>(space.largest_applied, std::stoull(change.identity));
      space.filter->set_growth(space.largest_applied, kFreshWindow);
    }
  }
}

void SimShop::apply_later() {
  loop_.at(std::chrono::microseconds(random_.between(100, 60'000)), [this] {
    if (applier_stalled_until_ <= loop_.now()) {
      apply_all();
    }
    if (!is_stopped_) {
      apply_later();
    }
  });
}

// Asked at `asked`: is all applied that was committed until now? The answer takes a while to be
// believed.
void SimShop::prove() {
  const io::TimePoint asked = loop_.now();
  if (unapplied_.empty() && no_proof_until_ <= asked) {
    loop_.at(std::chrono::microseconds(random_.below(20'000)), [this, asked] {
      for (Space& space : spaces_) {
        space.fresh_until = asked + kMaxLag;
        space.filter->set_fresh_until(space.fresh_until);
      }
    });
  }
  loop_.at(std::chrono::milliseconds(random_.between(100, 250)), [this] {
    if (!is_stopped_) {
      prove();
    }
  });
}

void SimShop::rebuild(std::uint32_t ns) {
  Space& space = spaces_[ns];
  auto next = std::make_unique<filter::CuckooFilter>(
      filter::sizing_for(
          filter::Layout::w20, random_.between(2000, 6000), filter::DeleteMode::exact),
      space.parts->secret());
  for (const std::string& identity : space.applied) {
    next->insert(next->hash(identity));
  }
  space.filter->publish(std::move(next));
}

void SimShop::publish_users(std::set<std::string, std::less<>> unrestricted,
                            bool default_needs_no_password) {
  known_ = {.unrestricted = std::move(unrestricted),
            .default_needs_no_password = default_needs_no_password};
  ask_users_again();
}

std::string SimShop::existing_key(std::uint32_t ns) {
  const auto& rows = spaces_[ns].rows;
  return key_of(
      ns, std::next(rows.begin(), static_cast<std::ptrdiff_t>(random_.below(rows.size())))->first);
}

std::string SimShop::key_just_above(std::uint64_t distance) const {
  return key_of(kUsers, std::to_string(spaces_[kUsers].largest_committed + distance));
}

std::optional<SimShop::Name> SimShop::parse(std::string_view key) {
  if (key.size() > kGuardedKeyBytesMax) {
    return std::nullopt;
  }
  for (std::uint32_t ns = 0; ns < kNamespaces; ++ns) {
    const Plan& plan = kPlans[ns];
    if (!key.starts_with(plan.prefix)) {
      continue;
    }
    const std::string_view identity = key.substr(plan.prefix.size());
    if (identity.empty() || identity.find(':') != std::string_view::npos) {
      return std::nullopt;
    }
    const bool is_impossible = plan.is_integer && !is_canonical_number(identity);
    if (is_impossible && !plan.canonical_keys) {
      return std::nullopt;
    }
    return Name{ns, std::string(identity), is_impossible};
  }
  return std::nullopt;
}

bool SimShop::is_learned(std::string_view key, std::optional<std::string_view> value) {
  const auto name = parse(key);
  return name && (name->ns != kItems || value != kItemAbsent);
}

void SimShop::on_write(std::string_view key,
                       std::optional<std::string_view> value,
                       io::TimePoint when) {
  if (is_learned(key, value)) {
    io::TimePoint& until = written_until_[std::string(key)];
    until = std::max(until, when + kOverlayTtl);
  }
}

const char* SimShop::why_not_absent(std::string_view key, int db) const {
  const auto name = parse(key);
  if (!name) {
    return "the key is not guarded";
  }
  const Space& space = spaces_[name->ns];
  const Plan& plan = kPlans[name->ns];
  const io::TimePoint now = loop_.now();
  if (plan.mode != config::Mode::enforce) {
    return "the namespace only observes";
  }
  if (plan.db != db) {
    return "the client has selected another db";
  }
  if (!space.is_published || now >= space.fresh_until) {
    return "the filter is not fresh";
  }
  const auto row = space.rows.find(name->identity);
  if (row != space.rows.end() && row->second + kMaxLag <= now) {
    return "the row exists";
  }
  if (space.applied.contains(name->identity)) {
    return "the filter holds the row";
  }
  if (const auto written = written_until_.find(key);
      written != written_until_.end() && now <= written->second) {
    return "the key was written a moment ago";
  }
  if (name->ns == kUsers || (name->ns == kOrders && !name->is_impossible)) {
    const std::uint64_t id = std::stoull(name->identity);
    if (id > space.largest_applied && id <= space.largest_applied + kFreshWindow) {
      return "the id is just above the largest";
    }
  }
  return nullptr;
}

const char* SimShop::why_not_user(const std::string& user) const {
  return known_.unrestricted.contains(user) ? nullptr : "the user is not known to be unrestricted";
}

std::string SimShop::absent_reply(std::string_view key, int version) const {
  const auto name = parse(key);
  return name && name->ns == kItems ? bulk(kItemAbsent) : nil(version);
}

}  // namespace cuckooguard::simulation
