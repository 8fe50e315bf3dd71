// Entries one after the other, as a builder makes them and as somebody makes them who can sign, or
// cannot: what a follower takes leads to the digests that it says, and is all there; what it does
// not take changes nothing. And answers to its questions: one proves what was asked, as of when, if
// it is what the builder has answered, and nothing else.
//
// The model knows the rows of each table by their sum, and what waits to be erased by the hash.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fuzzer/FuzzedDataProvider.h>

#include "fleet/replica.h"
#include "fleet_states.h"

namespace cuckooguard::fleet {
namespace {

constexpr int kActionsMax = 40;
constexpr TableId kTables = 3;
constexpr std::size_t kHashes = 4;
const std::string kName = "pod";

const FuzzKeys& keys() {
  static const FuzzKeys kKeys;
  return kKeys;
}

const SigningKey& strangers_key() {
  static const FuzzKeys kKeys;
  return kKeys.signing;
}

class Run {
 public:
  explicit Run(FuzzedDataProvider& random)
      : random_(random), replica_(questions_, begin_, keys().verifying) {
    past_.push_back({.seq = begin_.seq, .tag = begin_.tag});
  }

  void run() {
    for (int i = 0; i < kActionsMax && random_.remaining_bytes() > 0; ++i) {
      switch (choose(4)) {
        case 0:
          ask();
          break;
        case 1:
          answer();
          break;
        default:
          take(made());
      }
    }
    compare();
  }

 private:
  // Of an entry that was taken, and the question that it answers, beside another one.
  struct Past {
    std::uint64_t seq = 0;
    std::string tag;
    std::string nonce{};
    Answers answers{};
  };
  struct Asked {
    std::string nonce;
    TimePoint at;
  };

  std::size_t choose(std::size_t below) {
    return random_.ConsumeIntegralInRange<std::size_t>(0, below - 1);
  }
  bool is_rare() { return choose(8) == 0; }

  std::vector<std::uint64_t> hashes() {
    constexpr std::array<std::uint64_t, kHashes> kAll{0, 1, ~0ULL - 1, ~0ULL};
    std::vector<std::uint64_t> all(choose(4));
    std::ranges::generate(all, [&] { return kAll.at(choose(kHashes)); });
    return all;
  }

  TableChange change(TableId table) {
    const auto found = replica_.at().tables.find(table);
    const TableState before = found == replica_.at().tables.end() ? TableState() : found->second;
    TableChange change{.table = table,
                       .version = is_rare() ? choose(3) : before.version,
                       .is_ready = choose(2) == 0,
                       .largest_id = choose(3),
                       .inserted = hashes(),
                       .deleted = hashes(),
                       .erased = hashes(),
                       .digest = before.digest};
    std::ranges::for_each(change.inserted, [&](std::uint64_t each) { change.digest.add(each); });
    std::ranges::for_each(change.erased, [&](std::uint64_t each) { change.digest.remove(each); });
    if (is_rare()) {
      (choose(2) == 0 ? change.digest.sum_high : change.digest.count) += 1;
    }
    return change;
  }

  // As a builder makes it, but for what chance changes.
  Entry made() {
    Entry entry{.seq = replica_.at().seq + (is_rare() ? choose(3) : 1),
                .epoch = choose(3),
                .before = replica_.at().tag,
                .position = std::string(choose(3), 'p'),
                .end = std::string(choose(3), 'e'),
                .root = {},
                .list = std::string(choose(3), 'l'),
                .tables = {}};
    if (is_rare()) {
      entry.before = past_[choose(past_.size())].tag;
    }
    for (TableId table = 0; table < kTables; ++table) {
      if (choose(2) == 0) {
        entry.tables.push_back(change(is_rare() ? choose(kTables) : table));
      }
    }
    if (!open_.empty()) {
      nonce_ = open_[choose(open_.size())].nonce;
      const std::array<Question, 2> all{Question{.name = kName, .nonce = nonce_},
                                        Question{.name = "another", .nonce = nonce_}};
      answers_ = answers_to(all);
      entry.root = answers_.root;
    }
    return entry;
  }

  void take(const Entry& made) {
    std::string text = text_of(made);
    if (is_rare()) {
      text[choose(text.size())] ^= static_cast<char>(1U << choose(8));
    }
    const bool is_forged = is_rare();
    const std::string bytes = signed_bytes(text, is_forged ? strangers_key() : keys().signing);
    const ChainBegin before = replica_.at();
    const auto read = is_forged ? std::nullopt : read_entry(bytes, keys().verifying);
    const auto taken = replica_.take(bytes);
    if (!taken) {
      require(read ? taken.error().kind == why_not(read->entry, before)
                   : taken.error().kind == Break::Kind::forged);
      require(before == replica_.at());
      return;
    }
    require(read && !why_not(read->entry, before) && text_of(*taken) == text_of(read->entry));
    require(replica_.at() == after(before, read->entry, hash_of(text)));
    past_.push_back({.seq = taken->seq, .tag = replica_.at().tag});
    if (!taken->root.empty() && taken->root == answers_.root) {
      past_.back().nonce = nonce_;
      past_.back().answers = answers_;
    }
  }

