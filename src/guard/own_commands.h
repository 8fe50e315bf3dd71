// The commands that the guard serves itself: one table of them, and one gate.
//
//   family       its CommandServer has rows: names, arity, what it needs, where its keys are,
//                function, help
//   OwnCommands  is asked once about each command that a client sends: the first row of that name
//                whose server takes the call; none: it is Redis's
//   gate         OwnCommands::serve(): whether the call may be answered here and now, then the
//                login, the number of arguments, and the rights; then the row's function
//
// A new family is a file with its CommandServer, which app/ gives to OwnCommands
// (guard/command_families.h has those that there are).
//
// Held. While changes of the connection are in flight (SELECT, AUTH ...), while there is no room
// for a reply, and for kKnowPatience at most while rights are being asked for, the command keeps
// its place and later ones of that client wait; and so for whatever a row's function waits for. The
// session asks again with the same arguments until there is an answer.
//
// Forwarded, so that Redis refuses an unknown command and the stream stays whole: inside MULTI (the
// transaction is then aborted, as by any unknown command, and the error says why), subscribed in
// RESP2, with replies off or skipped, where the connection's state is in doubt for good or it is
// relayed unread; and a command above 64 KiB. A command that Redis may know, but not the guard's
// data, is sent as GUARD.<its name> then, which no Redis knows. What a script asks is not seen.
//
// Threads: one per worker, its worker's. Lifetimes: a reply is valid until the next call; the guard
// outlives it. Errors: replies. Limits: arguments as any command's.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/core/noncopyable.hpp>

#include "guard/client.h"
#include "guard/guard.h"
#include "guard/promised_reply.h"
#include "resp/reply_writer.h"
#include "resp/version.h"

namespace cuckooguard::guard {

class CommandServer;
class OwnCommands;
struct Call;

using Arguments = Guard::Arguments;

struct OwnDecision {
  enum class Action : std::uint8_t {
    answer,           // `reply` holds the bytes
    forward,          // as any other command; `instead`, if there are any words
    hold_for_client,  // ask again: what is in flight will settle it
    hold_for_source,  // ask again: GUARD.WAIT
    promise,          // `promise` will say; nothing is sent to Redis before it has
    ask,              // Redis is sent `instead`, and `asked` makes the reply of what it says
  };
  Action action = Action::forward;
  std::string_view reply{};
  std::span<const std::string_view> instead{};
  std::unique_ptr<PromisedReply> promise{};
  AskedReply asked{};
};

// For what a user may do, if it is not known: as a rule it is being asked for now.
inline constexpr std::chrono::milliseconds kKnowPatience{1000};

// The session asks about a command.
struct Attempt {
  TimePoint now;
  TimePoint since;            // when it was asked first
  bool has_room;              // for the reply
  bool has_promises = false;  // of commands before it

  bool may_wait() const { return now - since < kKnowPatience; }
};

// Of the client. Nobody has the benefit of the doubt: where it is not known, the call is held, and
// at last refused with the reason.
enum class Needs : std::uint8_t {
  nothing,      // not even a login
  no_refusal,   // not to be known to have no login; all else is the function's to ask
  login,        //
  rights,       // what its user may do is known; the function says what it must be
  an_operator,  // to be one of admin.operators
  everything,   // its user may do everything, or is one whom the server trusts with it
};

inline constexpr std::size_t kAny = static_cast<std::size_t>(-1);

struct CommandRow {
  std::string_view names;  // as errors spell them; in any case. "BF.": others that begin with it
  std::size_t least;       // arguments, the name included
  std::size_t most;
  Needs needs;
  OwnDecision (*run)(const Call& call);
  std::string_view help{};  // lines for GUARD.HELP
  std::size_t keys = 1;     // so many arguments behind the name may be keys
  bool waits_for_promises = false;
  bool is_of_redis = false;  // which gets it as it is where it is not served here
  std::uint8_t kind = 0;     // for its server
};

// One command that is served here.
struct Call {
  const CommandRow& row;
  std::string_view name;  // as its row spells it
  Arguments arguments;
  Client& client;
  const Attempt& attempt;
  Guard& guard;
  OwnCommands& commands;
  CommandServer& server;
  const redis::Snapshot& redis;
  const redis::UserAccess* access;  // null: it is not known what its user may do
  std::string& reply;

  std::string_view key() const { return arguments[1]; }
  Arguments items() const { return arguments.subspan(2); }
  bool takes_any_number() const { return row.most == kAny; }
  resp::Version version() const { return client.version(); }
  bool is_of_guard() const { return is_of_guard(name); }
  // GUARD.*: no Redis has a command of this name.
  static bool is_of_guard(std::string_view name) { return name.starts_with("guard."); }

  // MULTI, or its end, may be in flight: then what has come by its turn counts.
  bool is_left_to_redis() const {
    return client.has_unread_replies() ||
           (!client.has_changes_in_flight() && !client.can_be_answered());
  }
  bool must_be_held() const { return client.has_changes_in_flight() || !attempt.has_room; }

