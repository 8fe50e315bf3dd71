// Decides what becomes of each command: answered here because its keys cannot exist, or forwarded
// to Redis.
//
// Must: a command is answered only if all of this holds; else, and always when in doubt, it is
// forwarded as it is (tests/guard/guard_conditions_test.cpp).
//   - it is a read that cannot fail in Redis in this shape (redis/missing_reply.h), and each of its
//     keys is absent; of MGET, EXISTS and TOUCH those that are absent are left out
//   - a key is absent if a namespace in mode enforce guards it, in the db that the client has
//     selected; the namespace's filters are published and fresh at `now`; the id is not just above
//     the largest seen; the filters say so (filter/live_parts.h), also those of other namespaces
//     whose rows can have it (guard/key_judge.h); and it was not written through the guard a
//     moment ago (guard/overlay.h)
//   - Redis has the command, serves, and the client's user is known to be allowed the command on
//     the namespace's keys (redis/facts.h); the client is settled (redis/client_state.h)
//   - a node of a cluster has all of the command's keys, in one slot that is not on its way, and is
//     a master, or the client reads from replicas
//   - the session has room for the reply (`room`). How long it is, is known before it is made: a
//     command of 64 KiB may ask for a thousand times as much
// A read that is forwarded although its key is absent (mode observe, order redis-first,
// verify_sample) says so in its Decision, and compare() is told what Redis replied
// (guard/absent_key.h). The verdict is of the moment at which the command is taken: a row that is
// committed later may be replaced by an absent reply if Redis is slow, as its read might have come
// before.
//
// Strict (GuardedNamespace::is_strict): absent is said only with a proof of all filters that were
// asked whose question began after the read had arrived. While there is none the verdict is
// `unproven`: the session holds the read, `strict_hold` at most, and judges it again when something
// has been proven; or it goes to Redis at once, and a nil is replaced if the proof has come by
// then. An id just above the largest passes there only as one that is tolerated
// (guard/guarded_namespace.h).
//
// Must: judge() counts nothing, takes nothing and learns nothing; carried_out() does, once.
//
// Each key of a write passes for its client's next command, and enters its namespace's
// overlay when Redis has replied and not refused it (guard/client.h), as long as the
// shares allow (guard/learner.h); except where the value written is the absent reply's own
// bytes. Where that reply will not be seen (CLIENT REPLY OFF, a client that is scanned only, one
// that has gone, too much in flight, a script's error), the client's rights decide, at once: a
// write is not learned of one that is known not to be logged in, or not to be allowed to write the
// namespace's keys.
//
// GETEX is a read: of a missing key it changes nothing, and Redis refuses it only where it refuses
// writes (-READONLY, -MISCONF, -NOREPLICAS): there it is forwarded when that has been noticed.
//
// Threads: one Guard per worker; what it is built from is shared by all workers. A reload gives it
// other parts, on its worker's thread, between two batches: nothing that a Decision has said before
// is looked up again but AbsentKey, which says of which numbering its namespace is.
// Lifetimes: its parts outlive it, or the next adopt(). All views in a Decision point into the
// Guard, its parts or the arguments, and are valid until its next call. Limits: keys above
// resp::kWholeArgumentBytesMax are never guarded. Scratch grows to the largest command; a reply's
// beyond kScratchBytesMax is given back at the next read.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "config/config.h"
#include "filter/live_parts.h"
#include "guard/absent_key.h"
#include "guard/absent_reply_bytes.h"
#include "guard/client.h"
#include "guard/counters.h"
#include "guard/guarded_namespace.h"
#include "guard/key_judge.h"
#include "guard/key_shapes.h"
#include "guard/learner.h"
#include "keyspace/keyspace.h"
#include "redis/command_table.h"
#include "redis/expiry.h"
#include "redis/facts.h"
#include "redis/lane.h"
#include "redis/state_change.h"
#include "resp/request_scanner.h"

