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

void Filters::publish() {
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
  publish();
}

Outcome Filters::apply(const Operation& operation) {
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
        all_.erase(operation.filter);
        publish();
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
  Named* const named = find_or_make(operation);
  if (named == nullptr) {
    return {.status = Status::no_filter};
  }
  if (named->filter->shape().kind != operation.shape.kind) {
    return {.status = Status::wrong_kind};
  }
  if (operation.kind == dump) {
    return {.blob = dump_of(*named->filter)};
  }
  Outcome outcome;
  for (const std::uint64_t hash : operation.hashes) {
    if (operation.kind == count) {
      outcome.counts.push_back(named->filter->count(hash));
    } else if (operation.kind == erase) {
      outcome.items.push_back(named->filter->erase(hash) ? ItemOutcome::done
                                                         : ItemOutcome::not_done);
    } else {
      outcome.items.push_back(add_item(hash, operation.kind == add_if_new, *named));
    }
  }
  return outcome;
}

Outcome Filters::create_filter(const Operation& operation) {
  if (find(operation.filter) != nullptr) {
    return {.status = Outcome::Status::exists};
  }
  set(operation.filter,
      {.filter = std::make_shared<FilledFilter>(operation.shape, hash_.secret()),
       .incarnation = ++incarnations_});
  return {};
}

Named* Filters::find_or_make(const Operation& operation) {
  const auto found = all_.find(operation.filter);
  if (found != all_.end()) {
    return &found->second;
  }
  if (operation.missing == Operation::Missing::is_an_error) {
    return nullptr;
  }
  create_filter(operation);
  return &all_.find(operation.filter)->second;
}

bool Filters::make_room(Named& named) {
  if (!named.filter->is_full()) {
    return true;
  }
  if (!named.filter->bytes_to_grow()) {
    return false;
  }
  named.filter = named.filter->grown();
  publish();
  return true;
}

ItemOutcome Filters::add_item(std::uint64_t hash, bool only_if_new, Named& named) {
  if (only_if_new && named.filter->may_contain(hash)) {
    return ItemOutcome::not_done;
  }
  if (!make_room(named)) {
    return ItemOutcome::full;
  }
  named.filter->add(hash);
  return ItemOutcome::done;
}

Outcome Filters::load_piece(const Operation& operation) {
  using Status = Outcome::Status;
  if (operation.until == 1) {
    if (find(operation.filter) != nullptr) {
      return {.status = Status::exists};
    }
    loading_[operation.filter] = {};
  }
  const auto found = loading_.find(operation.filter);
  if (found == loading_.end() || found->second.next != operation.until) {
    return {.status = Status::bad_dump, .why = "its pieces must come one after the other"};
  }
  Loading& loading = found->second;
  loading.bytes += operation.blob;
  ++loading.next;
  const auto whole = bytes_of_dump(loading.bytes);
  if (whole && loading.bytes.size() < *whole) {
    return {};
  }
  auto read = read_dump(loading.bytes, hash_.secret());
  loading_.erase(found);
  if (!read) {
    return {.status = Status::bad_dump, .why = read.error()};
  }
  if ((*read)->shape().kind != operation.shape.kind) {
    return {.status = Status::wrong_kind};
  }
  set(operation.filter, {.filter = *std::move(read), .incarnation = ++incarnations_});
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

std::string Filters::dump() const {
  std::string out;
  put(out, kDumpVersion);
  put(out, incarnations_);
  put(out, static_cast<std::uint32_t>(all_.size()));
  for (const auto* const each : in_order(all_)) {
    const auto& [name, named] = *each;
    put_text(out, name);
    put(out, named.incarnation);
    put(out, named.until);
    const std::string filter = dump_of(*named.filter);
    put(out, static_cast<std::uint64_t>(filter.size()));
    out.append(filter);
  }
  put(out, static_cast<std::uint32_t>(loading_.size()));
  for (const auto* const each : in_order(loading_)) {
    const auto& [name, loading] = *each;
    put_text(out, name);
    put(out, loading.next);
    put(out, static_cast<std::uint64_t>(loading.bytes.size()));
    out.append(loading.bytes);
  }
  return out;
}

std::expected<void, std::string> Filters::restore(std::string_view dump) {
  ByteReader reader(dump);
  const auto version = reader.take<std::uint8_t>();
  const auto incarnations = reader.take<std::uint64_t>();
  Directory all;
  for (auto left = reader.take<std::uint32_t>(); left > 0 && reader.ok(); --left) {
    const std::string name(reader.take_text());
    Named named;
    named.incarnation = reader.take<std::uint64_t>();
    named.until = reader.take<std::uint64_t>();
    auto read = read_dump(reader.take_bytes(reader.take<std::uint64_t>()), hash_.secret());
    if (!read) {
      return std::unexpected("filter " + name + ": " + read.error());
    }
    named.filter = *std::move(read);
    all.emplace(name, std::move(named));
  }
  std::unordered_map<std::string, Loading> loading;
  for (auto left = reader.take<std::uint32_t>(); left > 0 && reader.ok(); --left) {
    const std::string name(reader.take_text());
    Loading piece;
    piece.next = reader.take<std::uint64_t>();
    piece.bytes = reader.take_bytes(reader.take<std::uint64_t>());
    loading.emplace(name, std::move(piece));
  }
  if (!reader.ok() || !reader.is_at_end() || version != kDumpVersion) {
    return std::unexpected("it is no dump of filters, or a damaged one");
  }
  all_ = std::move(all);
  loading_ = std::move(loading);
  incarnations_ = incarnations;
  publish();
  return {};
}

void Filters::clear() {
  all_.clear();
  loading_.clear();
  publish();
}

}  // namespace cuckooguard::filled
