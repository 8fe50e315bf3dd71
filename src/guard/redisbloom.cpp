#include "guard/redisbloom.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>

#include "redis/word.h"
#include "resp/reply_writer.h"
#include "text/ascii.h"
#include "text/number.h"

namespace cuckooguard::guard {
namespace {

constexpr std::uint64_t kCuckooBucketSize = 2;

using Arguments = std::span<const std::string_view>;
using Refusal = std::string_view;  // empty: nothing is wrong
constexpr Refusal kTooSmall = "Capacity must be at least (BucketSize * 2)";

// A number of CF.RESERVE, in the order in which they are looked at.
struct CuckooOption {
  std::string_view word;
  std::int64_t least;
  std::int64_t most;
  std::optional<std::uint32_t> FilterOptions::* value;
  Refusal unreadable;
  Refusal out_of_bounds;
};
constexpr std::array kCuckooOptions = std::to_array<CuckooOption>({
    {"maxiterations",
     1,
     65535,
     &FilterOptions::iterations,
     "Couldn't parse MAXITERATIONS",
     "MAXITERATIONS: value must be an integer between 1 and 65535, inclusive."},
    {"bucketsize",
     1,
     255,
     &FilterOptions::bucket_size,
     "Couldn't parse BUCKETSIZE",
     "BUCKETSIZE: value must be an integer between 1 and 255, inclusive."},
    {"expansion",
     0,
     kExpansionMax,
     &FilterOptions::expansion,
     "Couldn't parse EXPANSION",
     "EXPANSION: value must be an integer between 0 and 32768, inclusive."},
});

struct Fact {
  std::string_view name;
  std::uint64_t FilterInfo::* value;  // null: how it expands
  std::string_view asked;             // by this word
};

constexpr auto kBloomFacts = std::to_array<Fact>({
    {"Capacity", &FilterInfo::capacity, "capacity"},
    {"Size", &FilterInfo::bytes, "size"},
    {"Number of filters", &FilterInfo::filters, "filters"},
    {"Number of items inserted", &FilterInfo::items, "items"},
    {"Expansion rate", nullptr, "expansion"},
});
constexpr auto kCuckooFacts = std::to_array<Fact>({
    {"Size", &FilterInfo::bytes, ""},
    {"Number of buckets", &FilterInfo::buckets, ""},
    {"Number of filters", &FilterInfo::filters, ""},
    {"Number of items inserted", &FilterInfo::items, ""},
    {"Number of items deleted", &FilterInfo::deleted, ""},
    {"Bucket size", &FilterInfo::bucket_size, ""},
    {"Expansion rate", nullptr, ""},
    {"Max iterations", &FilterInfo::iterations, ""},
});

void append_value(const Call& call, const FilterInfo& info, const Fact& fact) {
  if (fact.value != nullptr) {
    resp::append_integer(call.reply, static_cast<std::int64_t>(info.*fact.value));
  } else if (info.expansion) {
    resp::append_integer(call.reply, static_cast<std::int64_t>(*info.expansion));
  } else if (fact.asked.empty()) {
    resp::append_integer(call.reply, 0);  // CF.INFO has no nil
  } else {
    resp::append_nil(call.reply, call.version());
  }
}

OwnDecision answer(const Call& call, const FilterInfo& info, std::span<const Fact> facts) {
  resp::append_map_header(call.reply, call.version(), facts.size());
  for (const Fact& fact : facts) {
    resp::append_simple(call.reply, fact.name);
    append_value(call, info, fact);
  }
  return call.answer();
}

bool has_word(Arguments arguments, std::string_view word) {
  return std::ranges::any_of(arguments, [&](auto each) { return redis::is_word(each, word); });
}

// The first argument behind the first of this word, which may be the key or a number; null: it is
// the last one. Nothing: there is no such word.
std::optional<const std::string_view*> value_of(Arguments arguments, std::string_view word) {
  const auto found =
      std::ranges::find_if(arguments, [&](auto each) { return redis::is_word(each, word); });
  if (found == arguments.end()) {
    return std::nullopt;
  }
  return found + 1 == arguments.end() ? nullptr : &*(found + 1);
}

// As strtod() reads it in the locale "C".
std::optional<double> read_rate(std::string_view text) {
  const bool is_negative = text.starts_with('-');
  text.remove_prefix(is_negative || text.starts_with('+') ? 1 : 0);
  const bool is_hex = text.size() > 2 && text[0] == '0' && text::to_lower(text[1]) == 'x';
  text.remove_prefix(is_hex ? 2 : 0);
  double rate = 0;
  const auto format = is_hex ? std::chars_format::hex : std::chars_format::general;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), rate, format);
  const bool is_whole = read.ec == std::errc() && read.ptr == text.data() + text.size();
  return is_whole && !text.starts_with('-') && !std::isnan(rate)
             ? std::optional(is_negative ? -rate : rate)
             : std::nullopt;
}
bool is_rate(double rate) {
  return rate > 0 && rate < 1;
}

