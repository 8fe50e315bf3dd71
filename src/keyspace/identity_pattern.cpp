#include "keyspace/identity_pattern.h"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "keyspace/identity.h"
#include "text/ascii.h"

namespace cuckooguard::keyspace {
namespace {

constexpr std::size_t kValueBytesMax = std::size_t{1} << 30U;  // far more than a database allows

struct Range {
  char32_t first;
  char32_t last;
};

// Measured: in no collation of MariaDB 10.11 is one of these without weight, or has one that ASCII
// has.
constexpr std::array kForeign = {Range{0x391, 0x3c9},
                                 Range{0x400, 0x482},
                                 Range{0x48a, 0x52f},
                                 Range{0x5d0, 0x5ea},
                                 Range{0x627, 0x63f},
                                 Range{0x641, 0x64a},
                                 Range{0x3041, 0x3096},
                                 Range{0x30a1, 0x30fa},
                                 Range{0x3400, 0x4dbf},
                                 Range{0x4e00, 0x9fff},
                                 Range{0xac00, 0xd7a3},
                                 Range{0x1f300, 0x1faff}};
// Letters, none of which combines with what stands before it.
constexpr std::array kLatin = {Range{0xc0, 0x24f}, Range{0x1e00, 0x1eff}};

constexpr std::size_t kRunOfLatin = 4;
constexpr std::size_t kRun = 16;

bool is_in(std::span<const Range> ranges, char32_t character) {
  return std::ranges::any_of(ranges, [character](const Range& range) {
    return character >= range.first && character <= range.last;
  });
}

// One character and its bytes; of what is no UTF-8 one byte, as a character that could be anything.
std::pair<char32_t, std::size_t> first_character(std::string_view text) {
  constexpr unsigned kBitsOfFollowing = 6;
  const auto lead = static_cast<unsigned char>(text.front());
  const auto bytes = static_cast<std::size_t>(std::countl_one(lead));
  if (bytes < 2 || bytes > 4 || bytes > text.size()) {
    return {lead < 0x80 ? lead : 0, 1};
  }
  char32_t character = lead & (0xffU >> (bytes + 1));
  for (const char c : text.substr(1, bytes - 1)) {
    const auto following = static_cast<unsigned char>(c);
    if ((following & 0xc0U) != 0x80U) {
      return {0, 1};
    }
    character = (character << kBitsOfFollowing) | (following & 0x3fU);
  }
  return {character, bytes};
}

}  // namespace

std::optional<IdentityPattern> IdentityPattern::of(std::span<const std::string_view> values,
                                                   std::span<const ValueType> types,
                                                   bool may_split) {
  constexpr auto kAny = static_cast<std::uint32_t>(kValueBytesMax);
  Values pattern;
  bool has_run = false;
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::optional<Value> value =
        is_folded(types[i]) ? of_folded(values[i]) : std::optional(exactly(values[i]));
    if (!value) {
      return std::nullopt;
    }
    has_run = has_run || value->has_run();
    pattern.push_back(*std::move(value));
  }
  if (may_split && has_run) {
    pattern.assign(values.size(), Value{.bytes_max = kAny});
  }
  IdentityPattern result;
  result.any_of_.push_back(std::move(pattern));
  return result;
}

IdentityPattern IdentityPattern::of_identities(std::span<const std::string> identities) {
  IdentityPattern result;
  for (const std::string& identity : identities) {
    result.any_of_.push_back({exactly(identity)});
  }
  return result;
}

IdentityPattern::Value IdentityPattern::exactly(std::string_view value) {
  const std::string_view rest = value.substr(std::min(value.size(), kKeptBytes));
  const auto bytes = static_cast<std::uint32_t>(std::min(value.size(), kValueBytesMax));
  return {.begin = std::string(value.substr(0, kKeptBytes)),
          .end = std::string(rest.substr(rest.size() - std::min(rest.size(), kKeptBytes))),
          .bytes_min = bytes,
          .bytes_max = bytes};
}

