// The writes of a Guard: which keys they have, and when those are learned.
#include "guard/guard.h"
#include "text/ascii.h"

namespace cuckooguard::guard {
namespace {

// EVAL script numkeys [key ...]; EVALSHA, FCALL.
constexpr std::size_t kKeyCount = 2;

// What it has written before it replies with an error stays. In front of a whole cluster
// (routing/routed_transport.h) nodes may have carried out their part of what another one has
// refused; before Redis has been asked it may be one.
bool may_be_half_done(const redis::Command& command, const redis::Snapshot& redis) {
  const bool may_be_split = redis.is_whole_cluster || redis.epoch == 0;
  return command.role == redis::Role::unknown || redis::runs_script(command) ||
         (may_be_split && redis::is_split_write(command));
}

// SET with NX or XX; with GET its nil is the value of before, whatever becomes of the key.
bool may_be_refused_by_nil(std::span<const std::string_view> arguments) {
  constexpr std::size_t kOptions = 3;
  constexpr std::size_t kMost = 10;  // no SET that Redis takes is longer
  bool may_be = false;
  if (arguments.size() <= kOptions || arguments.size() > kMost) {
    return false;
  }
  for (const std::string_view option : arguments.subspan(kOptions)) {
    if (text::equals_in_any_case(option, "get")) {
      return false;
    }
    may_be =
        may_be || text::equals_in_any_case(option, "nx") || text::equals_in_any_case(option, "xx");
  }
  return may_be;
}

// Who may not be logged in at all takes nothing from any user's share.
std::string_view name_for_share(const Client& client, const redis::Snapshot& redis) {
  const bool is_user = client.login(redis) == Client::Login::yes || client.has_been_let_in();
  return is_user ? client.user() : std::string_view();
}

}  // namespace

Guard::Write Guard::write_of(const Question& question) {
  const auto& [redis, command, arguments, client, now, proof] = question;
  if (client.login(redis) == Client::Login::yes) {
    client.was_let_in();
  }
  Write write{.redis = redis,
              .client = client,
              .now = now,
              .is_unseen = client.is_silent() || client.has_unread_replies(),
              .may_be_half_done = may_be_half_done(command, redis)};
  write.has_value = command.value_offset != 0 || command.role == redis::Role::unknown ||
                    redis::runs_script(command);
  write.is_refused_by_nil = command.value_offset != 0 && may_be_refused_by_nil(arguments);
  if (is_expiry_due(command)) [[unlikely]] {
    until_expiry_ = next_distance(Traffic::kEveryExpiry);
    write.expiry = redis::expiry_of(command, arguments);
  }
  return write;
}

void Guard::scan_writes(const Question& question,
                        std::span<const resp::AlikeCommand> writes,
                        std::uint64_t last_reply) {
  Write write = write_of(question);
  std::uint64_t reply = last_reply - writes.size();
  for (const resp::AlikeCommand& each : writes) {
    ++reply;
    scan_key(each.key, &each.value, write);
    if (std::exchange(write.awaits_reply, false)) {
      write.client.writes()->await(reply);
    }
  }
}

// True: with keys that wait for its reply.
bool Guard::scan_write(const Question& question) {
  const auto& [redis, command, arguments, client, now, proof] = question;
  Write write = write_of(question);
  const redis::KeyIndexes keys = redis::key_indexes(command, arguments);
  if (keys.first >= keys.end && redis::runs_script(command)) {
    counters_.scripts_without_keys.add();
  }
  for (std::size_t i = keys.first; i < keys.end; i += keys.step) {
    const std::size_t value = i + command.value_offset;
    const bool has_value = value != i && value < arguments.size();
    scan_key(arguments[i], has_value ? &arguments[value] : nullptr, write);
  }
  if (keys.also != 0) {
    scan_key(arguments[keys.also], nullptr, write);
  }
  return write.awaits_reply;
}

// Of a command too large to be held whole.
void Guard::scan_chunk(const redis::Command& command,
                       const resp::Scan& chunk,
                       Arguments arguments,
                       Write& write) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::uint64_t index = chunk.first_argument + i;
    if (index == kKeyCount && arguments[i] == "0" && redis::runs_script(command)) {
      counters_.scripts_without_keys.add();
    }
    if (redis::may_be_key(command, index, chunk.argument_total)) {
      scan_key(arguments[i], nullptr, write);
    }
  }
}