  // The rows of a table, and those of the entry: by the sum of all, in whatever order.
  static bool is_right(TableId table, const Entry& entry, const ChainBegin& before) {
    const auto found = before.tables.find(table);
    const TableState state = found == before.tables.end() ? TableState() : found->second;
    using Sum = unsigned __int128;
    Sum sum = Sum{state.digest.sum_high} << 64U | state.digest.sum;
    std::uint64_t count = state.digest.count;
    std::uint64_t version = state.version;
    Digest said = state.digest;
    for (const TableChange& change : entry.tables) {
      if (change.table == table) {
        for (const std::uint64_t hash : change.inserted) {
          sum += hash;
        }
        for (const std::uint64_t hash : change.erased) {
          sum -= hash;
        }
        count += change.inserted.size() - change.erased.size();
        said = change.digest;
        version = change.version;
      }
    }
    return version != state.version ||
           said == Digest{.count = count,
                          .sum = static_cast<std::uint64_t>(sum),
                          .sum_high = static_cast<std::uint64_t>(sum >> 64U)};
  }

  static std::optional<Break::Kind> why_not(const Entry& entry, const ChainBegin& before) {
    if (entry.seq != before.seq + 1) {
      return entry.seq <= before.seq ? Break::Kind::old : Break::Kind::gap;
    }
    if (entry.before != before.tag) {
      return Break::Kind::fork;
    }
    const bool is_wrong = std::ranges::any_of(entry.tables, [&](const TableChange& change) {
      return !is_right(change.table, entry, before);
    });
    return is_wrong ? std::optional(Break::Kind::wrong) : std::nullopt;
  }

  static ChainBegin after(ChainBegin state, const Entry& entry, std::string tag) {
    for (const TableChange& change : entry.tables) {
      TableState& table = state.tables[change.table];
      const bool is_quiet = change.version == table.version && change.inserted.empty() &&
                            change.deleted.empty() && change.erased.empty();
      Hashes deleted = change.version == table.version ? table.deleted : Hashes();
      for (const std::uint64_t hash : change.deleted) {
        ++deleted[hash];
      }
      for (const std::uint64_t hash : change.erased) {
        deleted[hash] -= std::min<std::uint64_t>(deleted[hash], 1);
      }
      std::erase_if(deleted, [](const auto& each) { return each.second == 0; });
      table = {.version = change.version,
               .definition = change.definition,
               .is_on_trial = change.is_on_trial,
               .is_ready = change.is_ready,
               .why = change.why,
               .largest_id = change.largest_id,
               .digest = change.digest,
               .changed_at = is_quiet ? table.changed_at : entry.seq,
               .deleted = std::move(deleted)};
    }
    return {.seq = entry.seq,
            .tag = std::move(tag),
            .epoch = entry.epoch,
            .position = entry.position,
            .end = entry.end,
            .trial_below = entry.trial_below,
            .list = entry.list.empty() ? state.list : entry.list,
            .tables = std::move(state.tables)};
  }

  void ask() {
    const std::string nonce = hash_of(std::to_string(++asked_)).substr(0, kNonceBytes);
    const TimePoint at{std::chrono::seconds(asked_)};
    const Question question = questions_.ask(nonce, at);
    require(question.name == kName && question.nonce == nonce);
    if (open_.size() == OwnQuestions::kOpenMax) {
      open_.pop_front();
    }
    open_.push_back({.nonce = nonce, .at = at});
  }

  // Of any entry, the one to the question or to the other name's, changed or not.
  void answer() {
    const Past& past = past_[choose(past_.size())];
    if (past.answers.root.empty()) {
      return;
    }
    const std::size_t whose = is_rare() ? 1 : 0;
    std::string bytes =
        bytes_of(Answer{.seq = past.seq, .nonce = past.nonce, .path = past.answers.paths[whose]});
    const bool is_changed = is_rare();
    if (is_changed) {
      bytes[choose(bytes.size())] ^= static_cast<char>(1U << choose(8));
    }
    const auto read = read_answer(bytes);
    require(read.has_value());
    const auto open = std::ranges::find(open_, past.nonce, &Asked::nonce);
    const bool is_proof = whose == 0 && !is_changed && open != open_.end();
    const auto proven = replica_.proven(*read);
    if (!proven) {
      require(!is_proof);
      return;
    }
    require(is_proof || (whose == 0 && is_as_good(*read, past)));
    require(open != open_.end() && *proven == open->at);
    open_.erase(open_.begin(), std::next(open));
  }
  // The same question's, of another entry that has answered it too; and which neighbour is on the
  // left is any byte but 0.
  bool is_as_good(const Answer& answer, const Past& past) const {
    const auto of = std::ranges::find(past_, answer.seq, &Past::seq);
    return of != past_.end() && of->answers.root == past.answers.root &&
           answer.nonce == past.nonce &&
           std::ranges::equal(answer.path, past.answers.paths[0], [](char here, char there) {
             return here == there || (here != 0 && there != 0);
           });
  }

  // Those that were here, and no others.
  void compare() const {
    for (const Past& past : past_) {
      require(replica_.compare(past.seq, past.tag).has_value());
      require(!replica_.compare(past.seq, past.tag + "x"));
    }
    require(!replica_.compare(begin_.seq - 1, begin_.tag));
    require(replica_.compare(replica_.at().seq + 1, "any").has_value());
  }

  FuzzedDataProvider& random_;
  ChainBegin begin_{.seq = 9,
                    .tag = std::string(kHashBytes, 't'),
                    .tables = {{0, {.version = 1, .is_ready = true}}}};
  OwnQuestions questions_{kName};
  Replica replica_;
  std::vector<Past> past_;
  std::deque<Asked> open_;
  std::uint64_t asked_ = 0;
  std::string nonce_;  // of the last entry that was made
  Answers answers_;
};

}  // namespace
}  // namespace cuckooguard::fleet

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  FuzzedDataProvider random(data, size);
  cuckooguard::fleet::Run(random).run();
  return 0;
}
