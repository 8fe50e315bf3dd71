// What a builder appends to its fleet's log: a state machine without I/O. The builder tells it what
// it does to its filters, and it says which entry is next.
//
//   insert, erase_later, erase, set_state … mark(resume)   the database's log, a transaction each
//   questions_read(questions, when) … proven(when)          its own freshness
//   next() ─▶ Draft ─▶ append ─▶ appended() │ lost() │ fenced()
//
// An entry has whole transactions, up to the last mark, and says how far they go. So another
// builder that has read the same log of the database goes on exactly there: as long as it does not
// publish, it remembers what it has done itself since the entry that it has read last.
//
// An entry answers questions that were read before the one to the database began that has shown
// that all is applied: none that was read later, however soon the entry comes.
//
// What Redis has lost at its end is appended again, as it was. If Redis has none of the entries
// that are kept for that, or too much has happened while it was away, the fleet begins anew: from a
// snapshot, with follow() and take_over().
//
// Must: erase() of a row comes behind erase_later() of it, and both behind its insert(), if there
//       was one.
// Threads:   one at a time. Lifetimes: the key outlives it. Errors: none.
// Limits:    Limits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fleet/chain.h"
#include "fleet/questions.h"

namespace cuckooguard::fleet {

class Publisher {
 public:
  struct Limits {
    std::size_t kept = 1024;  // entries that Redis has, to be appended again,
    std::size_t kept_bytes = std::size_t{16} << 20U;
    std::size_t journal = std::size_t{1} << 22U;     // operations that are not published
    std::size_t operations = std::size_t{1} << 18U;  // of an entry, and a transaction more
  };

  // Whether a log that has reached the first position has all up to the second.
  using Covers = std::function<bool(std::string_view reached, std::string_view position)>;

  struct Draft {
    std::uint64_t seq = 0;
    std::uint64_t epoch = 0;
    std::string before;
    std::string tag;
    std::string bytes;
    std::vector<Question> questions{};  // that it answers,
    std::vector<std::string> paths{};   // by these
  };

  Publisher(const SigningKey& key, Covers covers, const Limits& limits)
      : key_(key), covers_(std::move(covers)), limits_(limits) {}

  // --- what happens here ---
  void insert(std::uint32_t table, std::uint64_t hash);
  void erase_later(std::uint32_t table, std::uint64_t hash);
  void erase(std::uint32_t table, std::uint64_t hash);
  // `digest`: of the version, which may be another one than before.
  void set_state(std::uint32_t table,
                 std::uint64_t version,
                 bool is_ready,
                 std::string_view why,
                 const Digest& digest);
  void set_list(std::uint64_t list) { list_ = list; }
  // All until now is what the database's log has up to there.
  void mark(std::string_view resume);
  // All that was committed at this time is applied, and marked.
  void proven(TimePoint at);
  // Those that wait are to be answered before others are read.
  bool wants_questions() const { return questions_.empty(); }
  void questions_read(std::vector<Question> questions, TimePoint at);

  // --- the log ---
  // What it has by now, by whomever, while this does not publish.
  void follow(const ChainBegin& chain);
  // All that the log has is applied here, and what has come since is known.
  bool can_take_over() const;
  void take_over(std::uint64_t epoch);
  bool is_publishing() const { return epoch_ != 0; }
  // Another one has taken over.
  void fenced();

  // The entry to append; the same one until appended() or lost(). Null: there is nothing to say.
  // `is_due`: an empty one, too, so that followers see that somebody is there.
  const Draft* next(bool is_due);
  void appended();
  // The last entry that Redis has: those behind it come again. False: it is none of these.
  bool lost(std::uint64_t last_seq, std::string_view last_tag);

  // Filters here are as the log says. Not while something has happened that is not in it, nor soon
  // after a take-over, while rows are here that the one before has erased already.
  bool is_as_published() const;
  // What the log has, or will have when all drafts are appended.
  const ChainBegin& published() const { return at_; }

 private:
  enum class Sort : std::uint8_t { insertion, deletion, erasure, state };
  struct Operation {
    Sort sort = Sort::insertion;
    std::uint32_t table = 0;
    std::uint64_t hash = 0;  // of a state the version
    bool is_ready = false;
    std::string why{};
    Digest digest{};
  };
  struct Mark {
    std::size_t operations = 0;  // since the one before
    std::string resume;
  };
  using Changes = std::map<std::uint32_t, TableChange>;

  void note(Operation operation);
  void drop_mark();
  void gather(Changes& changes, std::string& resume);
  void gather(const Operation& operation, Changes& changes);
  TableChange& change_of(Changes& changes, std::uint32_t table);
  void erase_what_is_gone(Changes& changes);
  void draft(Changes changes, std::string resume, bool answers);

  const SigningKey& key_;
  Covers covers_;
  Limits limits_;
  ChainBegin at_;
  std::uint64_t epoch_ = 0;      // 0: it does not publish
  bool is_first_entry_ = false;  // since it does
  std::uint64_t list_ = 0;
  std::deque<Operation> journal_;
  std::deque<Mark> marks_;
  std::size_t unmarked_ = 0;                 // operations
  std::optional<std::string> begins_at_;     // what the journal follows; nothing: what is not known
  std::string reached_;                      // the last mark's
  std::map<std::uint32_t, Hashes> deleted_;  // here, and not erased here
  std::deque<Draft> kept_;                   // those that are in the log come first
  std::size_t kept_bytes_ = 0;
  std::size_t waiting_ = 0;  // of them, not in the log
  std::vector<Question> questions_;
  TimePoint questions_at_{};
  std::optional<TimePoint> proven_at_;  // of what is marked
};

}  // namespace cuckooguard::fleet
