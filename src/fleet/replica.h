// A follower of a fleet's log: which entries are here, and as of when that is all there is.
//
//   take(entry) ─▶ to be applied to the filters of tables that it has()
//   proven(answer) ─▶ these are fresh as of then, if they are ready
//
// It is a state machine without I/O: who drives it asks Redis for entries and for the answer to its
// question, and applies the entries to filters. A table that it does not have is loaded aside, from
// a snapshot (chain.h) and the entries behind that, up to the same entry.
//
// Threads:   one. Lifetimes: the keys and the questions outlive it. Errors: Break.
// Limits:    kPastMax entries are remembered; answers of earlier ones come too late, and a log that
//            ends before them is another one.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <expected>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "fleet/chain.h"
#include "fleet/questions.h"

namespace cuckooguard::fleet {

// Beside the log, for one follower. Nobody has signed it: the entry's root is what it is held to.
struct Answer {
  std::uint64_t seq = 0;  // of the entry
  std::string nonce;
  std::string path;
};
std::string bytes_of(const Answer& answer);
std::optional<Answer> read_answer(std::string_view bytes);

// With a follower's question, beside it. But for the question it is for people, and what it lacks.
struct Ask {
  static constexpr std::size_t kWhyMax = 200;  // bytes; of longer ones the beginning

  std::string nonce;
  std::uint64_t seq = 0;  // the last entry that it has
  TableId lacks = 0;      // a table whose snapshot, or the log behind that, is of no use; 0: none
  std::optional<std::chrono::milliseconds> lag{};  // since its last proof; it has had none
  std::string why{};                               // keys pass; empty: they do not
  std::uint64_t compared = 0;                      // of what it has on trial: keys,
  std::uint64_t hidden = 0;                        // and rows that its filters should have
  bool is_waiting = false;                         // a reader does, for the answer
};
std::string bytes_of(const Ask& ask);
// How far behind `seq` it is, and why; for people.
std::string words_of(const Ask& ask, std::uint64_t seq);
std::optional<Ask> read_ask(std::string_view bytes);

class Replica {
 public:
  static constexpr std::size_t kPastMax = 1024;

  Replica(OwnQuestions& questions, ChainBegin begin, const VerifyingKeys& keys)
      : chain_(std::move(begin), keys), questions_(questions) {
    remember({});
  }

  // What is to be applied. After a Break, but for an old entry, all is to be read anew.
  std::expected<Entry, Break> take(std::string_view bytes);

  // The last entry that Redis has, as it says. One that is behind what is here has lost its end,
  // which its builder appends again; unless it is another history by now.
  std::expected<void, Break> compare(std::uint64_t last_seq, std::string_view last_tag) const;

  // Its filter, of this version, has all that at() says of the table.
  void loaded(TableId table, std::uint64_t version) { loaded_[table] = version; }
  bool has(TableId table) const;

  // All that was committed at this time is here: what has been taken until now. Nothing: it answers
  // no question, or the entry has yet to come.
  std::optional<TimePoint> proven(const Answer& answer);

  const ChainBegin& at() const { return chain_.at(); }

 private:
  struct Past {
    std::uint64_t seq;
    std::string tag;
    std::string root;
  };

  void remember(std::string root);

  Chain chain_;
  std::map<TableId, std::uint64_t> loaded_;  // versions
  OwnQuestions& questions_;
  std::deque<Past> past_;  // the last entries, and where the chain begins
};

}  // namespace cuckooguard::fleet
