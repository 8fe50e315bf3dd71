#include "guard/guard.h"

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <utility>

#include "redis/command_table.h"

namespace cuckooguard::guard {

// A longer key may pass unread in a streamed write: it must never be looked up.
static_assert(keyspace::kKeyBytesMax <= resp::kWholeArgumentBytesMax);

Guard::Guard(const Parts& parts) : parts_(parts), facts_(parts.facts.snapshot()) {
  adopt(parts);
}

Guard::~Guard() = default;

void Guard::adopt(const Parts& parts) {
  Parts copy = parts;  // may be the own ones
  if (parts.numbering != parts_.numbering) {
    unguarded_shapes_.clear();
  }
  // Others hold references to the parts, which hold references: new ones are made in their place.
  std::destroy_at(&parts_);
  std::construct_at(&parts_, std::move(copy));
  access_ = nullptr;
  writes_ = nullptr;
  namespace_counters_.clear();
  stamped_replies_.clear();
  for (const GuardedNamespace& space : parts.namespaces) {
    if (space.absent_reply.is_stamped() && !parts.wall_time) {
      throw std::logic_error("an absent reply that carries the time needs a clock");
    }
    namespace_counters_.push_back(&space.counts->by_worker.at(parts.worker));
    stamped_replies_.push_back({.reply = space.absent_reply, .due = TimePoint::min()});
  }
  learner_.adopt(parts.namespaces);
}

Decision Guard::decide(const redis::Command& command,
                       Arguments arguments,
                       Client& client,
                       TimePoint now,
                       std::size_t room) {
  room_ = room;
  if (client.has_unread_replies()) {
    return decide_unread(command, arguments, client, now);
  }
  switch (command.role) {
    case redis::Role::plain:
      return {};
    case redis::Role::get:
      return may_look_up(command, client, now) ? decide_get(arguments, client, now) : Decision{};
    case redis::Role::getex:
      return may_look_up(command, client, now) ? decide_getex(command, arguments, client, now)
                                               : Decision{};
    case redis::Role::mget:
      return may_look_up(command, client, now) ? decide_mget(arguments, client, now) : Decision{};
    case redis::Role::exists:
      return may_look_up(command, client, now) ? decide_exists(arguments, client, now) : Decision{};
    case redis::Role::read:
      return may_look_up(command, client, now) ? decide_read(command, arguments, client, now)
                                               : Decision{};
    case redis::Role::write:
    case redis::Role::unknown:
      return {.awaits_reply = scan_write(command, arguments, client, now)};
    default:
      return decide_change(command, arguments, client, now);
  }
}

redis::Lane Guard::lane_of(const redis::Command& command,
                           Arguments arguments,
                           const Client& client) const {
  const redis::Lane lane = redis::lane_of(command, arguments);
  return redis::is_shared(lane) && may_be_too_large(arguments, client) ? redis::Lane::for_good
                                                                       : lane;
}

// Redis may close the connection at once, since nobody has logged in there.
bool Guard::may_be_too_large(Arguments arguments, const Client& client) const {
  const bool is_large = std::ssize(arguments) > resp::kUnauthenticatedArgumentsMax ||
                        std::ranges::any_of(arguments, [](std::string_view argument) {
                          return std::ssize(argument) > resp::kUnauthenticatedArgumentBytesMax;
                        });
  return is_large && client.login(*facts_) != Client::Login::yes;
}

// As of now: one load, unless something has changed.
const redis::Snapshot& Guard::facts() {
  if (parts_.facts.version() != facts_->version) {
    facts_ = parts_.facts.snapshot();
  }
  return *facts_;
}

// By namespace it is known under the numbers of those that Redis was asked about.
const redis::UserAccess* Guard::access_of(Client& client) {
  const redis::UserAccess* const access = client.access(*facts_, parts_.facts);
  const bool holds =
      access == nullptr || access->is_unrestricted || access->numbering == parts_.numbering;
  return holds ? access : nullptr;
}

// As this Redis has it: what it does not list under a name of the table is something else, or
// nothing; what the table lacks may be known from Redis.
const redis::Command& Guard::find(std::string_view name) {
  const redis::Command& command = redis::find_command(name);
  const redis::Commands& known = *facts().commands;
  if (command.role == redis::Role::unknown) {
    const redis::Command* const learned = known.find_learned(name);
    return learned != nullptr ? *learned : command;
  }
  const bool may_touch_keys = command.role <= redis::Role::write;
  return may_touch_keys && !known.listed[redis::command_index(command)] ? redis::find_command({})
                                                                        : command;
}

// Redis will surely not refuse.
bool Guard::may_do_anything(Client& client, TimePoint now) {
  const redis::UserAccess* const access = client.access(*facts_, parts_.facts);
  return facts_->availability == redis::Availability::available && !client.is_wary(*facts_) &&
         client.may_rely_on(*facts_, now) && access != nullptr && access->is_unrestricted;
}

// Nothing is answered, and no outcome is seen: what may be written counts at once, and what may be
// changed for all clients is asked for.
Decision Guard::decide_unread(const redis::Command& command,
                              Arguments arguments,
                              Client& client,
                              TimePoint now) {
  if (client.is_raw()) {
    return {.action = Action::unread};
  }
  if (redis::changes_user(command.role)) {
    client.may_become_another();
  } else if (command.role == redis::Role::write || command.role == redis::Role::unknown) {
    scan_write(command, arguments, client, now);
  } else if (redis::makes_raw(command)) {
    client.become_raw();
  } else if (redis::changes_server(command, arguments)) {
    return change_unseen({.kind = redis::ChangeKind::server, .for_all_clients = true}, client, now);
  } else if (command.role == redis::Role::end_multi) {
    stop_reading_replies(client, now);  // what was queued before
  }
  return {.action = Action::unread};
}

Decision Guard::decide_change(const redis::Command& command,
                              Arguments arguments,
                              Client& client,
                              TimePoint now) {
  const auto reply_mode = redis::reply_mode_of(command, arguments);
  if (reply_mode && client.can_set_reply_mode() && may_do_anything(client, now)) {
    client.set_reply_mode(*reply_mode);
    return {};
  }
  if (redis::ends_placing(command, arguments)) {
    stop_reading_replies(client, now);
    if (redis::makes_raw(command)) {
      client.become_raw();
    }
    return {.action = Action::unread};
  }
  auto change = redis::state_change_of(command, arguments, client.may_be_in_multi());
  if (change && change->kind == redis::ChangeKind::label) {
    if (!client.remembers_what_was_told()) {
      return {};
    }
    if (client.may_be_in_multi()) {
      change->kind = redis::ChangeKind::unknown;  // it takes effect at EXEC, or never
    }
  }
  if (!change) {
    return {};
  }
  if (redis::changes_user(command.role)) {
    client.may_become_another();
  }
  if (change->kind == redis::ChangeKind::reset && client.has_replies_off() &&
      arguments.size() == 1 && may_do_anything(client, now)) {
    client.set_reply_mode(redis::ReplyMode::on);  // RESET does so before it replies
  }
  // A change whose outcome could not be seen, or confirmations that would come at another time.
  if (client.is_silent() ||
      (change->kind == redis::ChangeKind::subscribe && !client.can_subscribe())) {
    return change_unseen(*change, client, now);
  }
  change_ = *std::move(change);
  if (change_.for_all_clients) {
    client.may_change_all();  // in MULTI: EXEC's reply may be one that is not read
    client.tell(parts_.facts);
  }
  return {.change = &change_};
}

// Nobody will see its reply.
Decision Guard::change_unseen(const redis::StateChange& change, Client& client, TimePoint now) {
  if (change.for_all_clients) {
    client.may_change_all();
    parts_.facts.doubt();
  }
  stop_reading_replies(client, now);
  return {.action = Action::unread};
}

}  // namespace cuckooguard::guard