namespace cuckooguard::guard {

class FactTable;
struct Process;

// Of what is shown (guard/fact_table.h).
using FactProviders = std::vector<std::function<void(FactTable&)>>;

// What a Guard is built from; shared by all workers but for what is said to be one's own.
//
// Threads: plain values. Lifetimes: what it refers to outlives the guards that have it.
struct GuardParts {
  const keyspace::Keyspace& keyspace;
  std::span<const GuardedNamespace> namespaces;  // in the keyspace's order
  redis::Facts& facts;
  const Process* process = nullptr;       // null: nothing is known of it
  std::function<WallTime()> wall_time{};  // for absent replies that carry one; or empty
  std::size_t worker = 0;                 // whose counters are its own
  std::uint64_t numbering = 0;  // as long as it is the same, so are the namespaces' numbers
  // The worker's, which outlives all of its guards and their clients, and whose guards all have
  // these namespaces; null: one of its own. The shares of clients and users are of what one
  // learner has.
  Learner* learner = nullptr;
  const FactProviders* shown = nullptr;  // null: nothing is
};

// One command about which the guard is asked, with all that is known of it at that moment: what
// becomes of it follows from this alone.
//
// Threads: its worker's. Lifetimes: on the stack; until the guard is asked about another command.

// What becomes of a read whose keys are absent, in a strict namespace, while the proof is to come.
enum class Unproven : std::uint8_t {
  ask_redis,  // it is forwarded; a nil is replaced if the proof has come before it
  hold,       // it waits, no longer than the namespace's strict_hold after it has arrived
};

// Of a read, in strict namespaces.
struct ProofNeed {
  redis::TimePoint read_at;  // when all of its bytes had been received: a proof must be newer
  Unproven unproven = Unproven::ask_redis;
  bool was_held = false;  // for a proof
};

struct Question {
  const redis::Snapshot& redis;
  const redis::Command& command;                // as this Redis has it
  std::span<const std::string_view> arguments;  // its name first
  Client& client;
  redis::TimePoint now;
  ProofNeed proof{.read_at = now};

  // How it may travel where connections to Redis are shared; until it is decided.
  redis::Lane lane() const;
};

// What enforce would do in a strict namespace that only observes: of some reads that are found
// absent a proof is wanted, as if they were held for it, and the filter is asked again with it.
//
// A sample is looked at when the next read of its namespace is observed: in a quiet namespace a
// proof that came too late for `strict_hold` counts as one in time.
//
// Threads: its worker's, between Epochs::Reader enter() and leave(). Limits: one read of each
// namespace at a time, and one per kEvery.
class Forecasts {
 public:
  static constexpr std::chrono::milliseconds kEvery{100};

  void adopt(std::size_t namespaces) { samples_.assign(namespaces, {}); }

  // Whose verdicts these are; `counters`: of the namespace at hand.
  struct Who {
    const GuardParts& parts;
    KeyJudge& judge;
    NamespaceCounters& counters;
  };
  // It was observed to be absent, in a read that arrived at `read_at`.
  void see(const Effects::Absence& seen, TimePoint read_at, TimePoint now, const Who& who);

 private:
  struct Sample {
    std::string key;
    TimePoint read_at{};
    bool is_open = false;
  };

  bool close(Sample& sample, const GuardedNamespace& space, TimePoint now, const Who& who);

  std::vector<Sample> samples_;  // by namespace
  keyspace::IdentityBuffer identity_;
};

// What becomes of one command: the guard's word to the session.
//
// Threads: plain values. Lifetimes: views are valid until the guard's next call.
enum class Action : std::uint8_t {
  forward,  // send the command's own bytes, relay its one reply
  answer,   // `reply` holds the bytes, nothing is sent
  rewrite,  // send `request` instead, relay its one reply (EXISTS, TOUCH)
  merge,    // send `request`; its array reply is merged with `elements` (MGET), an error is all
  hold,     // nothing yet: judge it again when a proof has come, or at `hold_until`
  unread,   // send the bytes; from here on replies are relayed unread (the client's state says what
            // else is)
};

struct Decision {
  Action action = Action::forward;
  std::string_view reply{};
  std::string_view request{};
  // merge: for each element of the client's MGET the bytes of an absent one, or nullopt: the next
  // element of Redis's.
  std::span<const std::optional<std::string_view>> elements{};
  // With `forward` and `merge`: keys that the guard takes for absent, one, or of the `elements`.
  std::span<const AbsentKey> absent_keys{};
  // Not null (with `forward` only): pass it to Client::sent now and, with its reply, to
  // Client::replied.
  const redis::StateChange* change = nullptr;
  // With `hold`: until when, and for which namespace's proof.
  std::chrono::steady_clock::time_point hold_until{};
  std::uint32_t hold_ns = 0;
  // With `forward` only: Client::writes() is to be told which reply is this command's, now.
  bool awaits_reply = false;
  // With `forward` only: a GET or MGET whose nil missed() is to be asked about.
  bool may_be_load = false;
};

// The first commands of a run of reads of one client, of one key each, which differ in the key
// alone.
struct RunDecision {
  std::size_t commands = 0;    // that are decided; 0: judge() decides the first
  std::uint64_t answered = 0;  // bit i: the i-th one, by `reply`; the others are to be forwarded
  std::string_view reply{};    // of each; valid until the next judge()
};

class Guard {
 public:
  using Parts = GuardParts;

