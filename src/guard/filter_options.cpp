#include "guard/filter_options.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "redis/word.h"

namespace cuckooguard::guard {
namespace {

// RedisBloom's, of a filter of which nothing is said.
constexpr std::uint64_t kBloomCapacity = 100;
constexpr double kBloomError = 0.01;
constexpr std::uint32_t kBloomExpansion = 2;
constexpr std::uint64_t kCuckooCapacity = 1024;
// Fingerprints of 8 bits in buckets of two slots.
constexpr double kCuckooError = 0.0155;
constexpr std::uint32_t kCuckooExpansion = 1;
constexpr std::uint32_t kBucketSizeMax = 255;
constexpr std::uint32_t kIterationsMax = 65535;

std::optional<std::uint32_t> number_from(std::string_view text,
                                         std::uint32_t least,
                                         std::uint32_t most) {
  const auto value = number_of<std::uint32_t>(text);
  return value && *value >= least && *value <= most ? value : std::nullopt;
}

// The commands of which it is an option.
enum class Of : std::uint8_t {
  bloom_insert = 1,
  bloom_reserve = 2,
  cuckoo_insert = 4,
  cuckoo_reserve = 8
};
constexpr unsigned operator|(Of one, Of other) {
  return static_cast<unsigned>(one) | static_cast<unsigned>(other);
}

struct Option {
  std::string_view word;
  unsigned commands;
  bool has_value;
  // False: `error`.
  bool (*read)(std::string_view value, FilterOptions& out);
  std::string_view error;
};

constexpr std::array kOptions = std::to_array<Option>({
    {"capacity",
     Of::bloom_insert | Of::cuckoo_insert,
     true,
     [](std::string_view value, FilterOptions& out) {
       out.capacity = number_of<std::uint64_t>(value);
       return out.capacity.has_value() && *out.capacity != 0 && *out.capacity <= filled::kItemsMax;
     },
     "Bad capacity"},
    {"error",
     static_cast<unsigned>(Of::bloom_insert),
     true,
     [](std::string_view value, FilterOptions& out) {
       out.error = number_of<double>(value);
       return out.error.has_value() && *out.error > 0 && *out.error < 1;
     },
     "Bad error rate"},
    {"expansion",
     Of::bloom_insert | Of::bloom_reserve,
     true,
     [](std::string_view value, FilterOptions& out) {
       out.expansion = number_from(value, 0, filled::kExpansionMax);
       out.scales = out.scales && out.expansion != 0;
       return out.expansion.has_value();
     },
     "Bad expansion"},
    {"expansion",
     static_cast<unsigned>(Of::cuckoo_reserve),
     true,
     [](std::string_view value, FilterOptions& out) {
       out.expansion = number_from(value, 0, filled::kExpansionMax);
       out.scales = out.expansion != 0;
       return out.expansion.has_value();
     },
     "Couldn't parse EXPANSION"},
    {"bucketsize",
     static_cast<unsigned>(Of::cuckoo_reserve),
     true,
     [](std::string_view value, FilterOptions& out) {
       out.bucket_size = number_from(value, 1, kBucketSizeMax);
       return out.bucket_size.has_value();
     },
     "Couldn't parse BUCKETSIZE"},
    {"maxiterations",
     static_cast<unsigned>(Of::cuckoo_reserve),
     true,
     [](std::string_view value, FilterOptions& out) {
       out.iterations = number_from(value, 1, kIterationsMax);
       return out.iterations.has_value();
     },
     "Couldn't parse MAXITERATIONS"},
    {"nocreate",
     Of::bloom_insert | Of::cuckoo_insert,
     false,
     [](std::string_view /*none*/, FilterOptions& out) {
       out.creates = false;
       return true;
     },
     ""},
    {"nonscaling",
     Of::bloom_insert | Of::bloom_reserve,
     false,
     [](std::string_view /*none*/, FilterOptions& out) {
       out.scales = false;
       return true;
     },
     ""},
});

Of command_of(std::string_view command) {
  const bool is_reserve = command.ends_with("RESERVE");
  if (command.front() == 'C') {
    return is_reserve ? Of::cuckoo_reserve : Of::cuckoo_insert;
  }
  return is_reserve ? Of::bloom_reserve : Of::bloom_insert;
}

}  // namespace

filled::Shape FilterOptions::shape(filled::Kind kind) const {
  const bool is_cuckoo = kind == filled::Kind::cuckoo;
  filled::Shape shape{
      .kind = kind,
      .capacity = capacity.value_or(is_cuckoo ? kCuckooCapacity : kBloomCapacity),
      .false_positive_rate = error.value_or(is_cuckoo ? kCuckooError : kBloomError),
      .scales = scales,
      .expansion = expansion.value_or(is_cuckoo ? kCuckooExpansion : kBloomExpansion)};
  shape.bucket_size = bucket_size.value_or(shape.bucket_size);
  shape.iterations_max = iterations.value_or(shape.iterations_max);
  return shape;
}

std::expected<FilterOptions, std::string_view> read_filter_options(
    std::string_view command, std::span<const std::string_view> arguments, std::size_t first) {
  const Of of = command_of(command);
  const bool is_reserve = of == Of::bloom_reserve || of == Of::cuckoo_reserve;
  FilterOptions options;
  std::size_t i = first;
  while (i < arguments.size() && (is_reserve || !redis::is_word(arguments[i], "items"))) {
    const auto* const option = std::ranges::find_if(kOptions, [&](const Option& each) {
      return (each.commands & static_cast<unsigned>(of)) != 0 &&
             redis::is_word(arguments[i], each.word);
    });
    if (option == kOptions.end()) {
      return std::unexpected("Unknown argument received");
    }
    const bool is_cut = option->has_value && i + 1 == arguments.size();
    const std::string_view value =
        option->has_value && !is_cut ? arguments[i + 1] : std::string_view();
    if (!option->read(value, options)) {
      return std::unexpected(option->error);
    }
    i += option->has_value ? 2 : 1;
  }
  if (is_reserve && !options.scales && options.expansion.value_or(0) != 0) {
    return std::unexpected("Nonscaling filters cannot expand");
  }
  options.items = i + 1;
  return options;
}

std::expected<double, std::string_view> read_error_rate(std::string_view text) {
  const auto rate = number_of<double>(text);
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
  const auto capacity = number_of<std::uint64_t>(text);
  if (!capacity || *capacity > filled::kItemsMax) {
    return std::unexpected(is_cuckoo ? "Bad capacity" : "ERR bad capacity");
  }
  if (*capacity == 0) {
    return std::unexpected(is_cuckoo ? "Bad capacity" : "ERR (capacity should be larger than 0)");
  }
  return *capacity;
}

}  // namespace cuckooguard::guard
