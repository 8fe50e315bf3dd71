// The guard's own commands, GUARD.* in any case: what they do, who may, and their replies as bytes.
//
//   GUARD.CHECK key [key ...]          per key :1 may exist, :0 cannot, :-1 no namespace's key
//   GUARD.EXPLAIN key                  a map: guard/explanation.h
//   GUARD.ADD key [key ...] [TTL s]    :n of them are in an overlay now; they pass for that long,
//                                      at most the namespace's overlay.ttl: for longer is an error,
//                                      and adds nothing
//   GUARD.WAIT source position ms      :1 once the source has applied the position, :0 when the
//                                      time is over
//   GUARD.INFO [namespace]             as Redis's INFO (guard/info_text.h)
//   GUARD.MODE namespace mode          +OK; observe, enforce or bypass, until the guard ends
//   GUARD.CLEAR namespace              +OK: its overlay is empty; for max_lag, until the filter has
//                                      heard of what was written a moment ago, all of its keys pass
//   GUARD.REBUILD namespace            +OK: its tables are read again, now if they are followed
//   GUARD.RELOAD                       +OK: the configuration file is in force; "+OK needs a
//                                      restart: upstream.mode" names what is not, "+OK every
//                                      setting is as before" says that the file has not changed.
//                                      -ERR and why: it is not in force, and all is as before
//                                      (guard/reloads.h)
//   GUARD.PING                         +PONG, by this guard itself, in whatever state Redis is
//   GUARD.HELP
//
// CHECK says 0 only where a GET would be answered absent by the filter, and 1 wherever it would be
// forwarded for another reason (not fresh, other db, overlay, observe ...). Unlike a GET it is not
// counted, and Redis need not be there.
//
// WAIT and all workers: the source says so (SourceView::reached) after it has changed the filters,
// whose words are atomic and which all workers share: nothing is to be told to them. A namespace of
// that source that is out of step passes.
//
// Who may. PING: anybody, at once, for a health check must not depend on Redis, and it tells no
// more than that a guard is here. All others: a client that is known to be authenticated; else
// -NOAUTH. CHECK, EXPLAIN and ADD: its user must be one who may GET the namespace's keys; one to
// whom Redis would surely refuse that gets Redis's own -NOPERM. Nobody has the benefit of the
// doubt: where it is not known whether the client is authenticated, or what its user may do, the
// reply is "-ERR rights unknown: " and why; at once if waiting is of no use (the guard may not ask,
// too many users, a user with a selector). MODE, CLEAR, REBUILD and RELOAD: Process::operators,
// nobody by default; who is none any more when the reload has ended hears -NOPERM.
//
// Held. While changes of the connection are in flight (SELECT, AUTH ...), while there is no room
// for a reply, and for kKnowPatience at most while rights are being asked for, the command
// keeps its place and later ones of that client wait; and so for GUARD.WAIT, as behind BLPOP, and
// for GUARD.RELOAD. The session asks again with the same arguments until there is an answer.
//
// Forwarded, so that Redis refuses an unknown command in its own words and the stream stays whole:
// inside MULTI (the transaction is then aborted, as by any unknown command), subscribed in RESP2,
// with replies off or skipped, where the connection's state is in doubt for good or it is relayed
// unread; and a command above 64 KiB. A Redis module with commands of these names is hidden.
//
// Threads: one per worker, its worker's. Lifetimes: a reply is valid until the next call. Errors:
// replies. Limits: kWaitMax, kPositionBytesMax; arguments as any command's.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "guard/guard.h"
#include "guard/own_decision.h"
#include "redis/word.h"

namespace cuckooguard::guard {

class OwnCommands {
 public:
  using Arguments = std::span<const std::string_view>;

  static constexpr std::chrono::milliseconds kWaitMax = std::chrono::hours(1);
  static constexpr std::size_t kPositionBytesMax = 4096;

  explicit OwnCommands(Guard& guard) : guard_(guard) {}

  static bool is_own(std::string_view name) noexcept {
    return name.size() > kPrefix.size() && name[kPrefix.size() - 1] == '.' &&
           redis::is_word(name.substr(0, kPrefix.size()), kPrefix);
  }
  static bool is_own(Arguments arguments) noexcept {
    return !arguments.empty() && is_own(arguments.front());
  }

  OwnDecision decide(Arguments arguments, Client& client, const Attempt& attempt);

 private:
  static constexpr std::string_view kPrefix = "guard.";

  struct Call {
    Arguments arguments;
    Client& client;
    const redis::Snapshot& redis;
    const redis::UserAccess* access;  // null: nothing is known of what its user may do, and nothing
                                      // is run that depends on it
    const Attempt& attempt;
  };

  enum class Needs : std::uint8_t { no_login, login, rights /* on its keys */, an_operator };
  struct Entry {
    std::string_view name;  // behind the prefix, lower case
    std::size_t least;      // arguments, the name included
    std::size_t most;
    Needs needs;
    OwnDecision (OwnCommands::*run)(const Call&);
    std::string_view help;  // lines
  };
  static const std::array<Entry, 11> kEntries;

  static const Entry* find(std::string_view name);
  OwnDecision run(const Entry& command, const Call& call);
  OwnDecision check(const Call& call);
  OwnDecision explain(const Call& call);
  OwnDecision add(const Call& call);
  OwnDecision wait(const Call& call);
  OwnDecision info(const Call& call);
  OwnDecision mode(const Call& call);
  OwnDecision clear(const Call& call);
  OwnDecision rebuild(const Call& call);
  OwnDecision reload(const Call& call);
  OwnDecision ping(const Call& call);
  OwnDecision help(const Call& call);

  OwnDecision wait_for_rights(const Call& call);
  std::optional<std::string> error_of_ttl(Arguments keys, std::chrono::seconds ttl);
  std::optional<std::string> refusal(Arguments keys, const Call& call);
  Guard::Inspection inspect(std::string_view key, const Call& call);
  bool waits_for_proof(const Guard::Inspection& seen, const Call& call) const {
    return seen.verdict == Verdict::unproven &&
           guard_.wants_proof(seen.found.ns, call.attempt.since, call.attempt.now);
  }
  OwnDecision answer() { return {.action = OwnDecision::Action::answer, .reply = reply_}; }
  OwnDecision error(std::string_view line);
  OwnDecision done() {
    reply_ = "+OK\r\n";
    return answer();
  }
  static std::string quoted(std::string_view text);
  std::optional<std::size_t> find_source(std::string_view name) const;
  // The argument behind the name.
  std::optional<std::uint32_t> find_namespace(const Call& call) const {
    return guard_.parts().keyspace.find(call.arguments[1]);
  }
  OwnDecision no_namespace(const Call& call);
  bool is_operator(const Client& client) const;
  std::string seen_in_observe(std::uint32_t ns, config::Mode next, TimePoint now) const;
  void tell_log(const Call& call, const std::string& what) const;

  Guard& guard_;
  std::string reply_;
};

}  // namespace cuckooguard::guard
