#include "guard/redisbloom.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <type_traits>

#include "redis/word.h"
#include "resp/reply_writer.h"
#include "text/number.h"

namespace cuckooguard::guard {
namespace {

constexpr std::uint32_t kBucketSizeMax = 255;
constexpr std::uint32_t kIterationsMax = 65535;

constexpr std::string_view kInserts = "bf.insert cf.insert cf.insertnx";
constexpr std::string_view kBloom = "bf.insert bf.reserve";

struct Option {
  std::string_view word;
  std::string_view commands;
  // Of its value; false: `error`. Null: it has none.
  bool (*read)(std::string_view value, FilterOptions& out);
  std::string_view error{};
};

template <auto kMember, auto kLeast, auto kMost>
bool read_number(std::string_view text, FilterOptions& out) {
  using Number = typename std::remove_reference_t<decltype(out.*kMember)>::value_type;
  const auto value = text::number_of<Number>(text);
  out.*kMember = value;
  return value && std::clamp<Number>(*value, kLeast, kMost) == *value;
}

bool read_rate(std::string_view text, FilterOptions& out) {
  out.error = text::number_of<double>(text);
  return out.error && *out.error > 0 && *out.error < 1;
}

constexpr auto read_any_capacity = read_number<&FilterOptions::capacity, 1U, kCapacityMax>;
constexpr auto read_expansion = read_number<&FilterOptions::expansion, 0U, kExpansionMax>;
constexpr auto read_bucket_size = read_number<&FilterOptions::bucket_size, 1U, kBucketSizeMax>;
constexpr auto read_iterations = read_number<&FilterOptions::iterations, 1U, kIterationsMax>;

constexpr std::array kOptions = std::to_array<Option>({
    {"capacity", kInserts, read_any_capacity, "Bad capacity"},
    {"error", "bf.insert", read_rate, "Bad error rate"},
    {"expansion", kBloom, read_expansion, "Bad expansion"},
    {"expansion", "cf.reserve", read_expansion, "Couldn't parse EXPANSION"},
    {"bucketsize", "cf.reserve", read_bucket_size, "Couldn't parse BUCKETSIZE"},
    {"maxiterations", "cf.reserve", read_iterations, "Couldn't parse MAXITERATIONS"},
    {"nocreate", kInserts, nullptr},
    {"nonscaling", kBloom, nullptr},
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

// Null: that word is none of this command's.
const Option* option_of(std::string_view command, std::string_view word) {
  const auto* const found = std::ranges::find_if(kOptions, [&](const Option& each) {
    return redis::is_any_of(command, each.commands) && redis::is_word(word, each.word);
  });
  return found == kOptions.end() ? nullptr : found;
}

// The argument at `at`, which is passed by; empty: there is none.
std::string_view take_value(std::span<const std::string_view> arguments, std::size_t& at) {
  if (at >= arguments.size()) {
    return {};
  }
  return arguments[at++];
}

}  // namespace

std::expected<FilterOptions, std::string_view> read_filter_options(
    std::string_view command, std::span<const std::string_view> arguments, std::size_t first) {
  const bool is_reserve = command.ends_with("RESERVE");
  FilterOptions options;
  std::size_t i = first;
  while (i < arguments.size() && (is_reserve || !redis::is_word(arguments[i], "items"))) {
    const Option* const option = option_of(command, arguments[i]);
    if (option == nullptr) {
      return std::unexpected("Unknown argument received");
    }
    ++i;
    if (option->read != nullptr && !option->read(take_value(arguments, i), options)) {
      return std::unexpected(option->error);
    }
    options.creates = options.creates && option->word != "nocreate";
    if (option->word == "nonscaling") {
      options.scales = false;
    } else if (option->word == "expansion") {  // the last one's counts of a cuckoo filter
      options.scales = (options.scales || is_cuckoo(command)) && options.expansion != 0;
    }
  }
  if (is_reserve && !options.scales && options.expansion.value_or(0) != 0) {
    return std::unexpected("Nonscaling filters cannot expand");
  }
  options.items = i + 1;
  return options;
}

std::expected<double, std::string_view> read_error_rate(std::string_view text) {
  const auto rate = text::number_of<double>(text);
  if (!rate) {
    return std::unexpected("ERR bad error rate");
  }
  if (std::isnan(*rate) || *rate <= 0 || *rate >= 1) {
    return std::unexpected("ERR (0 < error rate range < 1)");
  }
  return *rate;
}

std::expected<std::uint64_t, std::string_view> read_capacity(std::string_view text,
                                                             bool is_cuckoo) {
  const auto capacity = text::number_of<std::uint64_t>(text);
  if (!capacity || *capacity > kCapacityMax) {
    return std::unexpected(is_cuckoo ? "Bad capacity" : "ERR bad capacity");
  }
  if (*capacity == 0) {
    return std::unexpected(is_cuckoo ? "Bad capacity" : "ERR (capacity should be larger than 0)");
  }
  return *capacity;
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
