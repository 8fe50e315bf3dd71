#include "filled/filters.h"

#include <new>
#include <utility>

#include "filled/dump.h"
#include "filter/page_memory.h"

namespace cuckooguard::filled {

Filters::Filters(const filter::HashSecret& secret, Room room)
    : hash_(secret), room_(room), published_(std::make_shared<Directory>()) {}

std::shared_ptr<const Directory> Filters::directory() const {
  const std::lock_guard lock(mutex_);
  return published_;
}

Filters::Totals Filters::totals() const {
  const std::lock_guard lock(mutex_);
  return told_;
}

Outcome Filters::unknown_here(const std::string& why) {
  return {.status = Outcome::Status::unknown,
          .why =
              "the change was applied on guards that have room for the filter, but its result is "
              "unknown here: " +
              why};
}

void Filters::publish_changes() {
  now_.filters = all_.size();
  std::shared_ptr<const Directory> next;
  if (has_changed_) {
    next = std::make_shared<Directory>(all_);
  }
  {
    const std::lock_guard lock(mutex_);
    told_ = now_;
    if (!next) {
      return;
    }
    published_.swap(next);
  }
  has_changed_ = false;
  version_.fetch_add(1, std::memory_order_release);
}

void Filters::come(std::uint64_t bytes, bool is_unsure) {
  now_.bytes += bytes;
  now_.unsure += is_unsure ? 1 : 0;
  now_.unsure_bytes += is_unsure ? bytes : 0;
}

void Filters::go(std::uint64_t bytes, bool is_unsure) {
  now_.bytes -= bytes;
  now_.unsure -= is_unsure ? 1 : 0;
  now_.unsure_bytes -= is_unsure ? bytes : 0;
}

std::string Filters::why_unsure() const {
  for (const auto& [name, named] : all_.all()) {
    if (named.filter->is_unsure()) {
      return "the filter " + name + " is unsure: " + named.filter->why_unsure();
    }
  }
  for (const auto& [name, loading] : loading_) {
    if (loading.is_unsure) {
      return "the filter " + name +
             ", which is being loaded, is unsure: " + std::string(kNoRoomHere);
    }
  }
  return {};
}

// A filter is read from a dump that is in memory, too, within one of all.
bool Filters::has_room_for_unsure() const {
  constexpr std::uint64_t kWhileRead = 3;
  if (now_.bytes > room_.bytes_max) {
    return false;
  }
  try {
    const filter::PageMemory probe(kWhileRead * now_.unsure_bytes / sizeof(std::uint64_t) + 1);
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

const Named* Filters::find(std::string_view name) const {
  const auto* const found = all_.find(name);
  return found == nullptr ? nullptr : &found->second;
}

void Filters::set(const std::string& name, Named named) {
  take_out(name);
  come(named.filter->bytes(), named.filter->is_unsure());
  now_.items += named.filter->items();
  all_.set(name, std::move(named));
  has_changed_ = true;
}

void Filters::take_out(const std::string& name) {
  const Named* const named = find(name);
  if (named == nullptr) {
    return;
  }
  go(named->filter->bytes(), named->filter->is_unsure());
  now_.items -= named->filter->items();
  all_.erase(name);
  has_changed_ = true;
}

Outcome Filters::apply(const Operation& operation) {
  Outcome outcome = std::move(apply(std::span(&operation, 1)).front());
  make_blob(outcome);
  return outcome;
}

std::vector<Outcome> Filters::apply(std::span<const Operation> operations, Check check) {
  std::vector<Outcome> outcomes;
  outcomes.reserve(operations.size());
  for (const Operation& operation : operations) {
    Outcome& outcome = outcomes.emplace_back(do_apply(operation));
    if (outcome.whole && check == Check::in_turn) {
      outcome.whole->check();
      outcome = load_whole(*outcome.whole);
    }
  }
  publish_changes();
  return outcomes;
}

Outcome Filters::take_in(const WholeDump& whole) {
  Outcome outcome = load_whole(whole);
  publish_changes();
  return outcome;
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
        take_out(operation.filter);
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
  const Named* const named = find_or_make(operation, outcome);
  if (named == nullptr) {
    return outcome;
  }
  if (named->filter->shape().kind != operation.shape.kind) {
    return {.status = Status::wrong_kind};
  }
  if (named->filter->is_unsure()) {
    return unknown_here(named->filter->why_unsure());
  }
  if (operation.kind != dump) {
    return change_items(operation, *named);
  }
  try {
    return {.image = std::make_shared<DumpImage>(*named->filter)};
  } catch (const std::bad_alloc&) {
    return no_memory_for_dump();
  }
}

Outcome Filters::change_items(const Operation& operation, const Named& before) {
  Outcome outcome;
  Named named = before;
  if (operation.kind != Operation::Kind::count) {
    if (const auto image = image_.lock()) {
      image->keep(operation.filter, *before.filter);
    }
  }
  now_.items -= named.filter->items();
  for (const std::uint64_t hash : operation.hashes) {
    if (operation.kind == Operation::Kind::count) {
      outcome.counts.push_back(named.filter->count(hash));
    } else if (operation.kind == Operation::Kind::erase) {
      outcome.items.push_back(named.filter->erase(hash) ? ItemOutcome::done
                                                        : ItemOutcome::not_done);
    } else {
      outcome.items.push_back(add_item(hash, operation, named));
    }
    if (named.filter->is_unsure()) {
      outcome = unknown_here(named.filter->why_unsure());
      break;
    }
  }
  now_.items += named.filter->items();
  if (named.filter->is_moved()) {
    go(named.filter->bytes(), false);
    named.filter = named.filter->moved();
    come(named.filter->bytes(), false);
  }
  if (named.filter != before.filter) {
    all_.set(operation.filter, std::move(named));
    has_changed_ = true;
  }
  return outcome;
}

bool Filters::has_room(const Operation& operation, std::uint64_t bytes) const {
  return bytes <= operation.bytes_max && now_.bytes <= operation.bytes_max - bytes;
}

bool Filters::has_room_here(std::uint64_t bytes) const {
  const std::uint64_t held = now_.bytes - now_.unsure_bytes;
  return bytes <= room_.bytes_max && held <= room_.bytes_max - bytes;
}

std::shared_ptr<FilledFilter> Filters::made_here(
    const Shape& shape,
    std::uint64_t bytes,
    std::uint64_t more,
    const std::function<std::shared_ptr<FilledFilter>()>& make) const {
  const auto without_room = [&] {
    return room_.is_one_of_several
               ? std::make_shared<FilledFilter>(shape, bytes, std::string(kNoRoomHere))
               : nullptr;
  };
  if (!has_room_here(more)) {
    return without_room();
  }
  try {
    return make();
  } catch (const std::bad_alloc&) {
    return without_room();
  }
}

Outcome Filters::create_filter(const Operation& operation) {
  if (find(operation.filter) != nullptr) {
    return {.status = Outcome::Status::exists};
  }
  const std::uint64_t bytes = FilledFilter::bytes_for(operation.shape);
  if (all_.size() + loading_.size() >= operation.filters_max || !has_room(operation, bytes)) {
    return {.status = Outcome::Status::no_room};
  }
  auto made = made_here(operation.shape, bytes, bytes, [&] {
    return std::make_shared<FilledFilter>(operation.shape, hash_.secret());
  });
  if (!made) {
    return {.status = Outcome::Status::no_room};
  }
  set(operation.filter, {.filter = std::move(made), .incarnation = ++incarnations_});
  return {};
}

const Named* Filters::find_or_make(const Operation& operation, Outcome& outcome) {
  if (find(operation.filter) == nullptr) {
    outcome = operation.missing == Operation::Missing::is_made
                  ? create_filter(operation)
                  : Outcome{.status = Outcome::Status::no_filter};
    if (outcome.status != Outcome::Status::done) {
      return nullptr;
    }
  }
  return find(operation.filter);
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
  auto grown = made_here(named.filter->shape(), named.filter->bytes_when_grown(), *more, [&] {
    return std::shared_ptr(named.filter->grown());
  });
  if (!grown) {
    return ItemOutcome::no_room;
  }
  go(before, false);
  come(grown->bytes(), grown->is_unsure());
  named.filter = std::move(grown);
  return ItemOutcome::done;
}

ItemOutcome Filters::add_item(std::uint64_t hash, const Operation& operation, Named& named) {
  if (operation.kind == Operation::Kind::add_if_new && named.filter->is_known(hash)) {
    return ItemOutcome::not_done;
  }
  const ItemOutcome room = make_room(operation, named);
  if (room == ItemOutcome::done && !named.filter->is_unsure()) {
    named.filter->add(hash);
  }
  return room;
}

std::vector<Operation> Filters::expired(std::uint64_t now) const {
  std::vector<Operation> drops;
  for (const auto& [name, named] : all_.all()) {
    if (!named.is_there(now)) {
      drops.push_back(
          {.kind = Operation::Kind::drop, .filter = name, .incarnation = named.incarnation});
    }
  }
  return drops;
}

void Filters::clear() {
  all_ = {};
  loading_.clear();
  now_ = {};
  incarnations_ = 0;
  has_changed_ = true;
  publish_changes();
}

// None is taken for one of before.
void Filters::drop_all() {
  const std::uint64_t incarnations = incarnations_;
  clear();
  incarnations_ = incarnations;
}

}  // namespace cuckooguard::filled