std::uint32_t expansion_of(std::int64_t number) {
  return static_cast<std::uint32_t>(std::min<std::int64_t>(number, kExpansionMax));
}

Refusal read_bloom_reserve(Arguments arguments, FilterOptions& out) {
  const auto rate = read_rate(arguments[2]);
  if (!rate || !is_rate(*rate)) {
    return rate ? "ERR (0 < error rate range < 1) " : "ERR bad error rate";
  }
  const auto capacity = read_integer(arguments[3]);
  if (!capacity || *capacity <= 0) {
    return capacity ? "ERR (capacity should be larger than 0)" : "ERR bad capacity";
  }
  out.error = rate;
  out.capacity = static_cast<std::uint64_t>(*capacity);
  out.scales = !has_word(arguments, "nonscaling");
  const auto expansion = value_of(arguments, "expansion");
  if (!expansion) {
    return {};
  }
  if (*expansion == nullptr) {
    return "ERR no expansion";
  }
  if (!out.scales) {
    return "Nonscaling filters cannot expand";
  }
  const auto number = read_integer(**expansion);
  if (!number || *number < 1) {
    return number ? "ERR expansion should be greater or equal to 1" : "ERR bad expansion";
  }
  out.expansion = expansion_of(*number);
  return {};
}

Refusal read_cuckoo_reserve(Arguments arguments, FilterOptions& out) {
  const auto capacity = read_integer(arguments[2]);
  if (!capacity) {
    return "Bad capacity";
  }
  for (const CuckooOption& option : kCuckooOptions) {
    const auto value = value_of(arguments, option.word);
    const auto number = value && *value != nullptr ? read_integer(**value) : std::nullopt;
    if (value && !number) {
      return option.unreadable;
    }
    if (number && std::clamp(*number, option.least, option.most) != *number) {
      return option.out_of_bounds;
    }
    if (number) {
      out.*option.value = static_cast<std::uint32_t>(*number);
    }
  }
  if (*capacity < std::int64_t{2} * out.bucket_size.value_or(kCuckooBucketSize)) {
    return kTooSmall;
  }
  out.capacity = static_cast<std::uint64_t>(*capacity);
  if (out.expansion) {
    out.expansion = std::bit_ceil(*out.expansion) * (*out.expansion == 0 ? 0 : 1);
    out.scales = *out.expansion != 0;
  }
  return {};
}

// INSERT's options. All numbers are looked at when all have been read.
struct Inserted {
  std::int64_t capacity = 1;
  std::int64_t expansion = 1;
  double error = 0.5;
};

// Of the letter at `index`; 0: it is shorter.
char letter_of(std::string_view word, std::size_t index = 0) {
  return index < word.size() ? text::to_lower(word[index]) : '\0';
}

Refusal take_number(std::string_view text, Refusal refusal, std::int64_t& number) {
  const auto read = read_integer(text);
  number = read.value_or(0);
  return read ? Refusal() : refusal;
}

