#include "filled/dump.h"

#include <algorithm>
#include <new>
#include <span>
#include <utility>

#include "filled/dump_reader.h"
#include "text/little_endian.h"

namespace cuckooguard::filled {
namespace {

using filter::HashSecret;

constexpr std::size_t kNumber = sizeof(std::uint64_t);

std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::unexpected<std::string> damaged() {
  return std::unexpected<std::string>(kNoDump);
}

std::string checksum_of(std::string_view bytes) {
  std::string sum;
  put(sum, filter::hash_of_definition(bytes));
  return sum;
}

struct Parts {
  Shape shape;
  std::uint64_t items = 0;
  std::uint64_t erased = 0;
  std::vector<std::string_view> layers;  // as files
};

std::optional<Parts> parts_of(std::string_view dump) {
  if (bytes_of_dump(dump) != dump.size()) {
    return std::nullopt;
  }
  text::LittleEndianCursor reader(dump.substr(0, dump.size() - kNumber));
  reader.skip(kNumber + kDumpMagic.size());
  const auto shape = take_shape(reader);
  Parts parts{.items = reader.take<std::uint64_t>()};
  parts.erased = reader.take<std::uint64_t>();
  const auto count = reader.take<std::uint32_t>();
  for (std::uint32_t i = 0; i < count && i < kLayersMax; ++i) {
    parts.layers.push_back(reader.take_long_text());
  }
  if (!shape || parts.layers.empty() || !reader.at_end()) {
    return std::nullopt;
  }
  parts.shape = *shape;
  return parts;
}

// `file` is the first layer's, within the dump.
std::string tag_of(std::string_view dump, std::string_view file, const HashSecret& secret) {
  Mac mac = begin_dump_tag(secret);
  const auto before = static_cast<std::size_t>(file.data() - dump.data());
  const auto header = filter::header_with_position(std::as_bytes(std::span(file)), "");
  mac.add(dump.substr(0, before));
  mac.add(as_text(header));
  mac.add(dump.substr(before + header.size(), dump.size() - before - header.size() - kNumber));
  return mac.finish().substr(0, kDumpTagBytes);
}

}  // namespace

DumpImage::DumpImage(const FilledFilter& filter) : bytes_(bytes_of(filter)) {
  const FilledFilter::Facts facts = filter.facts();
  put(front_, bytes_);
  front_ += kDumpMagic;
  put(front_, filter.shape());
  put(front_, facts.items);
  put(front_, facts.erased);
  put(front_, static_cast<std::uint32_t>(filter.layers().size()));
  for (const auto& layer : filter.layers()) {
    layers_.push_back(std::make_unique<filter::FilterFileImage>(layer));
  }
}

std::uint64_t DumpImage::bytes_of(const FilledFilter& filter) {
  std::string shape;
  put(shape, filter.shape());
  std::uint64_t bytes = 4 * kNumber + kDumpMagic.size() + shape.size() + sizeof(std::uint32_t);
  for (const auto& layer : filter.layers()) {
    bytes += kNumber + filter::FilterFileImage::bytes_of(*layer);
  }
  return bytes;
}

bool DumpImage::step(std::string& out) {
  const std::size_t before = out.size();
  if (!std::exchange(has_begun_, true)) {
    out += front_;
  } else if (next_ == layers_.size()) {
    put(out, sum_.value());
    return false;
  } else if (!std::exchange(is_in_layer_, true)) {
    put(out, layers_[next_]->bytes());
  } else if (!layers_[next_]->step(out)) {
    is_lost_ = is_lost();
    layers_[next_++].reset();
    is_in_layer_ = false;
  }
  sum_.add(std::as_bytes(std::span(out)).subspan(before));
  return true;
}

bool DumpImage::is_lost() const {
  return is_lost_ || std::ranges::any_of(layers_, [](const auto& layer) {
           return layer != nullptr && layer->is_lost();
         });
}

std::string dump_of(const FilledFilter& filter) {
  DumpImage image(filter);
  std::string dump;
  dump.reserve(image.bytes());
  while (image.step(dump)) {
  }
  return dump;
}

Outcome no_memory_for_dump() {
  return {.status = Outcome::Status::unknown, .why = "not enough memory for a dump"};
}

void make_blob(Outcome& outcome) {
  const auto image = std::exchange(outcome.image, nullptr);
  if (!image) {
    return;
  }
  try {
    outcome.blob.reserve(image->bytes());
    while (image->step(outcome.blob)) {
    }
  } catch (const std::bad_alloc&) {
    outcome = no_memory_for_dump();
  }
}

std::string tagged(std::string dump, const HashSecret& secret) {
  const auto parts = parts_of(dump);
  if (!parts) {
    return dump;
  }
  const std::string_view file = parts->layers.front();
  const std::string tag = tag_of(dump, file, secret);
  const auto header = filter::header_with_position(std::as_bytes(std::span(file)), tag);
  dump.replace(static_cast<std::size_t>(file.data() - dump.data()), header.size(), as_text(header));
  dump.resize(dump.size() - kNumber);
  dump += checksum_of(dump);
  return dump;
}

std::optional<std::uint64_t> bytes_of_dump(std::string_view front) {
  text::LittleEndianCursor reader(front);
  const auto bytes = reader.take<std::uint64_t>();
  return reader.bytes(kDumpMagic.size()) == kDumpMagic && bytes > kDumpMagic.size() + 2 * kNumber
             ? std::optional(bytes)
             : std::nullopt;
}

std::expected<DumpFacts, std::string> facts_of_dump(std::string_view dump,
                                                    const HashSecret& secret) {
  const auto parts = parts_of(dump);
  if (!parts || !dump.ends_with(checksum_of(dump.substr(0, dump.size() - kNumber)))) {
    return damaged();
  }
  DumpFacts facts{.shape = parts->shape};
  for (const std::string_view file : parts->layers) {
    const auto front = filter::read_filter_file_front(std::as_bytes(std::span(file)));
    if (!front) {
      return std::unexpected(front.error().what);
    }
    if (front->secret_id != secret.id()) {
      return std::unexpected<std::string>("hashed with another secret");
    }
    facts.bytes += FilledFilter::bytes_of(front->sizing);
  }
  return facts;
}

Mac begin_dump_tag(const HashSecret& secret) {
  return LogKey(as_text(secret.bytes)).begin("dump");
}

std::optional<std::string> wrong_tag(std::string_view dump, const HashSecret& secret) {
  DumpReader reader(secret, dump.size(), filter::FilterFileOrigin::own);
  reader.add(dump);
  return reader.wrong_tag();
}

std::expected<std::unique_ptr<FilledFilter>, std::string> read_dump(
    std::string_view dump, const HashSecret& secret, filter::FilterFileOrigin origin) {
  DumpReader reader(secret, dump.size(), origin);
  reader.add(dump);
  return reader.finish();
}

}  // namespace cuckooguard::filled
