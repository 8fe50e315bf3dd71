#include "guard/guard.h"

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <utility>

#include "guard/command_table.h"

namespace cuckooguard::guard {

// A longer key may pass unread in a streamed write: it must never be looked up.
static_assert(keyspace::kKeyBytesMax <= resp::kWholeArgumentBytesMax);

Guard::Guard(const Parts& parts) : parts_(parts), facts_(parts.facts.snapshot()) {
  adopt(parts);
}

Guard::~Guard() = default;

void Guard::adopt(const Parts& parts) {
  Parts copy = parts;  // may be the own ones
  // Others hold references to the parts, which hold references: new ones are made in their place.
  std::destroy_at(&parts_);
  std::construct_at(&parts_, std::move(copy));
  access_ = nullptr;
  namespace_counters_.clear();
  stamped_replies_.clear();
  for (const GuardedNamespace& space : parts.namespaces) {
    if (space.absent_reply.is_stamped() && !parts.wall_time) {
      throw std::logic_error("an absent reply that carries the time needs a clock");
    }
    namespace_counters_.push_back(&space.counts->by_worker.at(parts.worker));
    stamped_replies_.push_back({.reply = space.absent_reply, .due = TimePoint::min()});
  }
}

Decision Guard::decide(const Command& command,
                       Arguments arguments,
                       ClientState& client,
                       TimePoint now,
                       bool may_answer) {
  if (client.is_transparent()) {
    return {.action = Action::transparent};
  }
  switch (command.role) {
    case Role::plain:
      return {};
    case Role::get:
      return may_look_up(command, client, may_answer) ? decide_get(arguments, client, now)
                                                      : Decision{};
    case Role::getex:
      return may_look_up(command, client, may_answer) ? decide_getex(arguments, client, now)
                                                      : Decision{};
    case Role::mget:
      return may_look_up(command, client, may_answer) ? decide_mget(arguments, client, now)
                                                      : Decision{};
    case Role::exists:
      return may_look_up(command, client, may_answer) ? decide_exists(arguments, client, now)
                                                      : Decision{};
    case Role::read:
      return may_look_up(command, client, may_answer) ? decide_read(command, arguments, client, now)
                                                      : Decision{};
    case Role::write:
    case Role::unknown:
      learn(command, arguments, now);
      return {};
    default:
      return decide_change(command, arguments, client);
  }
}

Lane Guard::lane_of(const Command& command, Arguments arguments, const ClientState& client) const {
  const Lane lane = guard::lane_of(command, arguments);
  return lane == Lane::shared && may_be_too_large(arguments, client) ? Lane::for_good : lane;
}

// Redis may close the connection at once, since nobody has logged in there.
bool Guard::may_be_too_large(Arguments arguments, const ClientState& client) const {
  const bool is_large = std::ssize(arguments) > resp::kUnauthenticatedArgumentsMax ||
                        std::ranges::any_of(arguments, [](std::string_view argument) {
                          return std::ssize(argument) > resp::kUnauthenticatedArgumentBytesMax;
                        });
  return is_large && client.login(*facts_) != ClientState::Login::yes;
}

// As of now: one load, unless something has changed.
const Snapshot& Guard::facts() {
  if (parts_.facts.version() != facts_->version) {
    facts_ = parts_.facts.snapshot();
  }
  return *facts_;
}

// By namespace it is known under the numbers of those that Redis was asked about.
const UserAccess* Guard::access_of(ClientState& client) {
  const UserAccess* const access = client.access(*facts_, parts_.facts);
  const bool holds =
      access == nullptr || access->is_unrestricted || access->numbering == parts_.numbering;
  return holds ? access : nullptr;
}

// As this Redis has it: what it does not list under a name of the table is something else, or nothing; what the table
// lacks may be known from Redis.
const Command& Guard::find(std::string_view name) {
  const Command& command = find_command(name);
  const Commands& known = *facts().commands;
  if (command.role == Role::unknown) {
    const Command* const learned = known.find_learned(name);
    return learned != nullptr ? *learned : command;
  }
  const bool may_touch_keys = command.role <= Role::write;
  return may_touch_keys && !known.listed[command_index(command)] ? find_command({}) : command;
}

// Redis will surely not refuse.
bool Guard::may_do_anything(ClientState& client) {
  const UserAccess* const access = client.access(*facts_, parts_.facts);
  return facts_->availability == Availability::available && access != nullptr &&
         access->is_unrestricted;
}

Decision Guard::decide_change(const Command& command, Arguments arguments, ClientState& client) {
  const auto reply_mode = reply_mode_of(command, arguments);
  if (reply_mode && client.can_set_reply_mode() && may_do_anything(client)) {
    client.set_reply_mode(*reply_mode);
    return {};
  }
  if (makes_transparent(command, arguments)) {
    client.become_transparent();
    return {.action = Action::transparent};
  }
  auto change = state_change_of(command, arguments, client.may_be_in_multi());
  if (change && change->kind == ChangeKind::label) {
    if (!client.remembers_what_was_told()) {
      return {};
    }
    if (client.may_be_in_multi()) {
      change->kind = ChangeKind::unknown;  // it takes effect at EXEC, or never
    }
  }
  if (!change) {
    return {};
  }
  if (change->kind == ChangeKind::reset && client.has_replies_off() && arguments.size() == 1 &&
      may_do_anything(client)) {
    client.set_reply_mode(ReplyMode::on);  // RESET does so before it replies
  }
  // A change whose outcome could not be seen, or confirmations that would come at another time.
  if (client.is_silent() || (change->kind == ChangeKind::subscribe && !client.can_subscribe())) {
    return change_unseen(*change, client);
  }
  change_ = *std::move(change);
  if (change_.kind == ChangeKind::end_multi && client.has_queued_for_all()) {
    change_.for_all_clients = true;
  }
  if (change_.for_all_clients) {
    client.tell(parts_.facts);
  }
  return {.change = &change_};
}

// Nobody will see its reply. What it may change for all clients is in doubt until the connection ends.
Decision Guard::change_unseen(const StateChange& change, ClientState& client) {
  if (change.for_all_clients) {
    client.tell(parts_.facts);
    client.sent(change);
  }
  client.become_transparent();
  return {.action = Action::transparent};
}

void Guard::learn(const Command& command, Arguments arguments, TimePoint now) {
  const KeyIndexes keys = key_indexes(command, arguments);
  for (std::size_t i = keys.first; i < keys.end; i += keys.step) {
    const std::size_t value = i + command.value_offset;
    const bool has_value = value != i && value < arguments.size();
    learn_key(arguments[i], has_value ? &arguments[value] : nullptr, now);
  }
  if (keys.also != 0) {
    learn_key(arguments[keys.also], nullptr, now);
  }
}

// What the overlay knows a key by. A key that no row can have has no identity; it may be written all the same.
std::string_view Guard::overlay_identity(const keyspace::Lookup& found, std::string_view key) {
  return found.kind == keyspace::Lookup::Kind::impossible ? key : found.identity;
}

// `value`: what the write makes the key's whole value, if it does.
void Guard::learn_key(std::string_view key, const std::string_view* value, TimePoint now) {
  const keyspace::Lookup found = parts_.keyspace.match(key, identity_);
  if (found.kind == keyspace::Lookup::Kind::unguarded) {
    return;
  }
  const GuardedNamespace& space = parts_.namespaces[found.ns];
  if (space.mode == config::Mode::bypass ||
      (value != nullptr && space.absent_reply.is_written_as(*value))) {
    return;
  }
  space.overlay->add(space.filter->hash(overlay_identity(found, key)), now);
  namespace_counters_[found.ns]->learned.add();
}

bool Guard::add(std::string_view key, TimePoint now, std::optional<std::chrono::seconds> ttl) {
  const keyspace::Lookup found = parts_.keyspace.match(key, identity_);
  if (found.kind == keyspace::Lookup::Kind::unguarded) {
    return false;
  }
  const GuardedNamespace& space = parts_.namespaces[found.ns];
  space.overlay->add(
      space.filter->hash(overlay_identity(found, key)), now, ttl ? *ttl : space.overlay->ttl());
  namespace_counters_[found.ns]->added.add();
  return true;
}

Decision Guard::stream(const resp::Scan& chunk,
                       Arguments arguments,
                       ClientState& client,
                       TimePoint now) {
  if (client.is_transparent()) {
    return {.action = Action::transparent};
  }
  if (chunk.begins) {
    const Command& begun = find(arguments.empty() ? std::string_view{} : arguments.front());
    if (may_change_connection(begun, arguments)) {
      client.become_transparent();
      return {.action = Action::transparent};
    }
    if (begun.role == Role::server) {
      return change_unseen({.kind = ChangeKind::server, .for_all_clients = true}, client);
    }
    client.set_streamed(&find_command(begun.name));  // a learned one may be gone at the next chunk
  }
  const Command& command = client.streamed() != nullptr ? *client.streamed() : find_command({});
  if (command.role == Role::write || command.role == Role::unknown) {
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      if (may_be_key(command, chunk.first_argument + i, chunk.argument_total)) {
        learn_key(arguments[i], nullptr, now);
      }
    }
  }
  if (chunk.ends) {
    client.set_streamed(nullptr);
  }
  return {};
}

}  // namespace cuckooguard::guard
