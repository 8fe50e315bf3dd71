#include "fleet/publisher.h"

#include <algorithm>
#include <iterator>

namespace cuckooguard::fleet {

void Publisher::insert(TableId table, std::uint64_t hash) {
  note({.sort = Sort::insertion, .table = table, .hash = hash});
}

void Publisher::erase_later(TableId table, std::uint64_t hash) {
  ++deleted_[table][hash];
  note({.sort = Sort::deletion, .table = table, .hash = hash});
}

void Publisher::erase(TableId table, std::uint64_t hash) {
  take_one(deleted_[table], hash);
  if (is_publishing()) {  // else it is seen when this takes over
    note({.sort = Sort::erasure, .table = table, .hash = hash});
  }
}

void Publisher::anew(TableId table, std::uint64_t definition) {
  definitions_[table] = definition;
  deleted_.erase(table);
  told_.insert(table);
  note({.sort = Sort::anew, .table = table});
}

void Publisher::lost(TableId table) {
  deleted_.erase(table);
  told_.erase(table);
  note({.sort = Sort::anew, .table = table});
}

void Publisher::note(Operation operation) {
  if (journal_.size() == limits_.journal) {
    forget_journal();
  }
  journal_.push_back(operation);
  ++unmarked_;
}

// Nobody can go on from here.
void Publisher::forget_journal() {
  journal_.clear();
  marks_.clear();
  unmarked_ = 0;
  begins_at_.reset();
  fenced();
}

void Publisher::set_isolated(TableId table, std::string rows) {
  isolated_[table] = std::move(rows);
  note({.sort = Sort::isolated, .table = table});
}

void Publisher::set_facts(TableId table, Facts facts) {
  Facts& known = facts_[table];
  if (known != facts) {
    known = std::move(facts);
    news_.insert(table);
  }
}

void Publisher::forget(TableId table) {
  lost(table);
  facts_.erase(table);
  news_.insert(table);
}

void Publisher::set_list(std::string list) {
  is_list_news_ = is_list_news_ || list != list_;
  list_ = std::move(list);
}

void Publisher::set_trial_below(std::uint64_t below) {
  trial_below_ = below;
}

void Publisher::promote(TableId table) {
  promoted_.insert(table);
}

void Publisher::mark(std::string_view position, std::string_view end) {
  if (unmarked_ > limits_.operations) {
    shorten_transaction();
  }
  Mark mark{.operations = unmarked_, .position = std::string(position), .end = std::string(end)};
  unmarked_ = 0;
  if (marks_.size() == limits_.marks) {
    forget_journal();
  }
  if (!begins_at_) {  // what came before is not known, and so neither is what this one has
    journal_.clear();
    begins_at_ = std::move(mark);
  } else {
    marks_.push_back(std::move(mark));
  }
}

// What it does to its tables is not said: they are cut again.
void Publisher::shorten_transaction() {
  std::set<TableId> tables;
  for (; unmarked_ > 0; --unmarked_) {
    tables.insert(journal_.back().table);
    journal_.pop_back();
  }
  for (const TableId table : tables) {
    note({.sort = Sort::anew, .table = table});
  }
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
  const auto is_it = [this](const Mark& mark) { return !mark.end.empty() && mark.end == at_.end; };
  const auto last = std::find_if(marks_.rbegin(), marks_.rend(), is_it);
  for (auto known = marks_.rend() - last; known > 0; --known) {
    drop_mark();
  }
}

void Publisher::drop_mark() {
  const auto end = journal_.begin() + static_cast<std::ptrdiff_t>(marks_.front().operations);
  journal_.erase(journal_.begin(), end);
  begins_at_ = std::move(marks_.front());
  marks_.pop_front();
}

bool Publisher::can_take_over() const {
  return begins_at_ && !at_.end.empty() && begins_at_->end == at_.end;
}

// Of all tables it says itself what it knows; what it does not tell of ends.
void Publisher::take_over(std::uint64_t epoch) {
  epoch_ = epoch;
  is_first_entry_ = true;
  is_list_news_ = true;
  for (const auto& [table, state] : at_.tables) {
    news_.insert(table);
    if (!told_.contains(table)) {  // before anything is said of what comes behind the log's end
      journal_.push_front({.sort = Sort::anew, .table = table});
      ++(marks_.empty() ? unmarked_ : marks_.front().operations);
    }
  }
  for (const auto& [table, facts] : facts_) {
    news_.insert(table);
  }
  questions_.clear();
}

void Publisher::begin(std::uint64_t epoch, std::uint64_t seq, std::string tag) {
  while (!marks_.empty()) {
    drop_mark();
  }
  const Mark from = begins_at_.value_or(Mark{});
  std::map<TableId, TableState> tables;  // what was on trial is so in the new log, too
  for (const auto& [table, state] : at_.tables) {
    tables[table] = {.definition = state.definition, .is_on_trial = state.is_on_trial};
  }
  follow({.seq = seq,
          .tag = std::move(tag),
          .epoch = epoch,
          .position = from.position,
          .end = from.end,
          .tables = std::move(tables)});
  take_over(epoch);
}

void Publisher::fenced() {
  epoch_ = 0;
  questions_.clear();
}

std::uint64_t Publisher::version_of(const Changes& changes, TableId table) const {
  if (const auto changed = changes.find(table); changed != changes.end()) {
    return changed->second.version;
  }
  const auto known = at_.tables.find(table);
  return known == at_.tables.end() ? 0 : known->second.version;
}

TableChange& Publisher::change_of(Changes& changes, TableId table) {
  const auto [found, is_new] = changes.try_emplace(table);
  if (is_new) {
    const TableState& state = at_.tables[table];
    found->second = {.table = table,
                     .version = state.version,
                     .definition = state.definition,
                     .is_on_trial = state.is_on_trial,
                     .is_ready = state.is_ready,
                     .why = state.why,
                     .largest_id = state.largest_id,
                     .digest = state.digest};
  }
  return found->second;
}

void Publisher::gather(const Operation& operation, Changes& changes) {
  if (version_of(changes, operation.table) == 0) {
    return;
  }
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
    case Sort::isolated:
      change.isolated = isolated_[operation.table];
      break;
    case Sort::anew:
      change = {.table = operation.table,
                .definition = change.definition,
                .is_on_trial = change.is_on_trial,
                .is_ready = change.is_ready,
                .why = std::move(change.why),
                .largest_id = change.largest_id};
      deleted.clear();
      break;
  }
}

