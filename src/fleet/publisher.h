// What a builder appends to its fleet's log: a state machine without I/O. The builder tells it what
// it does to its filters, and it says which entry is next.
//
//   insert, erase_later, erase … mark(position, end)
//                                                   the database's log, a transaction each
//   set_facts … proven(when)                        what is known of the tables, as of then
//   questions_read(questions, when)
//   next() ─▶ Draft ─▶ append ─▶ appended() │ lost() │ fenced()
//   cut() ─▶ a snapshot, whose rows are as the log has them there
//
// An entry has whole transactions, up to a mark, and says which was the last. So another builder
// that has had the same one goes on exactly there: as long as it does not publish, it remembers
// what it has done itself since the entry that it has read last. Numbers alone do not tell that it
// is the same: after a failover of the database others may have them.
//
// An entry answers questions that were read before the one to the database began that has shown
// that all is applied: none that was read later, however soon the entry comes. What is known of the
// tables is in it.
//
// A table is published from a cut on, which gives it a version. Its filter has a digest of its own,
// which every later cut compares with what was told: if they differ, the version ends there.
//
// What Redis has lost at its end is appended again, as it was. If Redis has none of the entries
// that are kept for that, or too much has happened while it was away, the fleet begins anew, with
// begin(): nothing is published then until it is cut.
//
// Must: erase() of a row comes behind erase_later() of it, and both behind its insert(), if there
//       was one. lost() comes before the mark of the first change that is not told.
// Threads:   one at a time. Lifetimes: the key outlives it. Errors: none.
// Limits:    Limits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
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
    std::size_t journal = std::size_t{1} << 22U;  // operations that are not published,
    std::size_t marks = std::size_t{1} << 18U;    // and transactions
    std::size_t waiting = 64;                     // entries, before there is no cut
    // Of an entry, and as many again; tables that a transaction changes more often are cut anew.
    std::size_t operations = std::size_t{1} << 18U;
  };

  struct Facts {
    bool is_ready = false;
    std::string why{};
    std::uint64_t largest_id = 0;

    bool operator==(const Facts&) const = default;
  };

  struct Draft {
    std::uint64_t seq = 0;
    std::uint64_t epoch = 0;
    std::string before;
    std::string tag;
    std::string bytes;
    std::vector<Question> questions{};  // that it answers,
    std::vector<std::string> paths{};   // by these
  };

  struct Cut {
    std::uint64_t version = 0;
    std::uint64_t seq = 0;  // all up to this entry is in it
    std::string tag{};
    bool was_wrong = false;  // other rows were told than there are
  };

  Publisher(const SigningKey& key, const Limits& limits) : key_(key), limits_(limits) {}

  // --- what happens here ---
  void insert(TableId table, std::uint64_t hash);
  void erase_later(TableId table, std::uint64_t hash);
  void erase(TableId table, std::uint64_t hash);
  // Its rows are others than what was told until now, and none waits to be erased; from here on all
  // changes are told,
  void anew(TableId table, std::uint64_t definition = 0);
  void lost(TableId table);  // or no more
  // All of them, before one is inserted.
  void set_isolated(TableId table, std::string rows);
  void set_facts(TableId table, Facts facts);
  void forget(TableId table);  // it has gone
  void set_list(std::string list);
  // What is defined otherwise than before is on trial (Entry::trial_below) until it is promoted.
  void set_trials(bool has_trials) { has_trials_ = has_trials; }
  void set_trial_below(std::uint64_t below);
  void promote(TableId table);
  // All until now is what the database's log has up to there. `end`: its last transaction, as no
  // other one is called; empty: it is not known.
  void mark(std::string_view position, std::string_view end);
  // All that was committed at this time is applied, and marked.
  void proven(TimePoint at);
  std::optional<TimePoint> proven_at() const { return proven_at_; }
  // Those that wait are to be answered before others are read.
  bool wants_questions() const { return questions_.empty(); }
  void questions_read(std::vector<Question> questions, TimePoint at);
  // The next entry answers them, or the last of those that are due by now.
  bool can_answer() const {
    return !questions_.empty() && unmarked_ == 0 && proven_at_ && *proven_at_ >= questions_at_;
  }

  // --- the log ---
  // What it has by now, by whomever, while this does not publish.
  void follow(const ChainBegin& chain);
  // All that the log has is applied here, and what has come since is known.
  bool can_take_over() const;
  void take_over(std::uint64_t epoch);
  // It is known how far its source is, so that a log may begin there.
  bool can_begin() const { return begins_at_.has_value(); }
  void begin(std::uint64_t epoch, std::uint64_t seq, std::string tag);
  bool is_publishing() const { return epoch_ != 0; }
  // Another one has taken over.
  void fenced();

  // The entry to append; the same one until appended() or lost(). Null: there is nothing to say.
  // `is_due`: an empty one, too, so that followers see that somebody is there.
  const Draft* next(bool is_due);
  void appended();
  bool is_all_appended() const { return waiting_ == 0; }
  // The last entry that Redis has: those behind it come again. False: it is none of these.
  bool lost(std::uint64_t last_seq, std::string_view last_tag);

  // A snapshot is about to be taken of this table's filter, which has what was marked; its digest.
  // Nothing: not now; rows wait to be erased, or it does not publish.
  std::optional<Cut> cut(TableId table, const Digest& digest);
  // It is ready, and not published for want of a cut.
  bool wants_cut(TableId table) const;

  // What the log has, or will have when all drafts are appended.
  const ChainBegin& published() const { return at_; }

 private:
  enum class Sort : std::uint8_t { insertion, deletion, erasure, isolated, anew };
  struct Operation {
    Sort sort = Sort::insertion;
    TableId table = 0;
    std::uint64_t hash = 0;
  };
  struct Mark {
    std::size_t operations = 0;  // since the one before
    std::string position;
    std::string end;
  };
  using Changes = std::map<TableId, TableChange>;

  void note(Operation operation);
  void forget_journal();
  void shorten_transaction();
  void drop_mark();
  void gather(Changes& changes);
  void gather(const Operation& operation, Changes& changes);
  void gather_all();
  void add_facts(Changes& changes);
  TableChange& change_of(Changes& changes, TableId table);
  std::uint64_t version_of(const Changes& changes, TableId table) const;
  void erase_what_is_gone(Changes& changes);
  void draft(Changes changes, bool answers = false);

  const SigningKey& key_;
  Limits limits_;
  ChainBegin at_;
  std::uint64_t epoch_ = 0;      // 0: it does not publish
  bool is_first_entry_ = false;  // since it does
  std::map<TableId, Facts> facts_;
  std::set<TableId> news_;  // whose facts are not published
  std::map<TableId, std::string> isolated_;
  std::string list_;
  bool is_list_news_ = false;
  std::deque<Operation> journal_;
  std::deque<Mark> marks_;
  std::size_t unmarked_ = 0;       // operations
  std::optional<Mark> begins_at_;  // what the journal follows; nothing: what is not known
  std::set<TableId> told_;         // whose changes are
  std::map<TableId, std::uint64_t> definitions_;
  bool has_trials_ = false;
  std::uint64_t trial_below_ = 0;
  std::set<TableId> promoted_;         // and not said
  std::map<TableId, Hashes> deleted_;  // here, and not erased here
  std::deque<Draft> kept_;             // those that are in the log come first
  std::size_t kept_bytes_ = 0;
  std::size_t waiting_ = 0;  // of them, not in the log
  std::vector<Question> questions_;
  TimePoint questions_at_{};
  std::optional<TimePoint> proven_at_;  // of what is marked
};

}  // namespace cuckooguard::fleet