// One that has a value.
Refusal take_option(bool is_cuckoo,
                    std::string_view word,
                    std::string_view value,
                    FilterOptions& out,
                    Inserted& numbers) {
  if (letter_of(word) == 'c') {
    const Refusal refusal = take_number(value, "Bad capacity", numbers.capacity);
    const bool is_small =
        is_cuckoo && numbers.capacity < static_cast<std::int64_t>(2 * kCuckooBucketSize);
    out.capacity = static_cast<std::uint64_t>(std::max<std::int64_t>(numbers.capacity, 0));
    return refusal.empty() && is_small ? kTooSmall : refusal;
  }
  if (letter_of(word, 1) == 'r') {
    out.error = read_rate(value);
    numbers.error = out.error.value_or(0);
    return out.error ? Refusal() : "Bad error rate";
  }
  const Refusal refusal = take_number(value, "Bad expansion", numbers.expansion);
  out.expansion = expansion_of(std::max<std::int64_t>(numbers.expansion, 0));
  return refusal;
}

}  // namespace

std::optional<std::int64_t> read_integer(std::string_view text) {
  const auto number = text::number_of<std::int64_t>(text);
  const std::string_view digits = text.substr(text.starts_with('-') ? 1 : 0);
  return digits.starts_with('0') && text != "0" ? std::nullopt : number;
}

std::expected<FilterOptions, std::string_view> read_reserve(std::string_view command,
                                                            Arguments arguments) {
  FilterOptions options;
  if (is_cuckoo(command) && arguments.size() % 2 == 0) {
    return std::unexpected("");
  }
  const Refusal refusal = is_cuckoo(command) ? read_cuckoo_reserve(arguments, options)
                                             : read_bloom_reserve(arguments, options);
  return refusal.empty() ? std::expected<FilterOptions, std::string_view>(options)
                         : std::unexpected(refusal);
}

std::expected<FilterOptions, std::string_view> read_insert(std::string_view command,
                                                           Arguments arguments) {
  FilterOptions options;
  Inserted numbers;
  std::size_t i = 2;
  while (i < arguments.size() && options.items == 0) {
    const std::string_view word = arguments[i++];
    const char letter = letter_of(word);
    if (letter == 'i') {
      options.items = i;
    } else if (letter == 'n') {
      const bool is_nocreate = is_cuckoo(command) || letter_of(word, 2) == 'c';
      (is_nocreate ? options.creates : options.scales) = false;
    } else if (letter != 'c' && (letter != 'e' || is_cuckoo(command))) {
      return std::unexpected("Unknown argument received");
    } else if (i == arguments.size()) {
      return std::unexpected("");
    } else if (const Refusal refusal =
                   take_option(is_cuckoo(command), word, arguments[i++], options, numbers);
               !refusal.empty()) {
      return std::unexpected(refusal);
    }
  }
  if (options.items == 0 || options.items == arguments.size()) {
    return std::unexpected("");
  }
  if (!is_rate(numbers.error) || numbers.capacity < 1 || numbers.expansion < 1) {
    return std::unexpected("Bad argument received");
  }
  return options;
}

// In RESP2, one fact is replied as its value alone, in an array.
OwnDecision answer_info(const Call& call, const FilterInfo& info) {
  call.reply.clear();
  if (is_cuckoo(call.name)) {
    return answer(call, info, kCuckooFacts);
  }
  if (call.arguments.size() == 2) {
    return answer(call, info, kBloomFacts);
  }
  const auto* const fact = std::ranges::find_if(
      kBloomFacts, [&](const Fact& each) { return redis::is_word(call.arguments[2], each.asked); });
  if (fact == kBloomFacts.end()) {
    return call.error("Invalid information value");
  }
  if (call.version() == resp::Version::resp3) {
    return answer(call, info, {fact, 1});
  }
  resp::append_array_header(call.reply, 1);
  append_value(call, info, *fact);
  return call.answer();
}

}  // namespace cuckooguard::guard