  OwnDecision answer() const { return {.action = OwnDecision::Action::answer, .reply = reply}; }
  // Of each item a boolean, in an array if there may be several.
  template <class Is>
  OwnDecision booleans(Arguments items, resp::Version version, Is is) const {
    reply.clear();
    if (takes_any_number()) {
      resp::append_array_header(reply, items.size());
    }
    for (const std::string_view item : items) {
      resp::append_boolean(reply, version, is(item));
    }
    return answer();
  }
  OwnDecision integer(std::int64_t value) const;
  OwnDecision simple(std::string_view text) const;
  OwnDecision error(std::string_view line) const;
  OwnDecision error_of_arity() const;
  // What has been read refuses the command (guard/redisbloom.h); empty: too few arguments.
  OwnDecision refused(std::string_view line) const {
    return line.empty() ? error_of_arity() : error(line);
  }
  OwnDecision no_permission(std::string_view why) const;
  // Where it cannot be held (a client that does not read) Redis is to refuse it.
  OwnDecision hold() const;
  // Without a look at the rights of the client's user: Redis judges them.
  OwnDecision ask(std::span<const std::string_view> words, AskedReply asked) const;
  OwnDecision for_redis_to_refuse() const;
  // As a rule they are being asked for now: users were withdrawn, or guard or client have just
  // begun.
  OwnDecision wait_for_rights() const;
  // Why its user may not GET the namespace's keys: in Redis's words where Redis would surely refuse
  // it, too. `in_doubt`: where it is not known.
  std::optional<std::string_view> refusal(std::uint32_t ns, std::string_view in_doubt) const;
  Reader reader() const;  // if `access`
};

class CommandServer : boost::noncopyable {
 public:
  // The rows outlive it.
  CommandServer(Guard& guard, std::span<const CommandRow> rows) : guard_(guard), rows_(rows) {}
  virtual ~CommandServer() = default;

  std::span<const CommandRow> rows() const { return rows_; }
  // By the keys of a call of this row.
  virtual bool takes(const CommandRow& /*row*/, Arguments /*arguments*/, TimePoint /*now*/) {
    return true;
  }
  // With a row that needs everything, although it may not do everything in Redis.
  virtual bool trusts(std::string_view /*user*/) const { return false; }
  // Who are trusted, for people.
  virtual std::string_view trusted() const { return {}; }
  // Of what it takes: the client's db is another one.
  virtual bool is_of_another_db(const Call& /*call*/) const { return false; }
  // Of a command above 64 KiB, of which only the front is there: perhaps no more than its name.
  virtual bool must_see_key() const { return false; }
  virtual bool may_take_large(const CommandRow& /*row*/,
                              Arguments /*front*/,
                              const Client& /*client*/,
                              TimePoint /*now*/) {
    return false;
  }

 protected:
  Guard& guard_;

 private:
  std::span<const CommandRow> rows_;
};

class OwnCommands : boost::noncopyable {
 public:
  // One of a row's names.
  struct Served {
    std::string_view name;
    const CommandRow& row;
    CommandServer& server;

    bool is_of_guard() const { return Call::is_of_guard(name); }
  };
  // A command's key is within so many bytes, or it is too long.
  static constexpr std::size_t kKeyIsInFront = 1024;

  template <class... Servers>
  explicit OwnCommands(Guard& guard, std::unique_ptr<Servers>... servers) : guard_(guard) {
    (add(std::move(servers)), ...);
  }

  // Those that were added before are asked first. Null: nothing.
  void add(std::unique_ptr<CommandServer> server);

  // Null: it is Redis's. Most names are told apart by first letter and length.
  const Served* find(Arguments arguments, TimePoint now) const {
    return arguments.empty() || !may_find(arguments.front()) ? nullptr : find_taken(arguments, now);
  }
  // Whether find() may find a command of this name, whatever its keys are.
  bool may_find(std::string_view name) const {
    return !name.empty() &&
           ((lengths_[letter_of(name)] >> std::min(name.size(), kLengthMax)) & 1U) != 0;
  }
  OwnDecision serve(const Served& served,
                    Arguments arguments,
                    Client& client,
                    const Attempt& attempt);

  // Of a command above 64 KiB: the name alone does not tell.
  bool must_see_key(Arguments front) const;
  // It may be one that Redis must not answer.
  bool may_take_large(Arguments front, const Client& client, TimePoint now) const;
  // The bytes of its first chunk, by which Redis does not know it for what it is.
  std::string_view unknown_to_redis(Arguments arguments, std::string_view chunk);

  // In the order in which they were added.
  std::span<const std::unique_ptr<CommandServer>> servers() const { return servers_; }

 private:
  friend struct Call;

  static constexpr std::size_t kLetters = 32;
  static constexpr std::size_t kLengthMax = 31;  // longer ones count as this

  static std::size_t letter_of(std::string_view name) {
    return static_cast<unsigned char>(name.front()) % kLetters;
  }
  const Served* find_taken(Arguments arguments, TimePoint now) const;
  template <class Takes>
  const Served* first_of(std::string_view name, Takes takes) const;
  std::optional<OwnDecision> refusal(const Call& call) const;
  OwnDecision for_redis_to_refuse(Arguments arguments);

  Guard& guard_;
  std::vector<std::unique_ptr<CommandServer>> servers_;
  std::array<std::uint32_t, kLetters> lengths_{};  // a bit each
  std::array<std::vector<Served>, kLetters> served_;
  std::string reply_;
  std::string name_;  // that Redis does not know
  std::vector<std::string_view> words_;
};

}  // namespace cuckooguard::guard
