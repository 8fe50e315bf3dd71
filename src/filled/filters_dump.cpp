// Of Filters: all of them as bytes, and back.
#include <algorithm>
#include <iterator>
#include <utility>

#include "filled/dump.h"
#include "filled/filters.h"
#include "filter/page_memory.h"

namespace cuckooguard::filled {
namespace {

constexpr std::uint8_t kDumpVersion = 1;

// By name: dumps of the same filters are the same.
std::vector<std::string> names_in_order(auto&& map) {
  std::vector<std::string> names;
  std::ranges::transform(
      map, std::back_inserter(names), [](const auto& each) { return each.first; });
  std::ranges::sort(names);
  return names;
}

}  // namespace

FiltersImage::Pieces Filters::front_of_dump() const {
  FiltersImage::Pieces pieces;
  std::string text;
  const auto end_text = [&] {
    pieces.push_back(std::make_shared<const std::string>(std::exchange(text, {})));
  };
  put(text, kDumpVersion);
  put(text, incarnations_);
  // Of what is checked just now nobody has been told yet that it is there.
  const auto is_whole = [](const auto& each) { return each.second.is_whole; };
  put(text,
      static_cast<std::uint32_t>(
          loading_.size() - static_cast<std::size_t>(std::ranges::count_if(loading_, is_whole))));
  for (const std::string& name : names_in_order(loading_)) {
    const Loading& loading = loading_.at(name);
    if (loading.is_whole) {
      continue;
    }
    text::put_text(text, name);
    put(text, loading.next);
    put(text, loading.claimed);
    put(text, loading.number);
    put(text, loading.received);
    end_text();
    pieces.insert(pieces.end(), loading.pieces.begin(), loading.pieces.end());
  }
  end_text();
  return pieces;
}

std::shared_ptr<FiltersImage> Filters::image() {
  if (const auto before = image_.lock()) {
    before->lose();
  }
  auto next = std::make_shared<FiltersImage>(front_of_dump(), directory());
  image_ = next;
  return next;
}

std::string Filters::dump() const {
  FiltersImage image(front_of_dump(), directory());
  std::string out;
  out.reserve(image.bytes());
  while (image.step(out)) {
  }
  return out;
}

std::expected<void, std::string> Filters::restore(std::string_view dump) {
  Filters next(hash_.secret(), room_);
  text::LittleEndianCursor reader(dump);
  const auto version = reader.take<std::uint8_t>();
  next.incarnations_ = reader.take<std::uint64_t>();
  for (auto left = reader.take<std::uint32_t>(); left > 0 && reader.ok(); --left) {
    const std::string name(reader.take_text());
    Loading loading;
    loading.next = reader.take<std::uint64_t>();
    loading.claimed = reader.take<std::uint64_t>();
    loading.number = reader.take<std::uint64_t>();
    const std::string_view bytes = reader.take_long_text();
    loading.is_unsure = !next.has_room_here(loading.claimed);
    loading.received = bytes.size();
    for (std::size_t at = 0; !loading.is_unsure && at < bytes.size(); at += kBlobBytesMax) {
      read_piece(loading, bytes.substr(at, kBlobBytesMax));
    }
    next.come(loading.claimed, loading.is_unsure);
    next.loading_.emplace(name, std::move(loading));
  }
  for (auto left = reader.take<std::uint32_t>(); left > 0 && reader.ok(); --left) {
    const std::string name(reader.take_text());
    Named named;
    named.incarnation = reader.take<std::uint64_t>();
    named.until = reader.take<std::uint64_t>();
    const std::string_view bytes = reader.take_long_text();
    const auto facts = facts_of_dump(bytes, hash_.secret());
    if (!facts) {
      return std::unexpected("filter " + name + ": " + facts.error());
    }
    std::string why(kNoRoomHere);
    named.filter = next.made_here(facts->shape, facts->bytes, facts->bytes, [&] {
      auto read = read_dump(bytes, hash_.secret());
      why = read ? "" : read.error();
      return read ? std::shared_ptr(*std::move(read)) : nullptr;
    });
    if (!named.filter) {
      named.filter = std::make_shared<FilledFilter>(facts->shape, facts->bytes, why);
    }
    next.set(name, std::move(named));
  }
  if (!reader.at_end() || version != kDumpVersion) {
    return std::unexpected("it is not a dump of filters, or it is damaged");
  }
  all_ = std::move(next.all_);
  loading_ = std::move(next.loading_);
  now_ = next.now_;
  incarnations_ = next.incarnations_;
  has_changed_ = true;
  publish_changes();
  return {};
}

}  // namespace cuckooguard::filled
