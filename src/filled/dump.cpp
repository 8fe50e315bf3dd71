#include "filled/dump.h"

#include <span>
#include <stdexcept>
#include <utility>

#include "filled/byte_codec.h"
#include "filled/operation.h"
#include "filter/filter_file.h"

namespace cuckooguard::filled {
namespace {

constexpr std::string_view kMagic = "CGFILTER";
constexpr std::size_t kNumber = sizeof(std::uint64_t);

std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

std::string dump_of(const FilledFilter& filter) {
  const FilledFilter::Facts facts = filter.facts();
  std::string body(kMagic);
  put(body, filter.shape());
  put(body, facts.items);
  put(body, facts.erased);
  put(body, static_cast<std::uint32_t>(filter.layers().size()));
  for (const auto& layer : filter.layers()) {
    const auto bytes = filter::filter_file_bytes(*layer, {});
    if (!bytes) {
      throw std::runtime_error(bytes.error().what);
    }
    put_long_text(body, as_text(*bytes));
  }
  std::string dump;
  put(dump, static_cast<std::uint64_t>(body.size() + 2 * kNumber));
  dump.append(body);
  put(dump, filter::hash_of_definition(dump));
  return dump;
}

std::optional<std::uint64_t> bytes_of_dump(std::string_view front) {
  ByteReader reader(front);
  const auto bytes = reader.take<std::uint64_t>();
  return reader.take_bytes(kMagic.size()) == kMagic && bytes > kMagic.size() + 2 * kNumber
             ? std::optional(bytes)
             : std::nullopt;
}

std::expected<std::unique_ptr<FilledFilter>, std::string> read_dump(
    std::string_view dump, const filter::HashSecret& secret) {
  static const std::string kDamaged = "it is no dump of a filter, or a damaged one";
  if (bytes_of_dump(dump) != dump.size()) {
    return std::unexpected(kDamaged);
  }
  const std::string_view checked = dump.substr(0, dump.size() - kNumber);
  ByteReader sum(dump.substr(checked.size()));
  if (sum.take<std::uint64_t>() != filter::hash_of_definition(checked)) {
    return std::unexpected(kDamaged);
  }
  ByteReader reader(checked.substr(kNumber + kMagic.size()));
  const auto shape = take_shape(reader);
  const auto items = reader.take<std::uint64_t>();
  const auto erased = reader.take<std::uint64_t>();
  const auto count = reader.take<std::uint32_t>();
  const bool is_alone = shape && (shape->exact || !shape->scales);
  if (!reader.ok() || !shape || count == 0 || count > (is_alone ? 1 : kLayersMax) ||
      (shape->exact && shape->kind != Kind::cuckoo)) {
    return std::unexpected(kDamaged);
  }
  FilledFilter::Layers layers;
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::string_view bytes = reader.take_long_text();
    auto layer = filter::parse_filter_file(std::as_bytes(std::span(bytes)), secret);
    if (!layer) {
      return std::unexpected(layer.error().what);
    }
    if (layer->filter->sizing().deletes != FilledFilter::deletes_of(*shape)) {
      return std::unexpected(kDamaged);
    }
    layers.push_back(std::move(layer->filter));
  }
  if (!reader.is_at_end()) {
    return std::unexpected(kDamaged);
  }
  return std::make_unique<FilledFilter>(*shape, std::move(layers), items, erased);
}

}  // namespace cuckooguard::filled