  explicit Guard(const Parts& parts);
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;
  ~Guard();

  // From now on these; the facts and the learner are the same.
  void adopt(const Parts& parts);

  using Arguments = std::span<const std::string_view>;

  // Of one whole command, its name first.
  Question ask(Arguments arguments, Client& client, TimePoint now) {
    return ask(arguments, client, now, facts());
  }
  // The same by what another question, which goes on, knows of Redis.
  static Question ask(Arguments arguments,
                      Client& client,
                      TimePoint now,
                      const redis::Snapshot& redis);
  // `room`: how many bytes the session may hold for it: a local reply's, or those of keys whose
  // replies are compared; what needs more is forwarded as it is. 0: nothing may be answered. An
  // action `unread` has already been told to the client.
  Decision decide(const Question& question, std::size_t room);
  // Of a read the same in two steps. Its verdict changes nothing, and may be asked for again; then
  // what it changes, if that has been carried out: nothing has been judged in between.
  static bool judges(const Question& question) {
    return redis::may_be_answered(question.command.role) && !question.client.has_unread_replies();
  }
  Decision judge(const Question& question, std::size_t room);
  void carried_out(const Question& question);
  // The same for the first ones of a run: as many as can be decided together, each as judge() would
  // decide it. `question`: the first of them; `keys`: of all, at most KeyRun::kMax.
  RunDecision judge_run(const Question& question, Arguments keys);
  // The same of writes that differ in key and value alone, which are all forwarded: their keys wait
  // for their replies, the last of which has that number. If Client::next_has_reply().
  void scan_writes(const Question& question,
                   std::span<const resp::AlikeCommand> writes,
                   std::uint64_t last_reply);
  // So many of those decided have been carried out.
  void carried_out_run(const Question& question, Arguments keys);
  // The namespace's own filters are proven since then; or there is no such namespace any more.
  bool is_proven(std::uint32_t ns, TimePoint since) const;

  // Whether Redis holds the client to its limits for those without a login (resp::RequestScanner).
  bool may_be_logged_out(const Client& client) { return client.may_be_logged_out(facts()); }

  // One chunk of a command too large to be held whole: forward, or unread if the command
  // changes the connection.
  Decision stream(const resp::Scan& chunk,
                  std::span<const std::string_view> arguments,
                  Client& client,
                  TimePoint now);

  // Replies of this client's have been read: what they say was written is learned. If
  // writes()->has_outcomes().
  void learn_replied(Client& client, TimePoint now) { learn_replied(client, facts(), now); }
  // Its replies will not be read any more (Client::stop_reading_replies), or it has gone: nothing
  // comes of it after this.
  void stop_reading_replies(Client& client, TimePoint now);
  void ended(Client& client, TimePoint now);
  // It goes on with another worker's guard: nothing of it is in flight. This worker may still drop
  // young keys of its: until leaves() says its reads pass there.
  TimePoint leaves(Client& client, TimePoint now);
  void arrives(Client& client, TimePoint reads_pass_until, TimePoint now);

  // Of one with `read_at`, to which Redis has said nil: it is absent, and proven to be.
  bool may_replace(const AbsentKeyReply& reply, TimePoint now);
  // What Redis has said of a Decision's absent key, for Process::contradictions.
  void compare(const AbsentKeyReply& reply);

  // Redis has replied to a read with `may_be_load`, with nil for this key alone: its loads, and
  // whether they are only observed. Null: it is nobody's concern, or need not exist.
  struct Missed {
    Loads* loads = nullptr;
    Misses::Key key{};
    bool is_observed = false;
  };
  Missed missed(std::string_view key, const Client& client, TimePoint now);

  // Before bytes of Redis's leave for the client.
  void relayed(const Client& client) {
    if (client.may_have_changed_all_unseen()) {
      parts_.facts.may_have_changed_all(client.yes_may_pass_until());
    }
  }

