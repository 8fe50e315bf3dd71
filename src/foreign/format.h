// A format in which other libraries keep their filters: its name, what must be stated of a filter
// in it, and how one is read and made. Configuration, sources and commands are handed the formats
// that the program was built with, and know none by name.
//
// Threads: constant. Lifetimes: static. Errors: sentences. Limits: each format's.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "foreign/filter.h"

namespace cuckooguard::foreign {

// Which bits of a hash are an item's (formats/formats.h).
enum class Strategy : std::uint8_t { murmur128_mitz_32, murmur128_mitz_64 };
inline constexpr std::array<std::string_view, 2> kStrategyNames{"murmur128_mitz_32",
                                                                "murmur128_mitz_64"};
// How the application turned an item into bytes.
enum class Funnel : std::uint8_t {
  utf8,       // Funnels.stringFunnel(UTF_8), byteArrayFunnel() of such
  java_long,  // longFunnel(), of a decimal number; whatever is none may be in it, in other bytes
};
inline constexpr std::array<std::string_view, 2> kFunnelNames{"utf8", "long"};

// What the bytes of a filter may not say of it.
struct Parameters {
  std::uint64_t bits = 0;    // 0: not stated
  std::uint32_t hashes = 0;  // likewise
  Strategy strategy = Strategy::murmur128_mitz_32;
  Funnel funnel = Funnel::utf8;

  bool operator==(const Parameters&) const = default;
};

// Of a new filter.
struct Wanted {
  std::uint64_t capacity = 0;  // items; 0: not stated
  double rate = 0;             // of false positives; 0: not stated
};

struct Format {
  enum class Kept : std::uint8_t {
    in_file,
    as_bitmap,             // a string of Redis
    as_bitmap_with_shape,  // and beside it the hash of Redisson, which states bits and hashes
    by_bloom_dump,         // what BF.SCANDUMP returns
    by_cuckoo_dump,        // what CF.SCANDUMP returns
  };

  std::string_view name;
  Kept kept;
  // Parameters that are stated: bits and hashes must be, the others may be.
  bool bits = false;
  bool hashes = false;
  bool strategy = false;
  bool funnel = false;
  FilterOrWhyNot (*read)(std::string bytes, const Parameters& stated) = nullptr;     // null: a dump
  FilterOrWhyNot (*read_dump)(std::string_view header, std::string data) = nullptr;  // null: none
  // Null: filters of this format are only read.
  FilterOrWhyNot (*make)(const Parameters& stated, const Wanted& wanted) = nullptr;
  std::array<std::string_view, 2> made_of{};  // one of these sets of flags of `filter create`
  std::string_view why_no_item{};             // that add() has refused

  bool is_bitmap() const { return kept == Kept::as_bitmap || has_shape_in_redis(); }
  bool has_shape_in_redis() const { return kept == Kept::as_bitmap_with_shape; }
  bool is_dump() const { return kept == Kept::by_bloom_dump || kept == Kept::by_cuckoo_dump; }
};

using Formats = std::span<const Format* const>;

// Null: there is none of this name.
const Format* find_format(Formats formats, std::string_view name);

}  // namespace cuckooguard::foreign
