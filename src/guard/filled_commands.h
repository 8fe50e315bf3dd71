// Commands on filters that applications fill (filters in the configuration), with the replies and
// errors of RedisBloom, or of Redis's sets.
//
//   BF.*, CF.*            of a key that filters.named or allow_reserve names, or that is a filter
//   SADD, SISMEMBER,      of a key of filters.dedupe: SADD says how many members were not there
//   SMISMEMBER, SCARD     before; who they are nobody knows, so all other set commands are refused
//   DEL, UNLINK, EXISTS,  of a filter that is there, alone. What cannot be done with a filter, or
//   TYPE, EXPIRE, TTL ... not together with other keys, is refused in words
//
// What changes a filter, and what must be asked in its turn (CF.COUNT, SCANDUMP), goes to the store
// (filled/store.h), and its reply is promised until that is done; later commands of the client that
// only ask wait for it. EXISTS and its like are answered here, 1 where the store is not current.
//   not_in_log     the error says why; but SADD says that all members are new: a page that is
//                  fetched twice is better than one that is lost
//   unknown        the same: it may have been done
//
// While the store is not current (the log is being read) what is asked of keys that may be filters
// waits, kKnowPatience at most, and is then refused.
//
// In a db other than 0 the keys are Redis's, and so are those longer than kKeyBytesMax. Who may:
// users who may do everything, and filters.users. Inside MULTI, with replies off, and above 64 KiB
// Redis is sent GUARD.BF.ADD, GUARD.DEL ..., which it does not know (guard/filter_commands.h says
// why). What a script does is not seen. FLUSHALL is Redis's: with durability redis the filters are
// gone with it, else they stay.
//
// A client may send thousands of commands at once that make, drop or load a filter, each of which
// takes some 40 us: a worker does kWholePerTurn of them, and the rest wait for its next turn.
//
// Threads: one per worker, its worker's. Lifetimes: a reply is valid until the next call. A filter
// that was dropped stays in memory until each worker has had another of these commands.
// Errors: replies. Limits: filters.max_filters and max_memory go with each operation
// (filled/operation.h).
// Source: https://redis.io/docs/latest/commands (bf.*, cf.*, sadd ...); RedisBloom 2.8.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "guard/filled.h"
#include "guard/filter_info.h"
#include "guard/filter_options.h"
#include "guard/guard.h"
#include "guard/own_decision.h"
#include "guard/own_reply.h"

namespace cuckooguard::guard {

class FilledCommands : OwnReply {
 public:
  static constexpr std::size_t kKeyBytesMax = 512;
  // A command's key is within so many bytes, or it is too long.
  static constexpr std::size_t kKeyIsInFront = 1024;
  static constexpr std::size_t kWholePerTurn = 20;

  explicit FilledCommands(Guard& guard) : guard_(guard) {}

  bool takes(Arguments arguments, TimePoint now);
  // Of what it takes.
  OwnDecision decide(Arguments arguments, Client& client, const Attempt& attempt);
  // Of a command above 64 KiB of which there is no more than the name.
  bool must_see_key(Arguments front) const;
  // As FilterCommands has it.
  bool may_take_large(Arguments front, const Client& client, TimePoint now);

 private:
  enum class Family : std::uint8_t { bloom, cuckoo, set, key };
  struct Call {
    std::string_view name;
    Family family;
    Arguments arguments;
    Client& client;
    const Attempt& attempt;
    std::uint64_t now;  // milliseconds since 1970
    std::shared_ptr<const filled::Directory> directory;
    const filled::Named* named;    // in it; null: there is no filter
    const filled::Named* expired;  // the same, of one that is past its time