  // Redis has replied to this client with an error that begins like this. LOADING, BUSY ...: its
  // reads pass until the control connection has asked whether that is so; it alone may have been
  // told so by a script.
  void note_error(std::string_view first_bytes, Client& client);

  // Of a read that was forwarded.
  void note_reply_time(std::chrono::nanoseconds time) { counters_.reply_times.add(time); }

  // What a string read of an absent key of this namespace is answered with at `now`. Valid until
  // the next.
  std::string_view absent_reply(std::uint32_t ns, resp::Version version, TimePoint now);

  // --- for the guard's own commands (guard/own_commands.h); not counted ---
  using Reader = guard::Reader;
  using Inspection = guard::Inspection;
  // What becomes of it by the key alone.
  Inspection inspect(std::string_view key, const Reader& reader);
  // Nothing: no namespace's key.
  std::optional<std::uint32_t> namespace_of(std::string_view key);
  // Whose filter BF.* and CF.* of this key ask for; nothing: it is Redis's.
  std::optional<std::uint32_t> filter_named(std::string_view key) const;
  bool names_filters() const { return !filters_named_.empty(); }
  // A proof newer than `since` is to be waited for: the namespace is strict, and it has not been
  // waited for long enough.
  bool wants_proof(std::uint32_t ns, TimePoint since, TimePoint now) const;
  // As inspect(), of the key that the namespace's first template makes of an item; counted.
  Verdict look_up_item(std::uint32_t ns, std::string_view item, const Reader& reader);
  // Neither answered nor counted yet.
  bool is_item_unproven(std::uint32_t ns, std::string_view item, const Reader& reader);
  std::string_view key_of_item(std::uint32_t ns, std::string_view item);  // until the next
  // To its namespace's overlay, for `ttl` or as long as any, within the client's share. False: no
  // namespace's key.
  bool add(std::string_view key,
           Client& client,
           TimePoint now,
           std::optional<std::chrono::seconds> ttl);
  // As of now. Valid until the guard is asked anything else.
  const redis::Snapshot& facts();
  // What is known of the client's user; null: nothing that holds for the namespaces as they are
  // numbered now.
  const redis::UserAccess* access_of(Client& client, const redis::Snapshot& redis) const;
  const Parts& parts() const { return parts_; }
  const NamespaceCounters& counters(std::uint32_t ns) const { return *namespace_counters_[ns]; }

  // Any thread.
  const GuardCounters& counters() const { return counters_; }
  // Of those that counters().unguarded_keys counts.
  const KeyShapes& unguarded_shapes() const { return unguarded_shapes_; }

 private:
  // A question whose keys may be looked for.
  struct Read {
    const Question& question;
    std::size_t room;
    Reader reader;

    Arguments arguments() const { return question.arguments; }
    resp::Version version() const { return question.client.version(); }
  };

  static constexpr std::string_view kNoneExists = ":0\r\n";
  static constexpr std::size_t kScratchBytesMax = resp::kWholeCommandBytesMax;

