// Of Filters: dumps of filters that clients load, piece by piece.
#include <algorithm>
#include <memory>
#include <new>
#include <utility>

#include "filled/dump.h"
#include "filled/filters.h"

namespace cuckooguard::filled {

void WholeDump::check() noexcept {
  try {
    if (operation.must_be_tagged) {
      if (auto why = reader->wrong_tag()) {
        why_bad = *std::move(why);
        return;
      }
    }
    if (auto finished = reader->finish()) {
      filter = *std::move(finished);
    } else {
      why_bad = std::move(finished.error());
    }
  } catch (const std::bad_alloc&) {
    reader.reset();
  }
}

void Filters::end_loading(AllLoading::iterator loading) {
  go(loading->second.claimed, loading->second.is_unsure);
  loading_.erase(loading);
}

Outcome Filters::begin_loading(const Operation& operation) {
  using Status = Outcome::Status;
  if (find(operation.filter) != nullptr) {
    return {.status = Status::exists};
  }
  if (const auto before = loading_.find(operation.filter); before != loading_.end()) {
    if (before->second.is_whole) {
      return {.status = Status::exists};
    }
    end_loading(before);
  }
  if (loading_.size() == kLoadingMax) {
    const auto oldest = std::ranges::min_element(loading_, {}, [](const auto& each) {
      return std::pair(each.second.is_whole, each.second.number);
    });
    if (oldest->second.is_whole) {
      return {.status = Status::no_room};
    }
    end_loading(oldest);
  }
  const auto claimed = bytes_of_dump(operation.blob);
  if (!claimed) {
    return {.status = Status::bad_dump};
  }
  if (all_.size() + loading_.size() >= operation.filters_max || !has_room(operation, *claimed)) {
    return {.status = Status::no_room};
  }
  const bool is_unsure = !has_room_here(*claimed);
  come(*claimed, is_unsure);
  loading_[operation.filter] = {
      .claimed = *claimed, .number = ++incarnations_, .is_unsure = is_unsure};
  return {};
}

// Whoever sends many small ones has a few large ones kept: an image may have those of before.
void Filters::keep_piece(FiltersImage::Pieces& pieces, std::string_view piece) {
  if (piece.empty()) {
    return;
  }
  if (pieces.empty() || pieces.back()->size() + piece.size() > kBlobBytesMax) {
    pieces.push_back(std::make_shared<const std::string>(piece));
    return;
  }
  std::string joined;
  joined.reserve(pieces.back()->size() + piece.size());
  joined.append(*pieces.back()).append(piece);
  pieces.back() = std::make_shared<const std::string>(std::move(joined));
}

// False: there is no memory for it.
bool Filters::read_piece(Loading& loading, std::string_view piece) const {
  try {
    if (!loading.reader) {
      loading.reader = std::make_unique<DumpReader>(
          hash_.secret(), loading.claimed, filter::FilterFileOrigin::stranger);
    }
    loading.reader->add(piece);
    keep_piece(loading.pieces, piece);
    return true;
  } catch (const std::bad_alloc&) {
    loading.pieces = {};
    loading.reader.reset();
    loading.is_unsure = true;
    return false;
  }
}

void Filters::receive(Loading& loading, std::string_view piece) {
  loading.received += piece.size();
  ++loading.next;
  if (!loading.is_unsure && !read_piece(loading, piece)) {
    go(loading.claimed, false);
    come(loading.claimed, true);
  }
}

Outcome Filters::load_piece(const Operation& operation) {
  using Status = Outcome::Status;
  if (operation.piece == 1) {
    if (Outcome begun = begin_loading(operation); begun.status != Status::done) {
      return begun;
    }
  }
  const auto found = loading_.find(operation.filter);
  if (found == loading_.end()) {
    return {.status = find(operation.filter) == nullptr ? Status::no_filter : Status::exists};
  }
  if (found->second.is_whole || found->second.next != operation.piece) {
    return {.status = Status::bad_dump, .why = "its pieces must be loaded in order"};
  }
  Loading& loading = found->second;
  receive(loading, operation.blob);
  if (loading.received < loading.claimed) {
    return {};
  }
  if (loading.is_unsure) {
    const std::uint64_t claimed = loading.claimed;
    end_loading(found);
    return load_unsure(operation, claimed);
  }
  loading.is_whole = true;
  loading.pieces = {};
  Operation last = operation;
  last.blob = {};
  return {.whole = std::make_shared<WholeDump>(WholeDump{.operation = std::move(last),
                                                         .number = loading.number,
                                                         .reader = std::move(loading.reader)})};
}

// Nor is it known whether it is a dump.
Outcome Filters::load_unsure(const Operation& operation, std::uint64_t claimed) {
  if (!room_.is_one_of_several) {
    return {.status = Outcome::Status::no_room};
  }
  if (find(operation.filter) == nullptr) {
    set(operation.filter,
        {.filter =
             std::make_shared<FilledFilter>(operation.shape, claimed, std::string(kNoRoomHere)),
         .incarnation = ++incarnations_});
  }
  return unknown_here(std::string(kNoRoomHere));
}

Outcome Filters::load_whole(const WholeDump& whole) {
  using Status = Outcome::Status;
  const Operation& operation = whole.operation;
  const auto found = loading_.find(operation.filter);
  if (found == loading_.end() || found->second.number != whole.number) {
    return {.status = Status::bad_dump, .why = "all filters were deleted during the load"};
  }
  const std::uint64_t claimed = found->second.claimed;
  end_loading(found);
  if (!whole.why_bad.empty()) {
    return {.status = Status::bad_dump, .why = whole.why_bad};
  }
  if (!whole.filter) {
    return load_unsure(operation, claimed);
  }
  if (whole.filter->shape().kind != operation.shape.kind) {
    return {.status = Status::wrong_kind};
  }
  if (find(operation.filter) != nullptr) {
    return {.status = Status::exists};
  }
  const std::uint64_t bytes = whole.filter->bytes();
  auto made = made_here(whole.filter->shape(), bytes, bytes, [&] { return whole.filter; });
  if (!made || !has_room(operation, bytes)) {
    return {.status = Status::no_room};
  }
  const bool is_unsure = made->is_unsure();
  set(operation.filter, {.filter = std::move(made), .incarnation = ++incarnations_});
  return is_unsure ? unknown_here(std::string(kNoRoomHere)) : Outcome();
}

}  // namespace cuckooguard::filled
