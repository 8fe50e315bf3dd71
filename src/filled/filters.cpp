#include "filled/filters.h"

#include <algorithm>
#include <utility>

#include "filled/dump.h"

namespace cuckooguard::filled {
namespace {

constexpr std::uint8_t kDumpVersion = 1;

// By name: dumps of the same filters are the same.
template <typename Map>
std::vector<const typename Map::value_type*> in_order(const Map& map) {
  std::vector<const typename Map::value_type*> all;
  all.reserve(map.size());
  for (const auto& each : map) {
    all.push_back(&each);
  }
  std::ranges::sort(all, {}, [](const auto* each) -> const std::string& { return each->first; });
  return all;
}

}  // namespace

Filters::Filters(const filter::HashSecret& secret)
    : hash_(secret), published_(std::make_shared<Directory>()) {}

std::shared_ptr<const Directory> Filters::directory() const {
  const std::lock_guard lock(mutex_);
  return published_;
}

Filters::Totals Filters::totals() const noexcept {
  return {.filters = told_filters_.load(std::memory_order_relaxed),
          .items = told_items_.load(std::memory_order_relaxed),
          .bytes = told_bytes_.load(std::memory_order_relaxed)};
}

void Filters::publish_changes() {
  told_filters_.store(all_.size(), std::memory_order_relaxed);
  told_items_.store(items_, std::memory_order_relaxed);
  told_bytes_.store(bytes_, std::memory_order_relaxed);
  if (!std::exchange(has_changed_, false)) {
    return;
  }
  auto next = std::make_shared<const Directory>(all_);
  {
    const std::lock_guard lock(mutex_);
    published_.swap(next);
  }
  version_.fetch_add(1, std::memory_order_release);
}

const Named* Filters::find(std::string_view name) const {
  const auto found = all_.find(name);
  return found == all_.end() ? nullptr : &found->second;
}

void Filters::set(const std::string& name, Named named) {
  all_.insert_or_assign(name, std::move(named));
  has_changed_ = true;
}

Outcome Filters::apply(const Operation& operation) {
  return std::move(apply(std::span(&operation, 1)).front());
}

std::vector<Outcome> Filters::apply(std::span<const Operation> operations) {
  std::vector<Outcome> outcomes;
  outcomes.reserve(operations.size());
  for (const Operation& operation : operations) {
    outcomes.push_back(do_apply(operation));
  }
  publish_changes();
  return outcomes;
}

Outcome Filters::do_apply(const Operation& operation) {
  using enum Operation::Kind;
  using Status = Outcome::Status;
  switch (operation.kind) {
    case create:
      return create_filter(operation);
    case load:
      return load_piece(operation);
    case drop:
    case expire: {
      const Named* const named = find(operation.filter);
      const bool is_meant = named != nullptr && (operation.incarnation == 0 ||
                                                 operation.incarnation == named->incarnation);
      if (!is_meant) {
        return {.status = Status::no_filter};
      }
      if (operation.kind == drop) {
        bytes_ -= named->filter->bytes();
        items_ -= named->filter->items();
        all_.erase(operation.filter);
        has_changed_ = true;
      } else {
        Named next = *named;
        next.until = operation.until;
        set(operation.filter, std::move(next));
      }
      return {};
    }
    case add:
    case add_if_new:
    case erase:
    case count:
    case dump:
      break;
  }
  Outcome outcome;
  Named* const named = find_or_make(operation, outcome);
  if (named == nullptr) {
    return outcome;
  }
  if (named->filter->shape().kind != operation.shape.kind) {
    return {.status = Status::wrong_kind};
  }
  if (operation.kind == dump) {
    return {.blob = dump_of(*named->filter)};
  }
  const std::uint64_t items_before = named->filter->items();
  for (const std::uint64_t hash : operation.hashes) {
    if (operation.kind == count) {
      outcome.counts.push_back(named->filter->count(hash));
    } else if (operation.kind == erase) {
      outcome.items.push_back(named->filter->erase(hash) ? ItemOutcome::done
                                                         : ItemOutcome::not_done);
    } else {
      outcome.items.push_back(add_item(hash, operation, *named));
    }
  }
  items_ += named->filter->items() - items_before;
  return outcome;
}

bool Filters::has_room(const Operation& operation, std::uint64_t bytes) const {
  return bytes <= operation.bytes_max && bytes_ <= operation.bytes_max - bytes;
}

Outcome Filters::create_filter(const Operation& operation) {
  if (find(operation.filter) != nullptr) {
    return {.status = Outcome::Status::exists};
  }
  const std::uint64_t bytes = FilledFilter::bytes_for(operation.shape);
  if (all_.size() + loading_.size() >= operation.filters_max || !has_room(operation, bytes)) {
    return {.status = Outcome::Status::no_room};
  }
  set(operation.filter,
      {.filter = std::make_shared<FilledFilter>(operation.shape, hash_.secret()),
       .incarnation = ++incarnations_});
  bytes_ += bytes;
  return {};
}

Named* Filters::find_or_make(const Operation& operation, Outcome& outcome) {
  if (find(operation.filter) == nullptr) {
    outcome = operation.missing == Operation::Missing::is_made
                  ? create_filter(operation)
                  : Outcome{.status = Outcome::Status::no_filter};
    if (outcome.status != Outcome::Status::done) {
      return nullptr;
    }
  }
  return &all_.find(operation.filter)->second;
}

// `done`: there is some.
ItemOutcome Filters::make_room(const Operation& operation, Named& named) {
  if (!named.filter->is_full()) {
    return ItemOutcome::done;
  }
  const auto more = named.filter->bytes_to_grow();
  if (!more) {
    return ItemOutcome::full;
  }
  if (!has_room(operation, *more)) {
    return ItemOutcome::no_room;
  }
  const std::uint64_t before = named.filter->bytes();
  named.filter = named.filter->grown();
  bytes_ += named.filter->bytes() - before;
  has_changed_ = true;
  return ItemOutcome::done;
}

ItemOutcome Filters::add_item(std::uint64_t hash, const Operation& operation, Named& named) {
  if (operation.kind == Operation::Kind::add_if_new && named.filter->may_contain(hash)) {
    return ItemOutcome::not_done;
  }
  const ItemOutcome room = make_room(operation, named);
  if (room == ItemOutcome::done) {
    named.filter->add(hash);
  }
  return room;
}

Outcome Filters::begin_loading(const Operation& operation) {
  using Status = Outcome::Status;
  if (find(operation.filter) != nullptr) {
    return {.status = Status::exists};
  }
  const auto drop = [this](AllLoading::iterator loading) {
    bytes_ -= loading->second.claimed;
    loading_.erase(loading);
  };
  if (const auto before = loading_.find(operation.filter); before != loading_.end()) {
    drop(before);
  }
  if (loading_.size() == kLoadingMax) {
    drop(std::ranges::min_element(
        loading_, {}, [](const auto& each) { return each.second.number; }));
  }
  const auto claimed = bytes_of_dump(operation.blob);
  if (!claimed) {
    return {.status = Status::bad_dump, .why = "it is no dump of a filter"};
  }
  if (all_.size() + loading_.size() >= operation.filters_max || !has_room(operation, *claimed)) {
    return {.status = Status::no_room};
  }
  bytes_ += *claimed;
  loading_[operation.filter] = {.claimed = *claimed, .number = ++incarnations_, .bytes = {}};
  return {};
}

Outcome Filters::load_piece(const Operation& operation) {
  using Status = Outcome::Status;
  if (operation.piece == 1) {
    if (Outcome begun = begin_loading(operation); begun.status != Status::done) {
      return begun;
    }
  }
  const auto found = loading_.find(operation.filter);
  if (found == loading_.end() || found->second.next != operation.piece) {
    return {.status = Status::bad_dump, .why = "its pieces must come one after the other"};
  }
  Loading& loading = found->second;
  loading.bytes += operation.blob;
  ++loading.next;
  if (loading.bytes.size() < loading.claimed) {
    return {};
  }
  auto read = read_dump(loading.bytes, hash_.secret());
  bytes_ -= loading.claimed;
  loading_.erase(found);
  if (!read) {
    return {.status = Status::bad_dump, .why = read.error()};
  }
  if ((*read)->shape().kind != operation.shape.kind) {
    return {.status = Status::wrong_kind};
  }
  const std::uint64_t bytes = (*read)->bytes();
  const std::uint64_t items = (*read)->items();
  if (find(operation.filter) != nullptr) {
    return {.status = Status::exists};
  }
  if (!has_room(operation, bytes)) {
    return {.status = Status::no_room};
  }
  set(operation.filter, {.filter = *std::move(read), .incarnation = ++incarnations_});
  bytes_ += bytes;
  items_ += items;
  return {};
}

std::vector<Operation> Filters::expired(std::uint64_t now) const {
  std::vector<Operation> drops;
  for (const auto& [name, named] : all_) {
    if (!named.is_there(now)) {
      drops.push_back(
          {.kind = Operation::Kind::drop, .filter = name, .incarnation = named.incarnation});
    }
  }
  return drops;
}

std::string Filters::dump(const std::function<void()>& between) const {
  std::vector<std::string> names;
  for (const auto* const each : in_order(all_)) {
    names.push_back(each->first);
  }
  std::string filters;
  std::uint32_t count = 0;
  for (const std::string& name : names) {
    const Named* const named = find(name);
    if (named == nullptr) {
      continue;
    }
    ++count;
    put_text(filters, name);
    put(filters, named->incarnation);
    put(filters, named->until);
    put_long_text(filters, dump_of(*named->filter));
    between();
  }
  std::string out;
  put(out, kDumpVersion);
  put(out, incarnations_);
  put(out, static_cast<std::uint32_t>(loading_.size()));
  for (const auto* const each : in_order(loading_)) {
    const auto& [name, loading] = *each;
    put_text(out, name);
    put(out, loading.next);
    put(out, loading.claimed);
    put(out, loading.number);
    put_long_text(out, loading.bytes);
  }
  put(out, count);
  out.append(filters);
  return out;
}

std::expected<void, std::string> Filters::restore(std::string_view dump) {
  ByteReader reader(dump);
  const auto version = reader.take<std::uint8_t>();
  const auto incarnations = reader.take<std::uint64_t>();
  std::uint64_t items = 0;
  std::uint64_t bytes = 0;
  AllLoading all_loading;
  for (auto left = reader.take<std::uint32_t>(); left > 0 && reader.ok(); --left) {
    const std::string name(reader.take_text());
    Loading loading;
    loading.next = reader.take<std::uint64_t>();
    loading.claimed = reader.take<std::uint64_t>();
    loading.number = reader.take<std::uint64_t>();
    loading.bytes = reader.take_long_text();
    bytes += loading.claimed;
    all_loading.emplace(name, std::move(loading));
  }
  Directory all;
  for (auto left = reader.take<std::uint32_t>(); left > 0 && reader.ok(); --left) {
    const std::string name(reader.take_text());
    Named named;
    named.incarnation = reader.take<std::uint64_t>();
    named.until = reader.take<std::uint64_t>();
    auto read = read_dump(reader.take_long_text(), hash_.secret());
    if (!read) {
      return std::unexpected("filter " + name + ": " + read.error());
    }
    items += (*read)->items();
    bytes += (*read)->bytes();
    named.filter = *std::move(read);
    all.emplace(name, std::move(named));
  }
  if (!reader.ok() || !reader.is_at_end() || version != kDumpVersion) {
    return std::unexpected("it is no dump of filters, or a damaged one");
  }
  all_ = std::move(all);
  items_ = items;
  loading_ = std::move(all_loading);
  incarnations_ = incarnations;
  bytes_ = bytes;
  has_changed_ = true;
  publish_changes();
  return {};
}

void Filters::clear() {
  all_.clear();
  loading_.clear();
  incarnations_ = 0;
  items_ = 0;
  bytes_ = 0;
  has_changed_ = true;
  publish_changes();
}

}  // namespace cuckooguard::filled
