#include "fleet/publisher.h"

#include <algorithm>
#include <iterator>

namespace cuckooguard::fleet {

void Publisher::insert(std::uint32_t table, std::uint64_t hash) {
  note({.sort = Sort::insertion, .table = table, .hash = hash});
}

void Publisher::erase_later(std::uint32_t table, std::uint64_t hash) {
  ++deleted_[table][hash];
  note({.sort = Sort::deletion, .table = table, .hash = hash});
}

void Publisher::erase(std::uint32_t table, std::uint64_t hash) {
  take_one(deleted_[table], hash);
  if (is_publishing()) {  // else it is seen when this takes over
    note({.sort = Sort::erasure, .table = table, .hash = hash});
  }
}

void Publisher::set_state(std::uint32_t table,
                          std::uint64_t version,
                          bool is_ready,
                          std::string_view why,
                          const Digest& digest) {
  note({.sort = Sort::state,
        .table = table,
        .hash = version,
        .is_ready = is_ready,
        .why = std::string(why),
        .digest = digest});
}

void Publisher::note(Operation operation) {
  if (journal_.size() == limits_.journal) {  // nobody can go on from here
    journal_.clear();
    marks_.clear();
    unmarked_ = 0;
    begins_at_.reset();
    fenced();
  }
  journal_.push_back(std::move(operation));
  ++unmarked_;
}

void Publisher::mark(std::string_view resume) {
  if (!begins_at_ && unmarked_ == journal_.size()) {
    // The first since it is not known what came before: what it has is not known either.
    journal_.clear();
    begins_at_ = resume;
  } else {
    marks_.push_back({.operations = unmarked_, .resume = std::string(resume)});
  }
  unmarked_ = 0;
  reached_ = resume;
}

void Publisher::proven(TimePoint at) {
  proven_at_ = std::max(at, proven_at_.value_or(at));
}

void Publisher::questions_read(std::vector<Question> questions, TimePoint at) {
  questions_ = std::move(questions);
  questions_at_ = at;
}

void Publisher::follow(const ChainBegin& chain) {
  at_ = chain;
  kept_.clear();
  kept_bytes_ = 0;
  waiting_ = 0;
  while (!marks_.empty() && covers_(at_.resume, marks_.front().resume)) {
    drop_mark();
  }
}

void Publisher::drop_mark() {
  const auto end = journal_.begin() + static_cast<std::ptrdiff_t>(marks_.front().operations);
  journal_.erase(journal_.begin(), end);
  begins_at_ = std::move(marks_.front().resume);
  marks_.pop_front();
}

bool Publisher::can_take_over() const {
  return begins_at_ && unmarked_ == 0 && covers_(at_.resume, *begins_at_) &&
         covers_(reached_, at_.resume);
}

void Publisher::take_over(std::uint64_t epoch) {
  epoch_ = epoch;
  is_first_entry_ = true;
  list_ = std::max(list_, at_.list);
  questions_.clear();
}

void Publisher::fenced() {
  epoch_ = 0;
  questions_.clear();
}

TableChange& Publisher::change_of(Changes& changes, std::uint32_t table) {
  const auto [found, is_new] = changes.try_emplace(table);
  if (is_new) {
    const TableState& state = at_.tables[table];
    found->second = {.table = table,
                     .version = state.version,
                     .is_ready = state.is_ready,
                     .why = state.why,
                     .digest = state.digest};
  }
  return found->second;
}

void Publisher::gather(const Operation& operation, Changes& changes) {
  Hashes& deleted = at_.tables[operation.table].deleted;
  // Or the one before has erased it already.
  if (operation.sort == Sort::erasure && !take_one(deleted, operation.hash)) {
    return;
  }
  TableChange& change = change_of(changes, operation.table);
  switch (operation.sort) {
    case Sort::insertion:
      change.inserted.push_back(operation.hash);
      change.digest.add(operation.hash);
      break;
    case Sort::deletion:
      change.deleted.push_back(operation.hash);
      ++deleted[operation.hash];
      break;
    case Sort::erasure:
      change.erased.push_back(operation.hash);
      change.digest.remove(operation.hash);
      break;
    case Sort::state:
      if (change.version != operation.hash) {
        change.version = operation.hash;
        change.digest = operation.digest;
      }
      change.is_ready = operation.is_ready;
      change.why = operation.why;
      break;
  }
}

void Publisher::gather(Changes& changes, std::string& resume) {
  std::size_t operations = 0;
  while (!marks_.empty() && operations < limits_.operations) {
    operations += marks_.front().operations;
    for (std::size_t i = 0; i < marks_.front().operations; ++i) {
      gather(journal_[i], changes);
    }
    resume = marks_.front().resume;
    drop_mark();
  }
}

// What the one before has left to be erased, and is erased here.
void Publisher::erase_what_is_gone(Changes& changes) {
  for (auto& [number, table] : at_.tables) {
    const Hashes& here = deleted_[number];
    for (auto hash = table.deleted.begin(); hash != table.deleted.end();) {
      const auto left = here.find(hash->first);
      const std::uint64_t keeps = left == here.end() ? 0 : left->second;
      for (; hash->second > keeps; --hash->second) {
        TableChange& change = change_of(changes, number);
        change.erased.push_back(hash->first);
        change.digest.remove(hash->first);
      }
      hash = hash->second == 0 ? table.deleted.erase(hash) : std::next(hash);
    }
  }
}

bool Publisher::is_as_published() const {
  return is_publishing() && !is_first_entry_ && waiting_ == 0 && marks_.empty() && unmarked_ == 0 &&
         std::ranges::all_of(at_.tables, [&](const auto& table) {
           const auto here = deleted_.find(table.first);
           return here == deleted_.end() ? table.second.deleted.empty()
                                         : here->second == table.second.deleted;
         });
}

const Publisher::Draft* Publisher::next(bool is_due) {
  if (!is_publishing()) {
    return nullptr;
  }
  if (waiting_ == 0) {
    Changes changes;
    std::string resume = at_.resume;
    const bool has_marks = !marks_.empty();
    gather(changes, resume);
    const bool is_all = marks_.empty();
    if (is_first_entry_ && is_all) {
      erase_what_is_gone(changes);
      is_first_entry_ = false;
    }
    const bool answers =
        is_all && !questions_.empty() && proven_at_ && *proven_at_ >= questions_at_;
    if (!has_marks && changes.empty() && !answers && !is_due) {
      return nullptr;
    }
    draft(std::move(changes), std::move(resume), answers);
  }
  return &kept_[kept_.size() - waiting_];
}

void Publisher::draft(Changes changes, std::string resume, bool answers) {
  Entry entry{.seq = at_.seq + 1,
              .epoch = epoch_,
              .before = at_.tag,
              .resume = std::move(resume),
              .root = {},
              .list = list_,
              .tables = {}};
  Draft draft{.seq = entry.seq, .epoch = epoch_, .before = at_.tag, .tag = {}, .bytes = {}};
  if (answers) {
    draft.questions = std::move(questions_);
    questions_.clear();
    Answers all = answers_to(draft.questions);
    entry.root = std::move(all.root);
    draft.paths = std::move(all.paths);
  }
  for (auto& [number, change] : changes) {
    at_.tables[number].become(change);
    entry.tables.push_back(std::move(change));
  }
  const std::string text = text_of(entry);
  draft.tag = hash_of(text);
  draft.bytes = signed_bytes(text, key_);
  at_.seq = entry.seq;
  at_.tag = draft.tag;
  at_.epoch = epoch_;
  at_.resume = std::move(entry.resume);
  at_.list = entry.list;
  kept_bytes_ += draft.bytes.size();
  kept_.push_back(std::move(draft));
  ++waiting_;
}

void Publisher::appended() {
  --waiting_;
  while (kept_.size() > std::max<std::size_t>(waiting_, 1) &&
         (kept_.size() > limits_.kept || kept_bytes_ > limits_.kept_bytes)) {
    kept_bytes_ -= kept_.front().bytes.size();
    kept_.pop_front();
  }
}

bool Publisher::lost(std::uint64_t last_seq, std::string_view last_tag) {
  const auto follows = std::ranges::find_if(kept_, [&](const Draft& draft) {
    return draft.seq == last_seq + 1 && draft.before == last_tag;
  });
  const bool is_last = at_.seq == last_seq && at_.tag == last_tag;
  if (follows == kept_.end() && !is_last) {
    return false;
  }
  waiting_ = static_cast<std::size_t>(kept_.end() - follows);
  return true;
}

}  // namespace cuckooguard::fleet