// Spaces at the end do not count; those before a character that may be nothing may be at the end.
std::optional<IdentityPattern::Value> IdentityPattern::of_folded(std::string_view value) {
  const std::string_view trimmed = without_trailing_spaces(value);
  if (is_printable_ascii(trimmed)) {
    return exactly(text::lower_case(trimmed));
  }
  std::vector<bool> is_in_run(trimmed.size());
  std::size_t run = 0;
  for (std::size_t at = 0; at < trimmed.size();) {
    if (is_printable_ascii(trimmed.substr(at, 1))) {
      ++at;
      continue;
    }
    const auto [character, bytes] = first_character(trimmed.substr(at));
    if (is_in(kForeign, character)) {
      return std::nullopt;
    }
    if (!is_in(kLatin, character) && at > 0 && !is_in_run[at - 1]) {
      is_in_run[at - 1] = true;
      run += kRunOfLatin;
    }
    run += is_in(kLatin, character) ? kRunOfLatin : kRun;
    std::fill_n(is_in_run.begin() + static_cast<std::ptrdiff_t>(at), bytes, true);
    at += bytes;
  }
  std::size_t certain = 0;  // up to here: what is behind may be spaces at the end
  std::size_t literals = 0;
  std::size_t certain_literals = 0;
  for (std::size_t at = 0; at < trimmed.size(); ++at) {
    literals += is_in_run[at] ? 0 : 1;
    if (!is_in_run[at] && trimmed[at] != ' ') {
      certain = at + 1;
      certain_literals = literals;
    }
  }
  const auto first =
      static_cast<std::size_t>(std::ranges::find(is_in_run, true) - is_in_run.begin());
  const auto last = static_cast<std::size_t>(
      std::find(is_in_run.rbegin(), is_in_run.rend(), true).base() - is_in_run.begin());
  const std::string_view begin = trimmed.substr(0, std::min(first, certain));
  const std::string_view end = trimmed.substr(last);
  return Value{.begin = text::lower_case(begin.substr(0, kKeptBytes)),
               .end = text::lower_case(end.substr(end.size() - std::min(end.size(), kKeptBytes))),
               .bytes_min = static_cast<std::uint32_t>(std::min(certain_literals, kValueBytesMax)),
               .bytes_max = static_cast<std::uint32_t>(std::min(literals + run, kValueBytesMax))};
}

bool IdentityPattern::Value::matches(std::string_view value) const noexcept {
  return value.size() >= bytes_min && value.size() <= bytes_max && value.starts_with(begin) &&
         value.ends_with(end);
}

bool IdentityPattern::matches(std::string_view identity) const noexcept {
  return std::ranges::any_of(
      any_of_, [identity](const Values& values) { return matches(values, identity); });
}

bool IdentityPattern::matches(const Values& values, std::string_view identity) noexcept {
  text::LittleEndianCursor cursor(identity);
  for (std::size_t i = 0; i + 1 < values.size(); ++i) {
    const std::string_view value = cursor.take_text();
    if (!cursor.ok() || !values[i].matches(value)) {
      return false;
    }
  }
  return values.back().matches(cursor.rest());
}

void IdentityPattern::write(std::string& bytes) const {
  text::put(bytes, static_cast<std::uint32_t>(any_of_.size()));
  for (const Values& values : any_of_) {
    text::put(bytes, static_cast<std::uint32_t>(values.size()));
    for (const Value& value : values) {
      text::put_text(bytes, value.begin);
      text::put_text(bytes, value.end);
      text::put(bytes, value.bytes_min);
      text::put(bytes, value.bytes_max);
    }
  }
}

std::optional<IdentityPattern> IdentityPattern::read(text::LittleEndianCursor& bytes) {
  const auto count = bytes.take<std::uint32_t>();
  if (count == 0 || count > kIdentitiesMax) {
    return std::nullopt;
  }
  IdentityPattern pattern;
  for (std::uint32_t i = 0; i < count; ++i) {
    auto values = read_values(bytes);
    if (!values) {
      return std::nullopt;
    }
    pattern.any_of_.push_back(*std::move(values));
  }
  return pattern;
}

std::optional<IdentityPattern::Values> IdentityPattern::read_values(
    text::LittleEndianCursor& bytes) {
  const auto count = bytes.take<std::uint32_t>();
  if (count == 0 || count > kPlaceholdersMax) {
    return std::nullopt;
  }
  Values values;
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::string_view begin = bytes.take_text();
    const std::string_view end = bytes.take_text();
    const auto bytes_min = bytes.take<std::uint32_t>();
    const auto bytes_max = bytes.take<std::uint32_t>();
    if (!bytes.ok() || std::max(begin.size(), end.size()) > kKeptBytes) {
      return std::nullopt;
    }
    values.push_back({.begin = std::string(begin),
                      .end = std::string(end),
                      .bytes_min = bytes_min,
                      .bytes_max = bytes_max});
  }
  return values;
}

}  // namespace cuckooguard::keyspace
