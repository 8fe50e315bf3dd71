// The reads of a Guard: may they be answered at all, are their keys absent, with which bytes.
#include <algorithm>
#include <optional>

#include "guard/guard.h"
#include "redis/command_table.h"
#include "redis/missing_reply.h"
#include "redis/read_shape.h"
#include "redis/slot.h"
#include "resp/reply_writer.h"

namespace cuckooguard::guard {
namespace {

// What is kept of an element of a merged reply, beside its bytes.
constexpr std::size_t kElementBytes = 16;

// A stamp is this old at most. The time is asked for no more often, so that an absent key costs as
// little as with another reply.
constexpr std::chrono::milliseconds kStampedEvery{10};

constexpr redis::ReadShape kGetexPlain("key [PERSIST]");
constexpr redis::ReadShape kGetexExpiring("key (EX/PX/EXAT/PXAT positive)");
constexpr std::size_t kExpiryDigitsMax =
    15;  // as milliseconds they are an integer of Redis's, even if they were seconds

// Of one, unless `may_differ`.
bool are_of_one_slot_in(const redis::Slots& slots, const Question& question, bool may_differ) {
  const redis::KeyIndexes keys = redis::key_indexes(question.command, question.arguments);
  std::optional<std::size_t> slot;
  const auto is_of_it = [&](std::string_view key) {
    const std::size_t of_key = redis::slot_of(key);
    return (may_differ || of_key == slot.value_or(of_key)) && slots.test(*(slot = of_key));
  };
  for (std::size_t i = keys.first; i < keys.end; i += keys.step) {
    if (!is_of_it(question.arguments[i])) {
      return false;
    }
  }
  return keys.also == 0 || is_of_it(question.arguments[keys.also]);
}

bool is_getex_that_cannot_fail(std::span<const std::string_view> arguments) {
  return kGetexPlain.fits(arguments) ||
         (kGetexExpiring.fits(arguments) && arguments.back().size() <= kExpiryDigitsMax);
}

}  // namespace

Decision Guard::judge(const Question& question, std::size_t room) {
  effects_.clear();
  missing_ = {};
  const Decision decision = decide_read(question, room);
  if (decision.action == Action::forward && decision.absent_keys.empty()) {
    effects_.absences.clear();  // nobody is told so
  }
  if (missing_.is_any && missing_.may_hold) {
    return {.action = Action::hold, .hold_until = missing_.hold_until, .hold_ns = missing_.ns};
  }
  return decision;
}

void Guard::carried_out(const Question& question) {
  effects_.apply_counts();
  for (const std::string_view key : effects_.unguarded) {
    counters_.unguarded_keys.add();
    unguarded_shapes_.see(counters_.unguarded_keys.value(), key);
  }
  for (Tolerance* const tolerance : effects_.tolerated) {
    tolerance->take(question.now);
  }
  for (const Effects::Hold& hold : effects_.holds) {
    hold.record->add(hold.is_proven, question.now);
  }
  note_absences(question.proof.read_at, question.now);
  if (!effects_.seen.empty()) [[unlikely]] {
    tell_traffic(question.now);
  }
  if (is_expiry_due(question.command)) [[unlikely]] {
    note_getex(question);
  }
  effects_.clear();
}

bool Guard::is_proven(std::uint32_t ns, TimePoint since) const {
  return ns >= parts_.namespaces.size() ||
         parts_.namespaces[ns].filter->is_fresh(filter::Freshness::since(since));
}

bool Guard::wants_proof(std::uint32_t ns, TimePoint since, TimePoint now) const {
  const GuardedNamespace& space = parts_.namespaces[ns];
  return space.is_strict() && !space.refuses_strict() && now < since + space.strict_hold &&
         holds_[ns].may_hold(now);
}

Decision Guard::decide_read(const Question& question, std::size_t room) {
  if (reply_.capacity() > kScratchBytesMax) {
    std::string().swap(reply_);
  }
  const redis::UserAccess* const access = access_of_read(question);
  if (access == nullptr || !is_for_this_node(question) || !has_room_for(1, room)) {
    return {.may_be_load = reads_loads(question)};
  }
  const Read read{.question = question, .room = room, .reader = reader_of(question, *access)};
  switch (question.command.role) {
    case redis::Role::get:
      // Any other number of arguments is an error, which is Redis's to give.
      return question.arguments.size() == 2 ? decide_get(question.arguments[1], read) : Decision{};
    case redis::Role::getex:
      return decide_getex(read);
    case redis::Role::mget:
      return decide_mget(read);
    case redis::Role::exists:
      return decide_exists(read);
    default:
      return decide_other_read(read);
  }
}

Reader Guard::reader_of(const Question& question, const redis::UserAccess& access) {
  return {.db = question.client.db(),
          .access = access,
          .now = question.now,
          .read_at = question.proof.read_at,
          .writes = question.client.writes(),
          .is_tolerated = true,
          .command = redis::command_index(question.command)};
}

// Also where the client's rights or Redis's state are not known, as just after Redis was started
// again, empty: it is Redis that says nil.
bool Guard::reads_loads(const Question& question) {
  const redis::Role role = question.command.role;
  const bool is_get = role == redis::Role::get && question.arguments.size() == 2;
  if ((!is_get && role != redis::Role::mget) || !question.client.is_settled()) {
    return false;
  }
  return std::ranges::any_of(question.arguments.subspan(1), [this](std::string_view key) {
    const keyspace::Lookup found = parts_.keyspace.match(key, identity_);
    return found.kind != keyspace::Lookup::Kind::unguarded &&
           parts_.namespaces[found.ns].loads != nullptr;
  });
}

// With which rights; null: it is forwarded.
const redis::UserAccess* Guard::access_of_read(const Question& question) {
  const redis::Snapshot& redis = question.redis;
  Client& client = question.client;
  if (!client.is_settled()) {
    effects_.count(counters_.unsettled_reads);
    return nullptr;
  }
  const bool is_sent_away = client.is_redirected() && !redis.is_master.value_or(false);
  if (redis.availability != redis::Availability::available || client.is_wary(redis) ||
      !client.may_rely_on(redis, question.now) || is_sent_away) {
    effects_.count(counters_.unavailable_reads);
    return nullptr;
  }
  const redis::UserAccess* const access = access_of(client, redis);
  if (access == nullptr) {
    effects_.count(counters_.not_allowed_reads);
  }
  return access;
}

// A node of a cluster has all of its keys, or whoever stands for all nodes has, so that it replies
// with neither -MOVED, -ASK nor -CROSSSLOT.
bool Guard::is_for_this_node(const Question& question) {
  const redis::Snapshot& redis = question.redis;
  if (!redis.slots) {
    return true;
  }
  const bool answers_reads = redis.is_master.value_or(false) || question.client.reads_replica();
  // What is split up among nodes (routing/routed_transport.h).
  const bool may_differ = redis.is_whole_cluster && (question.command.role == redis::Role::mget ||
                                                     question.command.role == redis::Role::exists);
  if (answers_reads && are_of_one_slot_in(*redis.slots, question, may_differ)) {
    return true;
  }
  effects_.count(counters_.other_node_reads);
  return false;
}

bool Guard::has_room_for(std::size_t bytes, std::size_t room) {
  const bool has_room = bytes <= room;
  if (!has_room) {
    effects_.count(counters_.no_room_reads);
  }
  return has_room;
}

KeyVerdict Guard::judge(std::string_view key, const Read& read) {
  const keyspace::Lookup found = parts_.keyspace.match(key, identity_);
  if (found.kind == keyspace::Lookup::Kind::unguarded) {
    effects_.unguarded.push_back(key);
    return {};
  }
  const KeyVerdict judged{.verdict = judge_.verdict({found, key}, read.reader), .ns = found.ns};
  effects_.count(counters_.guarded_keys);
  effects_.count(namespace_counters_[found.ns]->of(judged.verdict));
  if (--until_traffic_ == 0) [[unlikely]] {
    sample_traffic(judged, {.key = key, .number = found.number}, read.question.client);
  }
  const GuardedNamespace& space = parts_.namespaces[found.ns];
  if (judged.verdict == Verdict::tolerated ||
      (judged.verdict == Verdict::fresh_id && space.is_strict())) {
    effects_.tolerated.push_back(space.tolerance.get());
  }
  if (judged.verdict == Verdict::unproven) {
    miss_proof(judged, read.question);
  }
  if (read.question.proof.was_held) {
    note_hold(judged, read.question);
  }
  return judged;
}

void Guard::miss_proof(const KeyVerdict& judged, const Question& question) {
  const TimePoint until = question.proof.read_at + parts_.namespaces[judged.ns].strict_hold;
  missing_.is_any = true;
  missing_.may_hold = missing_.may_hold && question.proof.unproven == Unproven::hold &&
                      wants_proof(judged.ns, question.proof.read_at, question.now);
  if (until < missing_.hold_until) {
    missing_.hold_until = until;
    missing_.ns = judged.ns;
  }
}

// One of a command and namespace, however many keys it names. One that is let go early, since its
// client has sent more, has not failed.
void Guard::note_hold(const KeyVerdict& judged, const Question& question) {
  const bool is_proven = judged.verdict != Verdict::unproven;
  if (is_proven ||
      question.now >= question.proof.read_at + parts_.namespaces[judged.ns].strict_hold) {
    effects_.note_hold(holds_[judged.ns], is_proven);
  }
}

Guard::Inspection Guard::inspect(std::string_view key, const Reader& reader) {
  const keyspace::Lookup found = parts_.keyspace.match(key, identity_);
  if (found.kind == keyspace::Lookup::Kind::unguarded) {
    return {};
  }
  effects_.clear();
  Inspection seen{.found = found};
  seen.verdict = judge_.verdict({found, key}, reader, &seen.other);
  if (seen.verdict == Verdict::overlaid) {
    seen.held = judge_.why_held(found, reader);
  }
  return seen;
}

std::optional<std::uint32_t> Guard::namespace_of(std::string_view key) {
  const keyspace::Lookup found = parts_.keyspace.match(key, identity_);
  return found.kind == keyspace::Lookup::Kind::unguarded ? std::nullopt : std::optional(found.ns);
}

std::optional<std::uint32_t> Guard::filter_named(std::string_view key) const {
  const auto found = filters_named_.find(key);
  return found == filters_named_.end() ? std::nullopt : std::optional(found->second);
}

std::string_view Guard::key_of_item(std::uint32_t ns, std::string_view item) {
  item_key_.clear();
  parts_.keyspace.templates(ns).front().render({&item, 1}, item_key_);
  return item_key_;
}

Verdict Guard::look_up_item(std::uint32_t ns, std::string_view item, const Reader& reader) {
  const std::string_view key = key_of_item(ns, item);
  const keyspace::Lookup found = parts_.keyspace.match(key, identity_);
  if (found.kind == keyspace::Lookup::Kind::unguarded || found.ns != ns) {
    counters_.unguarded_keys.add();
    return Verdict::unguarded;
  }
  effects_.clear();
  const Verdict verdict = judge_.verdict({found, key}, reader);
  effects_.apply_counts();
  note_absences(std::min(reader.read_at, reader.now), reader.now);
  effects_.clear();
  counters_.guarded_keys.add();
  namespace_counters_[ns]->of(verdict).add();
  return verdict;
}

bool Guard::is_item_unproven(std::uint32_t ns, std::string_view item, const Reader& reader) {
  const std::string_view key = key_of_item(ns, item);
  const keyspace::Lookup found = parts_.keyspace.match(key, identity_);
  effects_.clear();
  return found.kind != keyspace::Lookup::Kind::unguarded && found.ns == ns &&
         judge_.verdict({found, key}, reader) == Verdict::unproven;
}

Decision Guard::answer(std::string_view reply, const Read& read) {
  if (!has_room_for(reply.size(), read.room)) {
    return {};
  }
  effects_.count(counters_.answered);
  return {.action = Action::answer, .reply = reply};
}

Decision Guard::decide_get(std::string_view key, const Read& read) {
  const KeyVerdict found = judge(key, read);
  if (found.verdict < Verdict::unproven) {
    return {.may_be_load = may_be_load(found)};
  }
  if (found.verdict != Verdict::absent || is_sampled(found.ns, read)) {
    return compare(string_read(found, key, read), read);
  }
  return answer(absent_reply(found.ns, read.version(), read.reader.now), read);
}

// Redis looks at the options' grammar before it looks for the key, and at their numbers thereafter.
// Where it takes no writes it refuses every form, the one without options, too.
Decision Guard::decide_getex(const Read& read) {
  static const redis::Command& getex = redis::find_command("getex");
  const Arguments arguments = read.arguments();
  if (!read.question.redis.takes_writes) {
    return {};
  }
  if (&read.question.command != &getex) {
    return decide_other_read(read);
  }
  return is_getex_that_cannot_fail(arguments) ? decide_get(arguments[1], read) : Decision{};
}

// A key that need not exist is never made to wait: nobody will set it.
Guard::Missed Guard::missed(std::string_view key, const Client& client, TimePoint now) {
  const keyspace::Lookup found = parts_.keyspace.match(key, identity_);
  if (found.kind == keyspace::Lookup::Kind::unguarded) {
    return {};
  }
  const GuardedNamespace& space = parts_.namespaces[found.ns];
  const bool may_exist = space.loads != nullptr && space.mode != config::Mode::bypass &&
                         client.db() == space.db &&
                         space.filter->find({.hash = space.filter->hash(found.identity),
                                             .number = found.number,
                                             .identity = found.identity},
                                            now) == filter::Finding::may_exist;
  return may_exist ? Missed{.loads = space.loads.get(),
                            .key = {.hash = space.loads->hash(key), .name = key},
                            .is_observed = space.mode != config::Mode::enforce}
                   : Missed{};
}

std::string_view Guard::absent_reply(std::uint32_t ns, resp::Version version, TimePoint now) {
  const AbsentReplyBytes& configured = parts_.namespaces[ns].absent_reply;
  if (!configured.is_stamped()) {
    return configured.of_string_read(version);
  }
  StampedReply& stamped = stamped_replies_[ns];
  if (now >= stamped.due) {
    stamped.reply.stamp(parts_.wall_time());
    stamped.due = now + kStampedEvery;
  }
  return stamped.reply.of_string_read(version);
}

Decision Guard::decide_mget(const Read& read) {
  const Arguments arguments = read.arguments();
  passing_.assign(1, arguments.front());
  elements_.clear();
  absent_keys_.clear();
  std::size_t bytes = 0;  // that are kept for the reply, or make it
  bool may_be_load = false;
  judge_all(arguments.subspan(1), read);
  for (std::size_t i = 1; i < arguments.size(); ++i) {
    const std::string_view key = arguments[i];
    const KeyVerdict found = verdicts_[i - 1];
    if (found.verdict == Verdict::absent && !is_sampled(found.ns, read)) {
      const std::string_view reply = absent_reply(found.ns, read.version(), read.reader.now);
      elements_.emplace_back(reply);
      bytes += reply.size();
      continue;
    }
    if (found.verdict >= Verdict::unproven) {
      absent_keys_.push_back(string_read(found, key, read));
      absent_keys_.back().element = static_cast<std::uint32_t>(elements_.size());
      bytes += absent_keys_.back().bytes();
    }
    may_be_load = may_be_load || this->may_be_load(found);
    elements_.emplace_back(std::nullopt);
    passing_.push_back(key);
  }
  const bool is_merged = passing_.size() > 1 && bytes > 0;
  if (!has_room_for(bytes + (is_merged ? elements_.size() * kElementBytes : 0), read.room)) {
    return {};
  }
  if (passing_.size() == arguments.size()) {
    return absent_keys_.empty() ? Decision{.may_be_load = may_be_load}
                                : Decision{.elements = elements_, .absent_keys = absent_keys_};
  }
  if (passing_.size() > 1) {
    request_.clear();
    resp::append_command(request_, passing_);
    return {.action = Action::merge,
            .request = request_,
            .elements = elements_,
            .absent_keys = absent_keys_};
  }
  reply_.clear();
  resp::append_array_header(reply_, elements_.size());
  for (const auto& element : elements_) {
    reply_.append(*element);
  }
  return answer(reply_, read);
}

// EXISTS and TOUCH. Redis counts a key as often as it is named: what is taken out adds nothing.
Decision Guard::decide_exists(const Read& read) {
  const Arguments arguments = read.arguments();
  if (arguments.size() == 2) {
    return answer_or_compare(judge(arguments[1], read), arguments[1], kNoneExists, read);
  }
  passing_.assign(1, arguments.front());
  for (const std::string_view key : arguments.subspan(1)) {
    const KeyVerdict found = judge(key, read);
    if (found.verdict != Verdict::absent) {
      count_unverified(found);
      passing_.push_back(key);
    }
  }
  if (passing_.size() == arguments.size()) {
    return {};
  }
  if (passing_.size() == 1) {
    return answer(kNoneExists, read);
  }
  request_.clear();
  resp::append_command(request_, passing_);
  return {.action = Action::rewrite, .request = request_};
}

// Answered whole, or not at all.
Decision Guard::decide_other_read(const Read& read) {
  const redis::Command& command = read.question.command;
  const Arguments arguments = read.arguments();
  const auto reply = redis::missing_reply(command, arguments);
  if (!reply) {
    return {};
  }
  const redis::KeyIndexes keys = redis::key_indexes(command, arguments);
  const auto missing = [&] {
    return redis::bytes_of(*reply, arguments.size(), read.version(), reply_);
  };
  if (keys.first < keys.end && keys.first + keys.step >= keys.end) {
    const KeyVerdict found = judge(arguments[keys.first], read);
    return found.verdict < Verdict::tolerated
               ? Decision{}
               : answer_or_compare(found, arguments[keys.first], missing(), read);
  }
  return are_absent(keys, read) ? answer(missing(), read) : Decision{};
}

// All of them, and there is one. What comes behind a key that may exist is not judged.
bool Guard::are_absent(const redis::KeyIndexes& keys, const Read& read) {
  bool are_absent = keys.first < keys.end;
  for (std::size_t i = keys.first; i < keys.end; i += keys.step) {
    const KeyVerdict found = judge(read.arguments()[i], read);
    if (found.verdict < Verdict::unproven) {
      missing_.is_any = false;  // it is forwarded, whatever is proven
      return false;
    }
    count_unverified(found);
    are_absent = are_absent && found.verdict == Verdict::absent;
  }
  return are_absent;
}

}  // namespace cuckooguard::guard
