#include "guard/filled.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "guard/filter_options.h"

namespace cuckooguard::guard {
namespace {

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
      FilterOptions{}.shape(is_cuckoo ? filled::Kind::cuckoo : filled::Kind::bloom);
  shape.capacity = settings.capacity;
  shape.false_positive_rate = settings.false_positive_rate;
  shape.exact = is_cuckoo && settings.deletes == config::FilledDeletes::exact;
  return shape;
}

}  // namespace

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
  return Template{.shape = FilterOptions{}.shape(kind)};
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

std::shared_ptr<const filled::Change> Filled::dump_for(std::string_view key,
                                                       filled::Kind kind,
                                                       const Attempt& attempt) {
  std::unique_lock lock(mutex_);
  const bool is_being_made = dump_ && !dump_->change->is_done();
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
  dump_ = {.change = change, .until = attempt.now + kDumpKept};
  dump_begun_ = attempt.now;
  lock.unlock();
  parts_.store.submit(change);
  return change->is_done() ? change : nullptr;
}

std::optional<std::string> Filled::piece_of_dump(std::string_view key,
                                                 std::uint64_t offset,
                                                 std::size_t most,
                                                 filled::TimePoint now) {
  const std::lock_guard lock(mutex_);
  if (dump_ && now >= dump_->until) {
    dump_.reset();
  }
  if (!dump_ || dump_->change->operation().filter != key || !dump_->change->is_done()) {
    return std::nullopt;
  }
  dump_->until = now + kDumpKept;
  const std::string& bytes = dump_->change->outcome().blob;
  std::string piece = bytes.substr(std::min<std::uint64_t>(offset, bytes.size()), most);
  if (piece.empty()) {
    dump_.reset();
  }
  return piece;
}

}  // namespace cuckooguard::guard
