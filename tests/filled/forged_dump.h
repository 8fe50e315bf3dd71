// Dumps as somebody makes them up who does not have the secret: whatever he writes into them, all
// checksums are right.
#pragma once

#include <algorithm>
#include <cstring>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "filter/filter_file_format.h"
#include "text/little_endian.h"

namespace cuckooguard::filled::testing {

struct ForgedLayer {
  filter::FileHeader header;
  std::string payload;  // words; hashes, counts, large counts; an attachment

  char* hashes() { return payload.data() + header.buckets * sizeof(std::uint64_t); }
  char* counts() { return hashes() + header.count_slots * sizeof(std::uint64_t); }
};

// Sums of all parts are put right in it.
inline std::string file_of(ForgedLayer layer) {
  const auto bytes_of = [](std::string_view text) { return std::as_bytes(std::span(text)); };
  std::string sums;
  for (std::size_t at = 0; at < layer.payload.size(); at += filter::kFileBlockBytes) {
    const auto block = std::string_view(layer.payload).substr(at, filter::kFileBlockBytes);
    text::put(sums, filter::file_checksum(bytes_of(block)));
  }
  layer.header.checksums_checksum = filter::file_checksum(bytes_of(sums));
  const auto header = std::as_bytes(std::span(&layer.header, 1));
  layer.header.header_checksum =
      filter::file_checksum(header.first(offsetof(filter::FileHeader, header_checksum)));
  std::string file(reinterpret_cast<const char*>(&layer.header), sizeof(layer.header));
  return file + sums + layer.payload;
}

// With another first layer; what is in front of it stays.
inline std::string forged(std::string_view dump, const std::function<void(ForgedLayer&)>& edit) {
  constexpr std::size_t kFront = 8 + 8 + 30 + 8 + 8 + 4;
  text::LittleEndianCursor reader(
      dump.substr(kFront, dump.size() - kFront - sizeof(std::uint64_t)));
  const std::string_view file = reader.take_long_text();
  ForgedLayer layer{};
  std::memcpy(&layer.header, file.data(), sizeof(layer.header));
  const filter::FileParts parts(layer.header);
  layer.payload = file.substr(sizeof(layer.header) + parts.checksums_bytes());
  edit(layer);
  std::string body(dump.substr(8, kFront - 8));
  text::put_long_text(body, file_of(std::move(layer)));
  body += reader.rest();
  std::string all;
  text::put(all, static_cast<std::uint64_t>(body.size() + 2 * sizeof(std::uint64_t)));
  all += body;
  text::put(all, filter::hash_of_definition(all));
  return all;
}

// Of an exact filter with one item: its hash twice, once with a count that a byte does not hold.
// What was made of it threw at the 254th CF.DEL.
inline std::string with_a_hash_twice(std::string_view dump) {
  return forged(dump, [](ForgedLayer& layer) {
    const std::uint64_t slots = layer.header.count_slots;
    const std::string_view counts(layer.counts(), slots);
    const std::uint64_t slot = std::min(counts.find_first_not_of('\0'), slots - 2);
    std::uint64_t hash = 0;
    std::memcpy(&hash, layer.hashes() + slot * sizeof(hash), sizeof(hash));
    layer.counts()[slot] = static_cast<char>(254);
    layer.counts()[slot + 1] = static_cast<char>(255);
    std::memcpy(layer.hashes() + (slot + 1) * sizeof(hash), &hash, sizeof(hash));
    layer.header.large_counts = 1;
    layer.header.items = 254 + 255;
    text::put(layer.payload, hash);
    text::put(layer.payload, std::uint64_t{255});
  });
}

}  // namespace cuckooguard::filled::testing
