// The reads of a Guard: may they be answered at all, are their keys absent, with which bytes.
#include "guard/guard.h"
#include "guard/shared_keys.h"
#include "redis/command_table.h"
#include "redis/missing_reply.h"
#include "redis/read_shape.h"
#include "resp/reply_writer.h"

namespace cuckooguard::guard {
namespace {

// What is kept of an element of a merged reply, beside its bytes.
constexpr std::size_t kElementBytes = 16;
constexpr std::string_view kNoneExists = ":0\r\n";

// A stamp is this old at most. The time is asked for no more often, so that an absent key costs as
// little as with another reply.
constexpr std::chrono::milliseconds kStampedEvery{10};

constexpr redis::ReadShape kGetexPlain("key [PERSIST]");
constexpr redis::ReadShape kGetexExpiring("key (EX/PX/EXAT/PXAT positive)");
constexpr std::size_t kExpiryDigitsMax =
    15;  // as milliseconds they are an integer of Redis's, even if they were seconds

bool is_getex_that_cannot_fail(std::span<const std::string_view> arguments) {
  return kGetexPlain.fits(arguments) ||
         (kGetexExpiring.fits(arguments) && arguments.back().size() <= kExpiryDigitsMax);
}

}  // namespace

bool Guard::may_look_up(const redis::Command& command, Client& client, TimePoint now) {
  if (reply_.capacity() > kScratchBytesMax) {
    std::string().swap(reply_);
  }
  if (!client.is_settled()) {
    counters_.unsettled_reads.add();
    return false;
  }
  const redis::Snapshot& known = *facts_;  // of find()
  if (known.availability != redis::Availability::available || client.is_wary(known) ||
      !client.may_rely_on(known, now)) {
    counters_.unavailable_reads.add();
    return false;
  }
  access_ = access_of(client);
  writes_ = client.writes();
  command_ = redis::command_index(command);
  if (access_ == nullptr) {
    counters_.not_allowed_reads.add();
    return false;
  }
  return has_room_for(1);
}

bool Guard::has_room_for(std::size_t bytes) {
  const bool has_room = bytes <= room_;
  if (!has_room) {
    counters_.no_room_reads.add();
  }
  return has_room;
}

Guard::KeyVerdict Guard::judge(std::string_view key, int db, TimePoint now) {
  const keyspace::Lookup found = parts_.keyspace.match(key, identity_);
  if (found.kind == keyspace::Lookup::Kind::unguarded) {
    counters_.unguarded_keys.add();
    unguarded_shapes_.see(counters_.unguarded_keys.value(), key);
    return {};
  }
  const Verdict verdict = look_up(found, key, db, now);
  counters_.guarded_keys.add();
  namespace_counters_[found.ns]->of(verdict).add();
  return {.verdict = verdict, .ns = found.ns};
}

Guard::Inspection Guard::inspect(std::string_view key,
                                 int db,
                                 const redis::UserAccess& access,
                                 TimePoint now,
                                 const WritesInFlight* writes) {
  static const std::size_t kGet = redis::command_index(redis::find_command("get"));
  const keyspace::Lookup found = parts_.keyspace.match(key, identity_);
  if (found.kind == keyspace::Lookup::Kind::unguarded) {
    return {};
  }
  access_ = &access;
  writes_ = writes;
  command_ = kGet;
  const Verdict verdict = look_up(found, key, db, now);
  Inspection seen{.found = found, .verdict = verdict};
  if (verdict == Verdict::overlaid) {
    seen.held = why_held(found, now);
  } else if (verdict == Verdict::may_exist || verdict == Verdict::not_fresh) {
    seen.other =
        find_shared({parts_.keyspace, parts_.namespaces, found, key}, now, other_identity_).other;
  }
  return seen;
}

Held Guard::why_held(const keyspace::Lookup& found, TimePoint now) const {
  const GuardedNamespace& space = parts_.namespaces[found.ns];
  const Held held = space.overlay->why_held(space.filter->hash(found.identity), now);
  if (held != Held::no || writes_ == nullptr) {
    return held;
  }
  return now < learner_.reads_pass_until(*writes_) ? Held::share_filled : Held::in_flight;
}

Verdict Guard::look_up(const keyspace::Lookup& found, std::string_view key, int db, TimePoint now) {
  const GuardedNamespace& space = parts_.namespaces[found.ns];
  if (space.mode == config::Mode::bypass) {
    return Verdict::bypassed;
  }
  if (space.db != db) {
    return Verdict::other_db;
  }
  if (!access_->may(command_, found.ns)) {
    return Verdict::not_allowed;
  }
  const std::uint64_t hash = space.filter->hash(found.identity);
  const Overlay::Search overlaid = space.overlay->begin(hash, now);
  filter::Finding finding = space.filter->find({hash, found.number, found.identity}, now);
  if (finding == filter::Finding::absent && !parts_.keyspace.makers_of(found).empty())
      [[unlikely]] {
    finding =
        find_shared({parts_.keyspace, parts_.namespaces, found, key}, now, other_identity_).finding;
  }
  switch (finding) {
    case filter::Finding::not_fresh:
      return Verdict::not_fresh;
    case filter::Finding::fresh_id:
      return Verdict::fresh_id;
    case filter::Finding::may_exist:
      return Verdict::may_exist;
    case filter::Finding::absent:
      break;
  }
  if (space.overlay->holds(overlaid) || (writes_ != nullptr && passes_for_client(hash, now))) {
    return Verdict::overlaid;
  }
  if (space.mode != config::Mode::enforce) {
    return Verdict::observed;
  }
  return space.order == config::Order::redis_first ? Verdict::redis_first : Verdict::absent;
}

// What it has written itself, and nobody else can know of yet; or may have forgotten again.
bool Guard::passes_for_client(std::uint64_t hash, TimePoint now) {
  if (now < learner_.reads_pass_until(*writes_)) {
    counters_.share_filled_keys.add();
    return true;
  }
  return writes_->is_in_flight() && writes_->holds(hash);
}

Decision Guard::answer(std::string_view reply) {
  if (!has_room_for(reply.size())) {
    return {};
  }
  counters_.answered.add();
  return {.action = Action::answer, .reply = reply};
}

// GET key. Any other number of arguments is an error, which is Redis's to give.
Decision Guard::decide_get(Arguments arguments, const Client& client, TimePoint now) {
  if (arguments.size() != 2) {
    return {};
  }
  const KeyVerdict found = judge(arguments[1], client.db(), now);
  if (found.verdict < Verdict::observed) {
    return {};
  }
  if (found.verdict != Verdict::absent || is_sampled(found.ns)) {
    return compare(string_read(found, arguments[1], client.version(), now));
  }
  return answer(absent_reply(found.ns, client.version(), now));
}

// Redis looks at the options' grammar before it looks for the key, and at their numbers thereafter.
// Where it takes no writes it refuses every form, the one without options, too.
Decision Guard::decide_getex(const redis::Command& command,
                             Arguments arguments,
                             const Client& client,
                             TimePoint now) {
  static const redis::Command& getex = redis::find_command("getex");
  if (!facts_->takes_writes) {
    return {};
  }
  if (&command != &getex) {
    return decide_read(command, arguments, client, now);
  }
  return is_getex_that_cannot_fail(arguments) ? decide_get(arguments.first(2), client, now)
                                              : Decision{};
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

Decision Guard::decide_mget(Arguments arguments, const Client& client, TimePoint now) {
  passing_.assign(1, arguments.front());
  elements_.clear();
  absent_keys_.clear();
  std::size_t bytes = 0;  // that are kept for the reply, or make it
  for (const std::string_view key : arguments.subspan(1)) {
    const KeyVerdict found = judge(key, client.db(), now);
    if (found.verdict == Verdict::absent && !is_sampled(found.ns)) {
      const std::string_view reply = absent_reply(found.ns, client.version(), now);
      elements_.emplace_back(reply);
      bytes += reply.size();
      continue;
    }
    if (found.verdict >= Verdict::observed) {
      absent_keys_.push_back(string_read(found, key, client.version(), now));
      absent_keys_.back().element = static_cast<std::uint32_t>(elements_.size());
      bytes += absent_keys_.back().bytes();
    }
    elements_.emplace_back(std::nullopt);
    passing_.push_back(key);
  }
  const bool is_merged = passing_.size() > 1 && bytes > 0;
  if (!has_room_for(bytes + (is_merged ? elements_.size() * kElementBytes : 0))) {
    return {};
  }
  if (passing_.size() == arguments.size()) {
    return absent_keys_.empty() ? Decision{}
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
  return answer(reply_);
}

// EXISTS and TOUCH. Redis counts a key as often as it is named: what is taken out adds nothing.
Decision Guard::decide_exists(Arguments arguments, const Client& client, TimePoint now) {
  if (arguments.size() == 2) {
    return answer_or_compare(judge(arguments[1], client.db(), now), arguments[1], kNoneExists);
  }
  passing_.assign(1, arguments.front());
  for (const std::string_view key : arguments.subspan(1)) {
    const KeyVerdict found = judge(key, client.db(), now);
    if (found.verdict != Verdict::absent) {
      count_unverified(found);
      passing_.push_back(key);
    }
  }
  if (passing_.size() == arguments.size()) {
    return {};
  }
  if (passing_.size() == 1) {
    return answer(kNoneExists);
  }
  request_.clear();
  resp::append_command(request_, passing_);
  return {.action = Action::rewrite, .request = request_};
}

// Answered whole, or not at all.
Decision Guard::decide_read(const redis::Command& command,
                            Arguments arguments,
                            const Client& client,
                            TimePoint now) {
  const auto reply = redis::missing_reply(command, arguments);
  if (!reply) {
    return {};
  }
  const redis::KeyIndexes keys = redis::key_indexes(command, arguments);
  const auto missing = [&] {
    return redis::bytes_of(*reply, arguments.size(), client.version(), reply_);
  };
  if (keys.first < keys.end && keys.first + keys.step >= keys.end) {
    const KeyVerdict found = judge(arguments[keys.first], client.db(), now);
    return found.verdict < Verdict::observed
               ? Decision{}
               : answer_or_compare(found, arguments[keys.first], missing());
  }
  return are_absent(keys, arguments, client.db(), now) ? answer(missing()) : Decision{};
}

// All of them, and there is one. What comes behind a key that may exist is not judged.
bool Guard::are_absent(const redis::KeyIndexes& keys, Arguments arguments, int db, TimePoint now) {
  bool are_absent = keys.first < keys.end;
  for (std::size_t i = keys.first; i < keys.end; i += keys.step) {
    const KeyVerdict found = judge(arguments[i], db, now);
    if (found.verdict < Verdict::observed) {
      return false;
    }
    count_unverified(found);
    are_absent = are_absent && found.verdict == Verdict::absent;
  }
  return are_absent;
}

}  // namespace cuckooguard::guard
