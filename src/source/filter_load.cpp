#include "source/filter_load.h"

#include <new>
#include <utility>

#include "text/try.h"

namespace cuckooguard::source {

std::expected<std::optional<RowHash::Hashed>, std::string> RowHash::operator()(
    std::span<const std::optional<std::string_view>> values) {
  const std::optional<keyspace::RowIdentity> identity =
      TRY(in_words(target_.keyspace.identity_of_row(target_.ns, values, scratch_)));
  if (!identity) {
    return std::nullopt;
  }
  return Hashed{.hash = target_.parts.hash(identity->identity),
                .number = identity->number.value_or(0),
                .is_isolated = identity->is_isolated};
}

std::string RowHash::isolated_text(std::span<const std::optional<std::string_view>> values) const {
  return target_.keyspace.row_text(target_.ns, values) +
         " is isolated: with |ci or :uuid the database may consider other texts equal to it, or "
         "its keys carry different values, so look-ups that could match it pass";
}

std::string RowHash::too_many_isolated_text(std::span<const std::optional<std::string_view>> values,
                                            std::size_t rows_max) const {
  return target_.keyspace.row_text(target_.ns, values) + " is one of more than " +
         std::to_string(rows_max) +
         " isolated rows: their text under |ci or :uuid is not printable ASCII, so the database "
         "may consider other texts equal to it, or their keys carry different values; give the "
         "column a binary collation (utf8mb4_nopad_bin, in MySQL utf8mb4_0900_bin) and remove |ci, "
         "or use an integer column";
}

FilterLoad::FilterLoad(const Target& target, std::string name, Observer& observer, Clock clock)
    : target_(target),
      name_(std::move(name)),
      observer_(observer),
      clock_(std::move(clock)),
      hash_(target) {
  batch_.reserve(kBatch);
}

Intake FilterLoad::begin(std::uint64_t rows_expected, filter::DeleteMode deletes) {
  batch_.clear();
  isolated_ = {};
  first_isolated_.clear();
  rows_ = 0;
  rows_expected_ = rows_expected;
  largest_id_ = 0;
  ids_grow_ = false;
  began_at_ = clock_();
  progress_due_ = began_at_ + kProgressEvery;
  const filter::Sizing sizing =
      load_sizing(target_.settings.filter, parts_, rows_expected, deletes, capacity_min_);
  try {
    next_ = std::make_unique<filter::CuckooFilter>(sizing, target_.parts.secret());
  } catch (const std::bad_alloc&) {  // the rest of the product can go on without this filter
    why_refused_ =
        "not enough memory for a filter of " + std::to_string(sizing.capacity()) + " rows";
    return Intake::refused;
  }
  return Intake::taken;
}

void FilterLoad::ids_grow(std::uint64_t used) {
  ids_grow_ = true;
  largest_id_ = std::max(largest_id_, used);
}

void FilterLoad::count_row() {
  ++rows_;
  if (rows_ % kRowsPerClock == 0) {
    progress(false);
  }
}

void FilterLoad::put(std::uint64_t hash) {
  batch_.push_back(hash);
  if (batch_.size() == kBatch) {
    flush();
  }
}

void FilterLoad::add(std::uint64_t hash) {
  count_row();
  if (next_ != nullptr) {
    put(hash);
  }
}

Intake FilterLoad::add(std::span<const std::optional<std::string_view>> values) {
  count_row();
  if (next_ == nullptr) {
    return Intake::taken;
  }
  const auto hashed = hash_(values);
  if (!hashed) {
    why_refused_ = hashed.error();
    next_.reset();
    return Intake::refused;
  }
  const std::optional<RowHash::Hashed>& row = *hashed;
  if (!row) {
    return Intake::taken;
  }
  if (row->is_isolated && !isolate(row->hash, values)) {
    next_.reset();
    return Intake::refused;
  }
  largest_id_ = std::max(largest_id_, row->number);
  put(row->hash);
  return Intake::taken;
}

bool FilterLoad::isolate(std::uint64_t hash,
                         std::span<const std::optional<std::string_view>> values) {
  const std::size_t rows_max = filter::IsolatedRows::rows_max(parts_);
  if (isolated_.size() == rows_max && !isolated_.has(hash)) {
    why_refused_ = hash_.too_many_isolated_text(values, rows_max);
    return false;
  }
  if (first_isolated_.empty()) {
    first_isolated_ = hash_.isolated_text(values);
  }
  isolated_.add(hash, hash_.pattern(values));
  return true;
}

void FilterLoad::flush() {
  const auto outcome = next_->insert(std::span<const std::uint64_t>(batch_));
  batch_.clear();
  if (outcome == filter::InsertOutcome::full) {
    const std::uint64_t capacity = next_->sizing().capacity();
    capacity_min_ = capacity + capacity / 2;
    next_.reset();
  }
}

Intake FilterLoad::complete() {
  if (next_ != nullptr) {
    flush();
  }
  if (next_ == nullptr) {
    capacity_min_ = std::max(capacity_min_, filter::automatic_capacity(rows_));
    return Intake::too_small;
  }
  progress(true);
  return Intake::taken;
}

FilterLoad::Loaded FilterLoad::take() {
  return {.filter = std::move(next_),
          .largest_id = largest_id_,
          .ids_grow = ids_grow_,
          .isolated = std::move(isolated_),
          .first_isolated = std::move(first_isolated_)};
}

void FilterLoad::progress(bool complete) {
  const TimePoint now = clock_();
  if (!complete && now < progress_due_) {
    return;
  }
  progress_due_ = now + kProgressEvery;
  Progress progress{.ns = name_,
                    .rows = rows_,
                    .rows_expected = complete ? rows_ : std::max(rows_, rows_expected_),
                    .elapsed = now - began_at_,
                    .remaining = std::nullopt,
                    .complete = complete};
  progress.fraction = progress.rows_expected == 0 ? 1.0
                                                  : static_cast<double>(rows_) /
                                                        static_cast<double>(progress.rows_expected);
  const double seconds = std::chrono::duration<double>(progress.elapsed).count();
  if (seconds > 0) {
    progress.rows_per_second = static_cast<double>(rows_) / seconds;
  }
  if (progress.rows_per_second > 0) {
    const std::chrono::duration<double> left(static_cast<double>(progress.rows_expected - rows_) /
                                             progress.rows_per_second);
    progress.remaining = std::chrono::duration_cast<std::chrono::nanoseconds>(left);
  }
  observer_.on_progress(progress);
}

}  // namespace cuckooguard::source