// `value`: what the write makes the key's whole value, if it does.
void Guard::scan_key(std::string_view key, const std::string_view* value, Write& write) {
  const keyspace::Lookup found = parts_.keyspace.match(key, identity_);
  if (found.kind == keyspace::Lookup::Kind::unguarded) {
    return;
  }
  const GuardedNamespace& space = parts_.namespaces[found.ns];
  const bool is_absent_reply = value != nullptr && space.absent_reply.is_written_as(*value);
  if (space.mode == config::Mode::bypass || (is_absent_reply && space.loads == nullptr)) {
    return;
  }
  if (write.expiry && may_have_written(write.client, write.redis)) {
    note_expiry(*write.expiry, space, write.now);
  }
  const std::uint64_t hash = space.filter->hash(found.identity);
  WritesInFlight& writes = write.client.remember_writes(learner_.keys_in_flight());
  if (write.client.misses() == nullptr) {
    writes.joins = space.loads.get();
  }
  if (write.is_unseen || !writes.has_room()) {
    if (may_have_written(write.client, write.redis)) {
      if (!is_absent_reply) {
        learn_key({.ns = found.ns, .hash = hash}, write.client, write.redis, write.now);
      }
      if (space.loads != nullptr) {
        space.loads->written(
            space.loads->hash(key), write.client.misses(), write.has_value, write.now);
      }
    }
    return;
  }
  writes.scanned({.overlay = space.overlay,
                  .hash = hash,
                  .load = space.loads != nullptr ? space.loads->hash(key) : 0,
                  .ns = static_cast<std::uint16_t>(found.ns),
                  .may_be_half_done = write.may_be_half_done,
                  .is_absent_reply = is_absent_reply,
                  .has_value = write.has_value,
                  .is_refused_by_nil = write.is_refused_by_nil});
  write.awaits_reply = true;
}

// By what is known of the client, where Redis's word will not be seen. In doubt it may.
bool Guard::may_have_written(Client& client, const redis::Snapshot& redis) const {
  if (client.may_be_another()) {
    return true;
  }
  const Client::Login login = client.login(redis);
  if (login != Client::Login::yes) {
    return login == Client::Login::unknown || client.has_been_let_in();
  }
  const redis::UserAccess* const access = access_of(client, redis);
  return access == nullptr || access->may_write || redis.is_lost;
}

void Guard::learn_key(const Learner::Key& key,
                      Client& client,
                      const redis::Snapshot& redis,
                      TimePoint now) {
  const auto learned = learner_.learn(
      client.remember_writes(learner_.keys_in_flight()), name_for_share(client, redis), key, now);
  NamespaceCounters& counters = *namespace_counters_[key.ns];
  (key.origin == Overlay::Origin::added ? counters.added : counters.learned).add();
  counters.lost.add(learned.is_lost ? 1 : 0);
}

void Guard::learn_replied(Client& client, const redis::Snapshot& redis, TimePoint now) {
  for (const WritesInFlight::Key& key : client.writes()->take_outcomes()) {
    // After a reload its number may be another's, or nobody's: a namespace that is new lets
    // everything pass for a while.
    std::uint32_t ns = key.ns;
    if (ns >= parts_.namespaces.size() || parts_.namespaces[ns].overlay != key.overlay) {
      ns = 0;
      while (ns < parts_.namespaces.size() && parts_.namespaces[ns].overlay != key.overlay) {
        ++ns;
      }
    }
    if (ns == parts_.namespaces.size() || (key.is_unseen && !may_have_written(client, redis))) {
      continue;
    }
    if (!key.is_absent_reply) {
      learn_key({.ns = ns, .hash = key.hash}, client, redis, now);
    }
    const auto& loads = parts_.namespaces[ns].loads;
    if (loads != nullptr && !(key.is_nil && key.is_refused_by_nil)) {
      loads->written(key.load, client.misses(), key.has_value, now);
    }
  }
}

