// Judges the entries of a log, in the order in which Redis has them: which are applied, which are
// ignored, and whether all are there.
//
//   judge(entry) ─▶ apply ─▶ (the filters) ─▶ applied(entry, trace)
//                ├▶ skip    as if it were not there: it has no number
//                └▶ reread  what is here is not what the log says any more
//
// Any client that may write to Redis may put an entry there, remove one, or change its number. So
//
//   its tag is wrong                             skip: nobody with the key has written it
//   its writer's counter is not larger           skip: a copy of an earlier one
//   its writer has not been seen for kWindow,
//   nor had it applied one of the last kWindow   skip: it may be a copy of a forgotten one
//   its number is not the next one               reread: some are lost, or the end of the log was
//                                                and other entries have its numbers
//
// A writer is forgotten kWindow entries after its last one. Each of its entries is `after` one
// that is older than that, so that no copy counts: the table has kWindow writers at most, and
// nothing is lost with it. No entry that a guard appends is further behind: the script refuses it.
//
// The chain is a digest of all entries that were applied, their order, and what came of each: where
// two guards' chains differ at one number, one of them has other filters, or somebody has
// rewritten the log. A digest in the log says what its writer's was. A guard that does not know
// what came of an entry (filled/filters.h) knows no chain from there on, until it has read a
// snapshot of one that does: it compares nothing, and nobody can begin with what it has.
//
// Threads:   one. Lifetimes: the key outlives it.
// Errors:    verdicts. Limits: kWindow writers; kChainsKept numbers whose chain is known.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "filled/log_entry.h"

namespace cuckooguard::filled {

class LogReader {
 public:
  static constexpr std::uint64_t kWindow = 65536;
  static constexpr std::size_t kChainsKept = 8192;

  enum class Verdict : std::uint8_t { apply, foreign, copied, reread };

  LogReader(const LogKey& key, std::string generation);

  Verdict judge(const Entry& entry) const;
  // After its operations have been; `trace` is of their outcomes. Nothing: one is not known here.
  void applied(const Entry& entry, std::optional<std::string_view> trace);
  // As if nothing had come before: if no guard knows more than this one.
  void begin_chain();
  // That the entry's digest is another one than was here. Before applied().
  bool differs(const Entry& entry, std::string_view digest) const;

  const std::string& generation() const { return generation_; }
  std::uint64_t seq() const { return seq_; }                   // of the last one
  const std::string& last_tag() const { return tag_; }         // empty: there was none
  const std::string& chain() const { return chains_.back(); }  // empty: it is not known
  // Nothing: it is not known any more, or not yet.
  std::optional<std::string_view> chain_at(std::uint64_t seq) const;
  std::size_t writers() const { return writers_.size(); }

  // All of the above, for a snapshot; false: it is none.
  std::string state() const;
  bool restore(text::LittleEndianCursor& from);

 private:
  struct Writer {
    std::uint64_t counter = 0;
    std::uint64_t seq = 0;  // of its last one
  };

  void see(const std::string& writer, Writer seen);
  void forget_old();

  const LogKey* key_;
  std::string generation_;
  std::uint64_t seq_ = 0;
  std::string tag_;
  std::deque<std::string> chains_;  // the last one is of seq_
  std::unordered_map<std::string, Writer> writers_;
  std::deque<std::pair<std::uint64_t, std::string>> seen_;  // by number, of the last kWindow
};

}  // namespace cuckooguard::filled
