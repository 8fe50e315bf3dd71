#include "served/filled.h"

#include <algorithm>
#include <new>
#include <span>
#include <system_error>
#include <unordered_set>
#include <utility>

#include "filled/dump.h"

namespace cuckooguard::guard {
namespace {

// RedisBloom's, of a filter of which nothing is said.
constexpr std::uint64_t kBloomCapacity = 100;
constexpr double kBloomError = 0.01;
constexpr std::uint32_t kBloomExpansion = 2;
constexpr std::uint64_t kCuckooCapacity = 1024;
// Fingerprints of 8 bits in buckets of two slots.
constexpr double kCuckooError = 0.0155;
constexpr std::uint32_t kCuckooExpansion = 1;
static_assert(kCapacityMax == filled::kItemsMax && kExpansionMax == filled::kExpansionMax);

// They cannot contradict each other: reading the configuration has tried it.
keyspace::Keyspace matching(const std::vector<keyspace::KeyTemplate>& templates) {
  std::vector<keyspace::NamespaceTemplates> all;
  if (!templates.empty()) {
    all.push_back({.name = "filters", .templates = templates});
  }
  return keyspace::Keyspace::build(std::move(all)).value();
}

bool matches(std::string_view key, const keyspace::Keyspace& templates) {
  keyspace::IdentityBuffer scratch;
  return templates.match(key, scratch).kind == keyspace::Lookup::Kind::guarded;
}

filled::Shape shape_of(const config::FilledFilter& settings) {
  const bool is_cuckoo = settings.kind == config::FilledKind::cuckoo;
  filled::Shape shape =
      guard::shape_of(FilterOptions{}, is_cuckoo ? filled::Kind::cuckoo : filled::Kind::bloom);
  shape.capacity = settings.capacity;
  shape.false_positive_rate = settings.false_positive_rate;
  shape.exact = is_cuckoo && settings.deletes == config::FilledDeletes::exact;
  return shape;
}

// Null: nobody has filled it yet.
Filled::Shown shown_of(const std::string& key, const filled::Named* named, std::uint64_t now) {
  Filled::Shown shown{.key = key};
  if (named == nullptr) {
    return shown;
  }
  shown.shape = named->filter->shape();
  shown.facts = named->filter->facts();
  shown.is_unsure = named->filter->is_unsure();
  if (named->until != 0) {
    shown.expires_in = std::chrono::milliseconds(named->until - std::min(now, named->until));
  }
  return shown;
}

}  // namespace

filled::Shape shape_of(const FilterOptions& options, filled::Kind kind) {
  const bool is_cuckoo = kind == filled::Kind::cuckoo;
  filled::Shape shape{
      .kind = kind,
      .capacity = options.capacity.value_or(is_cuckoo ? kCuckooCapacity : kBloomCapacity),
      .false_positive_rate = options.error.value_or(is_cuckoo ? kCuckooError : kBloomError),
      .scales = options.scales,
      .expansion = options.expansion.value_or(is_cuckoo ? kCuckooExpansion : kBloomExpansion)};
  shape.bucket_size = options.bucket_size.value_or(shape.bucket_size);
  shape.iterations_max = options.iterations.value_or(shape.iterations_max);
  return shape;
}

void FilledCounts::add(const filled::Change& change) {
  using Status = filled::Outcome::Status;
  const filled::Outcome& outcome = change.outcome();
  if (change.operation().is_question()) {
    return;
  }
  Outcome counted = Outcome::refused;
  if (outcome.status == Status::done) {
    const bool has_place = std::ranges::none_of(outcome.items, [](filled::ItemOutcome item) {
      return item == filled::ItemOutcome::full || item == filled::ItemOutcome::no_room;
    });
    counted = has_place ? Outcome::done : Outcome::no_room;
  } else if (outcome.status == Status::no_room) {
    counted = Outcome::no_room;
  } else if (outcome.status == Status::not_in_log || outcome.status == Status::unknown) {
    counted = Outcome::not_logged;
  }
  counts_.at(static_cast<std::size_t>(counted)).fetch_add(1, std::memory_order_relaxed);
}

Filled::Filled(Parts parts)
    : parts_(std::move(parts)),
      reservable_(matching(parts_.settings.allow_reserve)),
      deduped_(matching(parts_.settings.dedupe.keys)) {}

const config::FilledFilter* Filled::named(std::string_view key) const {
  const auto& all = parts_.settings.named;
  const auto found = std::ranges::find_if(
      all, [&](const config::FilledFilter& each) { return each.redis_key() == key; });
  return found == all.end() ? nullptr : &*found;
}

bool Filled::may_be_filter(std::string_view key) const {
  return named(key) != nullptr || matches(key, reservable_);
}

std::optional<Filled::Template> Filled::filter_of(std::string_view key, filled::Kind kind) const {
  if (const config::FilledFilter* const settings = named(key)) {
    return Template{.is_named = true, .shape = shape_of(*settings)};
  }
  if (!matches(key, reservable_)) {
    return std::nullopt;
  }
  return Template{.shape = guard::shape_of(FilterOptions{}, kind)};
}

std::optional<Filled::Template> Filled::set_of(std::string_view key) const {
  if (!matches(key, deduped_)) {
    return std::nullopt;
  }
  return Template{.is_named = true,
                  .shape = {.kind = filled::Kind::set,
                            .capacity = parts_.settings.dedupe.capacity,
                            .false_positive_rate = parts_.settings.dedupe.false_positive_rate}};
}

std::vector<Filled::Shown> Filled::shown(std::size_t most) const {
  const auto directory = parts_.filters.directory();
  const std::uint64_t now = parts_.wall_time();
  std::vector<Shown> all;
  std::unordered_set<const filled::Named*> listed;
  for (const config::FilledFilter& settings : parts_.settings.named) {
    const auto* const found = directory->find(settings.redis_key());
    const filled::Named* const filter = found == nullptr ? nullptr : &found->second;
    listed.insert(filter);
    if (all.size() < most) {
      all.push_back(shown_of(settings.redis_key(), filter, now));
      all.back().name = settings.name;
      if (filter == nullptr) {
        all.back().shape = shape_of(settings);
        all.back().facts.capacity = settings.capacity;
      }
    }
  }
  if (all.size() == most) {
    return all;
  }
  struct Other {
    std::uint64_t bytes;
    const filled::Directory::value_type* entry;
  };
  std::vector<Other> others;
  for (const auto& entry : directory->all()) {
    if (!listed.contains(&entry.second)) {
      others.push_back({.bytes = entry.second.filter->bytes(), .entry = &entry});
    }
  }
  const auto count = static_cast<std::ptrdiff_t>(std::min(most - all.size(), others.size()));
  std::ranges::partial_sort(
      others, others.begin() + count, [](const Other& one, const Other& other) {
        return one.bytes != other.bytes ? one.bytes > other.bytes
                                        : one.entry->first < other.entry->first;
      });
  for (const Other& each : std::span(others).first(static_cast<std::size_t>(count))) {
    all.push_back(shown_of(each.entry->first, &each.entry->second, now));
  }
  return all;
}

std::shared_ptr<const filled::Change> Filled::dump_for(std::string_view key,
                                                       filled::Kind kind,
                                                       const Attempt& attempt) {
  std::unique_lock lock(mutex_);
  if (dump_ && !dump_->tagging.joinable()) {
    tag(*dump_);
  }
  const bool is_being_made = dump_ && !dump_->is_ready();
  const filled::TimePoint next = dump_begun_ ? *dump_begun_ + kDumpEvery : attempt.now;
  if (dump_ && dump_->change->operation().filter == key &&
      dump_->change->operation().shape.kind == kind && (is_being_made || next > attempt.since)) {
    return is_being_made ? nullptr : dump_->change;
  }
  if (is_being_made || attempt.now < next) {
    return nullptr;
  }
  auto change = std::make_shared<filled::Change>(filled::Operation{
      .kind = filled::Operation::Kind::dump, .filter = std::string(key), .shape = {.kind = kind}});
  drop_dump();
  dump_ = std::make_unique<Dump>();
  dump_->change = change;
  dump_->until = attempt.now + kDumpKept;
  dump_begun_ = attempt.now;
  lock.unlock();
  parts_.store.submit(change);
  lock.lock();
  if (!dump_ || dump_->change != change) {
    return nullptr;
  }
  tag(*dump_);
  return dump_->is_ready() ? change : nullptr;
}

// Once it is done, and if it is not yet.
void Filled::tag(Dump& dump) const {
  if (!dump.change->is_done() || dump.is_ready()) {
    return;
  }
  const auto put_tag = [&dump, &secret = parts_.filters.secret()] {
    try {
      dump.bytes = filled::tagged(dump.change->take_blob(), secret);
    } catch (const std::bad_alloc&) {
      dump.bytes.clear();
    }
    dump.is_tagged.store(true, std::memory_order_release);
  };
  if (dump.change->outcome().status != filled::Outcome::Status::done) {
    dump.is_tagged.store(true, std::memory_order_release);
  } else if (dump.change->outcome().blob.size() <= kTaggedAtOnce) {
    put_tag();
  } else {
    try {
      dump.tagging = std::jthread(put_tag);
    } catch (const std::system_error&) {  // there are no more threads
      put_tag();
    }
  }
}

// It is ready: nobody is at work on it.
void Filled::drop_dump() {
  const bool is_large = dump_ != nullptr && dump_->bytes.size() > kTaggedAtOnce;
  if (is_large) {
    try {
      dropping_ = std::jthread([bytes = std::move(dump_->bytes)]() mutable { bytes = {}; });
    } catch (const std::system_error&) {
      dump_->bytes = {};  // there are no more threads
    }
  }
  dump_.reset();
}

std::optional<std::string> Filled::piece_of_dump(std::string_view key,
                                                 std::uint64_t offset,
                                                 std::size_t most,
                                                 filled::TimePoint now) {
  const std::lock_guard lock(mutex_);
  if (dump_ && dump_->is_ready() && (now >= dump_->until || dump_->bytes.empty())) {
    drop_dump();
  }
  if (!dump_ || dump_->change->operation().filter != key || !dump_->is_ready()) {
    return std::nullopt;
  }
  dump_->until = now + kDumpKept;
  const std::string& bytes = dump_->bytes;
  std::string piece = bytes.substr(std::min<std::uint64_t>(offset, bytes.size()), most);
  if (piece.empty()) {
    drop_dump();
  }
  return piece;
}

}  // namespace cuckooguard::guard