void Guard::stop_reading_replies(Client& client, TimePoint now) {
  stop_reading_replies(client, facts(), now);
}

void Guard::stop_reading_replies(Client& client, const redis::Snapshot& redis, TimePoint now) {
  client.stop_reading_replies();
  if (client.writes() != nullptr) {
    client.writes()->give_up_transaction();
    learn_replied(client, redis, now);
  }
}

// What it has sent may be carried out all the same. What it has queued may be so only if EXEC is on
// its way.
void Guard::ended(Client& client, TimePoint now) {
  if (client.misses() != nullptr) {
    client.misses()->gone(now);
  }
  WritesInFlight* const writes = client.writes();
  if (writes == nullptr) {
    return;
  }
  if (!client.has_changes_in_flight() && !client.has_unread_replies()) {
    writes->end_transaction(false);
  }
  writes->give_up();
  learn_replied(client, now);
  learner_.ended(*writes);
}

TimePoint Guard::leaves(Client& client, TimePoint now) {
  const WritesInFlight* const writes = client.writes();
  const TimePoint reads_pass_until =
      writes == nullptr ? TimePoint{}
                        : std::max(learner_.reads_pass_until(*writes), writes->young_until);
  ended(client, now);
  client.forget_worker();
  return reads_pass_until;
}

void Guard::arrives(Client& client, TimePoint reads_pass_until, TimePoint now) {
  if (reads_pass_until > now) {
    learner_.let_reads_pass(client.remember_writes(learner_.keys_in_flight()),
                            name_for_share(client, facts()),
                            reads_pass_until);
  }
}

bool Guard::add(std::string_view key,
                Client& client,
                TimePoint now,
                std::optional<std::chrono::seconds> ttl) {
  const keyspace::Lookup found = parts_.keyspace.match(key, identity_);
  if (found.kind == keyspace::Lookup::Kind::unguarded) {
    return false;
  }
  learn_key({.ns = found.ns,
             .hash = parts_.namespaces[found.ns].filter->hash(found.identity),
             .ttl = ttl,
             .origin = Overlay::Origin::added},
            client,
            facts(),
            now);
  return true;
}

Decision Guard::stream(const resp::Scan& chunk,
                       Arguments arguments,
                       Client& client,
                       TimePoint now) {
  if (chunk.begins && !client.is_raw()) {
    begin_stream(ask(arguments, client, now));
  }
  if (client.is_raw()) {
    return {.action = Action::unread};
  }
  const redis::Command& command =
      client.streamed() != nullptr ? *client.streamed() : redis::find_command({});
  const redis::Snapshot& redis = facts();
  Write write{.redis = redis,
              .client = client,
              .now = now,
              .is_unseen = client.is_streamed_unseen(),
              .may_be_half_done = may_be_half_done(command, redis)};
  if (command.role == redis::Role::write || command.role == redis::Role::unknown) {
    scan_chunk(command, chunk, arguments, write);
  }
  if (chunk.ends) {
    client.set_streamed(nullptr);
  }
  return {.action = client.has_unread_replies() ? Action::unread : Action::forward,
          .awaits_reply = write.awaits_reply};
}

void Guard::begin_stream(const Question& question) {
  const auto& [redis, command, arguments, client, now, proof] = question;
  if (redis::makes_raw(command)) {
    stop_reading_replies(client, redis, now);
    client.become_raw();
    return;
  }
  if (redis::changes_user(command.role)) {
    client.may_become_another();
  }
  if (command.role == redis::Role::server) {
    change_unseen({.kind = redis::ChangeKind::server, .for_all_clients = true}, question);
  } else if (redis::may_change_connection(command, arguments)) {
    stop_reading_replies(client, redis, now);
  }
  // A learned one may be gone at the next chunk.
  client.set_streamed(&redis::find_command(command.name),
                      client.is_silent() || client.has_unread_replies());
}

}  // namespace cuckooguard::guard
