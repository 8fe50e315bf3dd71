#include "filled/filters_image.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "text/little_endian.h"

namespace cuckooguard::filled {

FiltersImage::FiltersImage(Pieces front, std::shared_ptr<const Directory> directory)
    : front_(std::move(front)), directory_(std::move(directory)) {
  std::string count;
  put(count, static_cast<std::uint32_t>(directory_->size()));
  front_.push_back(std::make_shared<const std::string>(std::move(count)));
  for (const auto& piece : front_) {
    bytes_ += piece->size();
  }
  filters_.reserve(directory_->size());
  for (const auto& entry : directory_->all()) {
    filters_.push_back(&entry);
    bytes_ += sizeof(std::uint32_t) + entry.first.size() + 3 * sizeof(std::uint64_t) +
              DumpImage::bytes_of(*entry.second.filter);
  }
  std::ranges::sort(
      filters_, {}, [](const auto* entry) -> std::string_view { return entry->first; });
}

void FiltersImage::keep(std::string_view name, const FilledFilter& filter) noexcept {
  if (is_lost_ || next_ == filters_.size() || name < filters_[next_]->first ||
      (current_ && name == filters_[next_]->first)) {
    return;
  }
  const auto* const entry = directory_->find(name);
  if (entry == nullptr || entry->second.filter.get() != &filter) {
    return;
  }
  try {
    auto& kept = kept_[&filter];
    if (!kept) {
      kept = std::make_unique<DumpImage>(filter);
    }
  } catch (const std::exception&) {
    is_lost_ = true;
  }
}

void FiltersImage::begin_filter(std::string& out) {
  const auto& [name, named] = *filters_[next_];
  const auto kept = kept_.find(named.filter.get());
  if (kept != kept_.end()) {
    current_ = std::move(kept->second);
    kept_.erase(kept);
  } else {
    current_ = std::make_unique<DumpImage>(*named.filter);
  }
  text::put_text(out, name);
  put(out, named.incarnation);
  put(out, named.until);
  put(out, current_->bytes());
}

bool FiltersImage::step(std::string& out) {
  if (front_given_ < front_.size()) {
    out += *front_[front_given_++];
    return true;
  }
  if (next_ == filters_.size()) {
    return false;
  }
  if (!current_) {
    begin_filter(out);
  } else if (!current_->step(out)) {
    is_lost_ = is_lost_ || current_->is_lost();
    current_.reset();
    ++next_;
  }
  return true;
}

}  // namespace cuckooguard::filled
