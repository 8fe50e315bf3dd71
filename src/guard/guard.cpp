#include "guard/guard.h"

#include <stdexcept>
#include <utility>

namespace cuckooguard::guard {
namespace {

bool is_large(std::span<const std::string_view> arguments) {
  return std::ssize(arguments) > resp::kUnauthenticatedArgumentsMax ||
         std::ranges::any_of(arguments, [](std::string_view argument) {
           return std::ssize(argument) > resp::kUnauthenticatedArgumentBytesMax;
         });
}

}  // namespace

redis::Lane Question::lane() const {
  const redis::Lane lane = redis::lane_of(command, arguments);
  // Redis may close the connection at once, since nobody has logged in there.
  const bool may_close =
      redis::is_shared(lane) && is_large(arguments) && client.login(redis) != Client::Login::yes;
  return may_close ? redis::Lane::for_good : lane;
}

void Forecasts::see(const Effects::Absence& seen,
                    TimePoint read_at,
                    TimePoint now,
                    const Who& who) {
  Sample& sample = samples_[seen.ns];
  if (sample.is_open && !close(sample, who.parts.namespaces[seen.ns], now, who)) {
    return;
  }
  if (now >= sample.read_at + kEvery) {
    sample = {.key = std::string(seen.key), .read_at = read_at, .is_open = true};
    who.judge.want_proof(who.parts.keyspace.match(sample.key, identity_));
  }
}

// False: its proof may yet come in time.
bool Forecasts::close(Sample& sample,
                      const GuardedNamespace& space,
                      TimePoint now,
                      const Who& who) {
  if (!space.filter->is_fresh(filter::Freshness::since(sample.read_at)) &&
      now < sample.read_at + space.strict_hold) {
    return false;
  }
  sample.is_open = false;
  const keyspace::Lookup found = who.parts.keyspace.match(sample.key, identity_);
  const std::uint64_t hash = space.filter->hash(found.identity);
  if (space.refuses_strict() ||
      who.judge.find_proven({found, sample.key}, hash, sample.read_at) != filter::Finding::absent) {
    who.counters.forecast_passed.add();
    return true;
  }
  who.counters.forecast_answered.add();
  space.filter->note_absent(hash, sample.read_at, sample.key, filter::AbsentReads::Kind::proof);
  return true;
}

// A longer key may pass unread in a streamed write: it must never be looked up.
static_assert(keyspace::kKeyBytesMax <= resp::kWholeArgumentBytesMax);

Guard::Guard(const Parts& parts)
    : parts_(parts),
      facts_(parts.facts.snapshot()),
      learner_(parts.learner != nullptr ? *parts.learner : own_learner_) {
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
  namespace_counters_.clear();
  holds_.assign(parts.namespaces.size(), {});
  effects_.clear();
  forecasts_.adopt(parts.namespaces.size());
  judge_.adopt(parts_.keyspace, parts_.namespaces);
  stamped_replies_.clear();
  filters_named_.clear();
  for (const GuardedNamespace& space : parts.namespaces) {
    if (space.absent_reply.is_stamped() && !parts.wall_time) {
      throw std::logic_error("an absent reply that carries the time needs a clock");
    }
    namespace_counters_.push_back(&space.counts->by_worker.at(parts.worker));
    stamped_replies_.push_back({.reply = space.absent_reply, .due = TimePoint::min()});
    if (!space.filter_key.empty()) {
      filters_named_.emplace(space.filter_key,
                             static_cast<std::uint32_t>(stamped_replies_.size() - 1));
    }
  }
  learner_.adopt(parts.namespaces);
}

// What this Redis does not list under a name of the table is something else, or nothing; what the
// table lacks may be known from Redis.
Question Guard::ask(Arguments arguments,
                    Client& client,
                    TimePoint now,
                    const redis::Snapshot& redis) {
  const std::string_view name = arguments.empty() ? std::string_view() : arguments.front();
  const redis::Command* command = &redis::find_command(name);
  if (command->role == redis::Role::unknown) {
    const redis::Command* const learned = redis.commands->find_learned(name);
    command = learned != nullptr ? learned : command;
  } else if (command->role <= redis::Role::write &&
             !redis.commands->listed[redis::command_index(*command)]) {
    command = &redis::find_command({});
  }
  return {
      .redis = redis, .command = *command, .arguments = arguments, .client = client, .now = now};
}

Decision Guard::decide(const Question& question, std::size_t room) {
  const redis::Role role = question.command.role;
  if (question.client.has_unread_replies()) {
    return decide_unread(question);
  }
  if (role == redis::Role::plain) {
    return {};
  }
  if (redis::may_be_answered(role)) {
    const Decision decision = judge(question, room);
    carried_out(question);
    return decision;
  }
  if (role == redis::Role::write || role == redis::Role::unknown) {
    return {.awaits_reply = scan_write(question)};
  }
  return decide_change(question);
}

// As of now: one load, unless something has changed.
const redis::Snapshot& Guard::facts() {
  if (parts_.facts.version() != facts_->version) {
    facts_ = parts_.facts.snapshot();
  }
  return *facts_;
}

// By namespace it is known under the numbers of those that Redis was asked about.
const redis::UserAccess* Guard::access_of(Client& client, const redis::Snapshot& redis) const {
  const redis::UserAccess* const access = client.access(redis, parts_.facts);
  const bool holds =
      access == nullptr || access->is_unrestricted || access->numbering == parts_.numbering;
  return holds ? access : nullptr;
}

void Guard::note_error(std::string_view first_bytes, Client& client) {
  if (const std::uint64_t epoch = parts_.facts.note_error(first_bytes); epoch != 0) {
    client.be_wary_until(epoch);
  }
}

// Redis will surely not refuse.
bool Guard::may_do_anything(const Question& question) {
  const redis::Snapshot& redis = question.redis;
  const redis::UserAccess* const access = question.client.access(redis, parts_.facts);
  return redis.availability == redis::Availability::available && !question.client.is_wary(redis) &&
         question.client.may_rely_on(redis, question.now) && access != nullptr &&
         access->is_unrestricted;
}

// Its user may be unknown just now, for another one's change or since it has just logged in.
void Guard::may_change_all(const Question& question) {
  question.client.may_change_all();
  question.client.access(question.redis, parts_.facts);  // so that its user is known the next time
  if (question.client.may_be_unrestricted(question.redis)) {
    question.client.yes_may_pass_until(parts_.facts.yes_may_pass_until());
  }
}

// Nothing is answered, and no outcome is seen: what may be written counts at once, and what may be
// changed for all clients is asked for.
Decision Guard::decide_unread(const Question& question) {
  const auto& [redis, command, arguments, client, now, proof] = question;
  if (client.is_raw()) {
    return {.action = Action::unread};
  }
  if (redis::changes_user(command.role)) {
    client.may_become_another();
  } else if (command.role == redis::Role::write || command.role == redis::Role::unknown) {
    scan_write(question);
  } else if (redis::makes_raw(command)) {
    client.become_raw();
  } else if (redis::changes_server(command, arguments)) {
    return change_unseen({.kind = redis::ChangeKind::server, .for_all_clients = true}, question);
  } else if (command.role == redis::Role::end_multi) {
    stop_reading_replies(client, redis, now);  // what was queued before
    if (client.has_sent_change_for_all()) {
      may_change_all(question);
    }
  }
  return {.action = Action::unread};
}

Decision Guard::decide_change(const Question& question) {
  const auto& [redis, command, arguments, client, now, proof] = question;
  const auto reply_mode = redis::reply_mode_of(command, arguments);
  if (reply_mode && client.can_set_reply_mode() && may_do_anything(question)) {
    client.set_reply_mode(*reply_mode);
    return {};
  }
  if (redis::ends_placing(command, arguments)) {
    stop_reading_replies(client, redis, now);
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
      arguments.size() == 1 && may_do_anything(question)) {
    client.set_reply_mode(redis::ReplyMode::on);  // RESET does so before it replies
  }
  // A change whose outcome could not be seen, or confirmations that would come at another time.
  if (client.is_silent() ||
      (change->kind == redis::ChangeKind::subscribe && !client.can_subscribe())) {
    return change_unseen(*change, question);
  }
  change_ = *std::move(change);
  if (change_.for_all_clients) {
    may_change_all(question);  // in MULTI: EXEC's reply may be one that is not read
    client.tell(parts_.facts);
  }
  return {.change = &change_};
}

// Nobody will see its reply.
Decision Guard::change_unseen(const redis::StateChange& change, const Question& question) {
  if (change.for_all_clients) {
    may_change_all(question);
    parts_.facts.doubt();
  }
  stop_reading_replies(question.client, question.redis, question.now);
  return {.action = Action::unread};
}

}  // namespace cuckooguard::guard