    std::string_view key() const { return arguments[1]; }
    Arguments items() const { return arguments.subspan(2); }
    resp::Version version() const { return client.version(); }
    filled::Kind kind() const {
      return family == Family::cuckoo  ? filled::Kind::cuckoo
             : family == Family::bloom ? filled::Kind::bloom
                                       : filled::Kind::set;
    }
  };
  struct Entry {
    std::string_view name;  // as it is spelled in errors
    Family family;
    std::size_t least;  // arguments, the name included
    std::size_t most;
    bool waits;  // for what the client has been promised
    OwnDecision (FilledCommands::*run)(const Call&);
    std::size_t keys = 1;  // from the second argument on
  };
  static const std::array<Entry, 62> kEntries;

  static const Entry* find(std::string_view name);
  Filled* filled() const { return guard_.parts().filled; }
  static Arguments keys_of(const Entry& command, Arguments arguments);
  const std::shared_ptr<const filled::Directory>& directory();
  bool is_filter(std::string_view key);
  bool may_be_filter(const Entry& command, std::string_view key) const;
  bool is_of_filter(const Entry& command, Arguments arguments, TimePoint now);
  std::optional<OwnDecision> refusal(const Entry& command,
                                     Arguments arguments,
                                     Client& client,
                                     const Attempt& attempt);
  // Of what may be made under the key; nothing: no filter of these commands.
  std::optional<Filled::Template> template_of(const Call& call) const;

  // filled_commands.cpp
  OwnDecision exists(const Call& call);
  OwnDecision add(const Call& call);
  OwnDecision insert(const Call& call);
  OwnDecision erase(const Call& call);
  OwnDecision count(const Call& call);
  OwnDecision refuse(const Call& call);
  // filled_whole_commands.cpp
  OwnDecision reserve(const Call& call);
  OwnDecision compact(const Call& call);
  OwnDecision card(const Call& call);
  OwnDecision info(const Call& call);
  OwnDecision scan_dump(const Call& call);
  OwnDecision load_chunk(const Call& call);
  // filled_key_commands.cpp
  OwnDecision drop(const Call& call);
  OwnDecision has_key(const Call& call);
  OwnDecision type(const Call& call);
  OwnDecision expire(const Call& call);
  OwnDecision persist(const Call& call);
  OwnDecision time_left(const Call& call);

  bool is_of_another_kind(const Call& call) const {
    return call.named != nullptr && call.named->filter->shape().kind != call.kind();
  }
  OwnDecision add_items(const Call& call,
                        Arguments items,
                        const filled::Shape& shape,
                        bool creates);
  bool is_current(const Call& call) const;
  OwnDecision submit(const Call& call, filled::Operation operation, PromisedReply::Write write);
  // Counts what is done to a filter as a whole; false: it is for the worker's next turn.
  bool has_turn(const Call& call, const filled::Operation& operation);
  OwnDecision wrong_kind();

  Guard& guard_;
  std::shared_ptr<const filled::Directory> directory_;
  std::uint64_t version_ = 0;
  TimePoint turn_{};
  std::size_t whole_in_turn_ = 0;
};

// filled_replies.cpp: what is written of a change that is done.
namespace filled_reply {

inline constexpr std::string_view kWrongKind =
    "WRONGTYPE Operation against a key holding the wrong kind of value";

void of_bloom_add(std::string& out, const filled::Change& change, resp::Version version);
void of_bloom_add_each(std::string& out, const filled::Change& change, resp::Version version);
void of_cuckoo_add(std::string& out, const filled::Change& change, resp::Version version);
void of_cuckoo_insert(std::string& out, const filled::Change& change, resp::Version version);
void of_cuckoo_insert_if_new(std::string& out, const filled::Change& change, resp::Version version);
void of_set_add(std::string& out, const filled::Change& change, resp::Version version);
void of_erase(std::string& out, const filled::Change& change, resp::Version version);
void of_count(std::string& out, const filled::Change& change, resp::Version version);
void of_create(std::string& out, const filled::Change& change, resp::Version version);
// One if it was done, else zero.
void of_key(std::string& out, const filled::Change& change, resp::Version version);

}  // namespace filled_reply

}  // namespace cuckooguard::guard