void Publisher::gather(Changes& changes) {
  std::size_t operations = 0;
  while (!marks_.empty() && operations < limits_.operations) {
    operations += marks_.front().operations;
    for (std::size_t i = 0; i < marks_.front().operations; ++i) {
      gather(journal_[i], changes);
    }
    at_.position = marks_.front().position;
    at_.end = marks_.front().end;
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

void Publisher::add_facts(Changes& changes) {
  for (const TableId table : std::exchange(promoted_, {})) {
    change_of(changes, table).is_on_trial = false;
  }
  for (const TableId table : std::exchange(news_, {})) {
    const auto found = facts_.find(table);
    const Facts facts =
        found == facts_.end() ? Facts{.why = "the guard does not follow it"} : found->second;
    TableChange& change = change_of(changes, table);
    change.is_ready = facts.is_ready;
    change.why = facts.why;
    change.largest_id = facts.largest_id;
    if (const auto rows = isolated_.find(table); rows != isolated_.end()) {
      change.isolated = rows->second;
    }
  }
}

const Publisher::Draft* Publisher::next(bool is_due) {
  if (!is_publishing()) {
    return nullptr;
  }
  if (waiting_ == 0) {
    Changes changes;
    const bool has_marks = !marks_.empty();
    gather(changes);
    const bool is_all = marks_.empty() && unmarked_ == 0;
    const bool has_list = is_all && is_list_news_;
    if (is_all) {
      if (std::exchange(is_first_entry_, false)) {
        erase_what_is_gone(changes);
      }
      add_facts(changes);
    }
    const bool answers = is_all && can_answer();
    if (!has_marks && changes.empty() && !has_list && !answers && !is_due) {
      return nullptr;
    }
    draft(std::move(changes), answers);
  }
  return &kept_[kept_.size() - waiting_];
}

void Publisher::draft(Changes changes, bool answers) {
  Entry entry{.seq = at_.seq + 1,
              .epoch = epoch_,
              .before = at_.tag,
              .position = at_.position,
              .end = at_.end,
              .root = {},
              .trial_below = trial_below_,
              .list = std::exchange(is_list_news_, false) ? list_ : std::string(),
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
    at_.tables[number].become(change, entry.seq);
    entry.tables.push_back(std::move(change));
  }
  const std::string text = text_of(entry);
  draft.tag = hash_of(text);
  draft.bytes = signed_bytes(text, key_);
  at_.seq = entry.seq;
  at_.tag = draft.tag;
  at_.epoch = epoch_;
  at_.trial_below = trial_below_;
  if (!entry.list.empty()) {
    at_.list = std::move(entry.list);
  }
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

void Publisher::gather_all() {
  while (!marks_.empty() || is_first_entry_) {
    Changes changes;
    gather(changes);
    if (marks_.empty() && std::exchange(is_first_entry_, false)) {
      erase_what_is_gone(changes);
    }
    draft(std::move(changes));
  }
}

std::optional<Publisher::Cut> Publisher::cut(TableId table, const Digest& digest) {
  if (!is_publishing() || unmarked_ > 0 || waiting_ > limits_.waiting) {
    return std::nullopt;
  }
  gather_all();
  const TableState& state = at_.tables[table];
  if (!state.deleted.empty() || !deleted_[table].empty()) {
    return std::nullopt;
  }
  const bool is_published = state.version != 0;
  const bool is_right = is_published && state.digest == digest;
  if (!is_right) {
    Changes changes;
    TableChange& change = change_of(changes, table);
    change.version = at_.seq + 1;
    change.digest = digest;
    const std::uint64_t before = std::exchange(change.definition, definitions_[table]);
    change.is_on_trial =
        has_trials_ && before != 0 && (change.is_on_trial || before != change.definition);
    draft(std::move(changes));
  }
  return Cut{.version = at_.tables[table].version,
             .seq = at_.seq,
             .tag = at_.tag,
             .was_wrong = is_published && !is_right};
}

bool Publisher::wants_cut(TableId table) const {
  const auto facts = facts_.find(table);
  return is_publishing() && facts != facts_.end() && facts->second.is_ready &&
         version_of({}, table) == 0;
}

}  // namespace cuckooguard::fleet