  const redis::UserAccess* access_of_read(const Question& question);
  static Reader reader_of(const Question& question, const redis::UserAccess& access);
  bool is_for_this_node(const Question& question);
  bool has_room_for(std::size_t bytes, std::size_t room);
  bool may_do_anything(const Question& question);
  void may_change_all(const Question& question);
  struct Judged {
    std::string_view key;
    std::optional<std::uint64_t> number;  // as keyspace::Lookup::number
  };
  KeyVerdict judge(std::string_view key, const Read& read);
  void judge_all(Arguments keys, const Read& read);
  std::uint64_t note_run(Arguments keys, const Question& question);  // absent ones
  void miss_proof(const KeyVerdict& judged, const Question& question);
  void note_hold(const KeyVerdict& judged, const Question& question);
  void note_absences(TimePoint read_at, TimePoint now);
  static bool tells_of_absences(const GuardedNamespace& space) {
    return space.is_strict() || !space.may_enforce || !space.absent_reply.is_nil();
  }
  void sample_traffic(const KeyVerdict& judged, const Judged& what, const Client& client);
  void tell_traffic(TimePoint now);
  void note_expiry(const redis::Expiry& expiry, const GuardedNamespace& space, TimePoint now) const;
  void note_getex(const Question& question);
  bool is_expiry_due(const redis::Command& command) {
    return command.may_set_expiry && --until_expiry_ == 0;
  }
  Decision answer(std::string_view reply, const Read& read);
  std::uint64_t next_random();
  // Of a sample of one in `every`: how far the next one is.
  std::uint64_t next_distance(std::uint32_t every) { return 1 + next_random() % (2 * every - 1); }
  bool is_sampled(std::uint32_t ns, const Read& read);
  bool draws_sample(std::uint32_t ns, const redis::Snapshot& redis);
  std::optional<std::string_view> reply_of_run(const Question& question, std::uint32_t ns);
  std::size_t collect_unguarded(Arguments keys);
  void collect_guarded(keyspace::Lookup found, Arguments keys);
  AbsentKey string_read(const KeyVerdict& found, std::string_view key, const Read& read);
  Decision compare(const AbsentKey& key, const Read& read);
  Decision answer_or_compare(const KeyVerdict& found,
                             std::string_view key,
                             std::string_view reply,
                             const Read& read);
  void count_unverified(const KeyVerdict& found);
  Decision decide_read(const Question& question, std::size_t room);
  bool reads_loads(const Question& question);
  bool may_be_load(const KeyVerdict& found) const {
    return found.verdict == Verdict::may_exist && parts_.namespaces[found.ns].loads != nullptr;
  }
  Decision decide_get(std::string_view key, const Read& read);
  Decision decide_getex(const Read& read);
  Decision decide_mget(const Read& read);
  Decision decide_exists(const Read& read);
  Decision decide_other_read(const Read& read);
  bool are_absent(const redis::KeyIndexes& keys, const Read& read);
  Decision decide_unread(const Question& question);
  Decision decide_change(const Question& question);
  Decision change_unseen(const redis::StateChange& change, const Question& question);

  // Of one command: its client, and how its writes are learned.
  struct Write {
    const redis::Snapshot& redis;
    Client& client;
    TimePoint now;
    bool is_unseen = false;
    bool may_be_half_done = false;
    bool has_value = true;  // these two as in WritesInFlight::Key
    bool is_refused_by_nil = false;
    bool awaits_reply = false;
    std::optional<redis::Expiry> expiry{};  // that it gives its one key, for Traffic
  };
  Write write_of(const Question& question);
  bool scan_write(const Question& question);
  void begin_stream(const Question& question);
  void scan_chunk(const redis::Command& command,
                  const resp::Scan& chunk,
                  Arguments arguments,
                  Write& write);
  void scan_key(std::string_view key, const std::string_view* value, Write& write);
  bool may_have_written(Client& client, const redis::Snapshot& redis) const;
  void learn_key(const Learner::Key& key,
                 Client& client,
                 const redis::Snapshot& redis,
                 TimePoint now);
  void learn_replied(Client& client, const redis::Snapshot& redis, TimePoint now);
  void stop_reading_replies(Client& client, const redis::Snapshot& redis, TimePoint now);

  Parts parts_;
  std::shared_ptr<const redis::Snapshot> facts_;
  GuardCounters counters_;
  KeyShapes unguarded_shapes_;
  std::vector<NamespaceCounters*> namespace_counters_;
  std::vector<HoldRecord> holds_;  // by namespace
  Effects effects_;                // of the read that was judged last
  UnprovenKeys missing_;           // likewise
  std::unordered_map<std::string_view, std::uint32_t> filters_named_;  // by its namespace's key
  std::string item_key_;
  std::vector<StampedReply> stamped_replies_;  // by namespace; those without a time are not used
  Learner own_learner_;
  Learner& learner_;
  KeyRun run_;  // that was judged last
  keyspace::IdentityBuffer identity_;
  KeyJudge judge_{learner_, effects_, counters_.share_filled_keys};
  Forecasts forecasts_;
  redis::StateChange change_;
  std::string reply_;
  std::string request_;
  std::vector<std::string_view> passing_;  // command name and keys of `request_`
  std::vector<std::optional<std::string_view>> elements_;
  std::vector<AbsentKey> absent_keys_;
  std::vector<KeyVerdict> verdicts_;           // of an MGET's keys
  std::uint64_t sample_ = 0x9e3779b97f4a7c15;  // xorshift; no secret
  bool is_sample_drawn_ = false;               // the next absent key is of the sample
  std::uint64_t until_traffic_ = 1;            // guarded keys until the next that Traffic sees
  std::uint64_t until_expiry_ = 1;             // likewise writes
};

}  // namespace cuckooguard::guard
