#include "guard/filter_info.h"

#include <algorithm>
#include <array>
#include <span>

#include "redis/word.h"
#include "resp/reply_writer.h"

namespace cuckooguard::guard {
namespace {

struct Fact {
  std::string_view name;
  std::uint64_t FilterInfo::* value;  // null: how it expands
  std::string_view asked;             // by this word
};

void append_value(std::string& out,
                  resp::Version version,
                  const FilterInfo& info,
                  const Fact& fact) {
  if (fact.value != nullptr) {
    resp::append_integer(out, static_cast<std::int64_t>(info.*fact.value));
  } else if (info.expansion) {
    resp::append_integer(out, static_cast<std::int64_t>(*info.expansion));
  } else if (fact.asked.empty()) {
    resp::append_integer(out, 0);  // CF.INFO has no nil
  } else {
    resp::append_nil(out, version);
  }
}

void append(std::string& out,
            resp::Version version,
            const FilterInfo& info,
            std::span<const Fact> facts) {
  resp::append_map_header(out, version, facts.size());
  for (const Fact& fact : facts) {
    resp::append_simple(out, fact.name);
    append_value(out, version, info, fact);
  }
}

}  // namespace

// Of RESP2, what is asked for by name is the value alone, in an array.
bool append_bloom_info(std::string& out,
                       resp::Version version,
                       const FilterInfo& info,
                       std::optional<std::string_view> asked) {
  static constexpr auto kFacts = std::to_array<Fact>({
      {"Capacity", &FilterInfo::capacity, "capacity"},
      {"Size", &FilterInfo::bytes, "size"},
      {"Number of filters", &FilterInfo::filters, "filters"},
      {"Number of items inserted", &FilterInfo::items, "items"},
      {"Expansion rate", nullptr, "expansion"},
  });
  if (!asked) {
    append(out, version, info, kFacts);
    return true;
  }
  const auto* const fact = std::ranges::find_if(
      kFacts, [&](const Fact& each) { return redis::is_word(*asked, each.asked); });
  if (fact == kFacts.end()) {
    return false;
  }
  if (version == resp::Version::resp3) {
    append(out, version, info, {fact, 1});
  } else {
    resp::append_array_header(out, 1);
    append_value(out, version, info, *fact);
  }
  return true;
}

void append_cuckoo_info(std::string& out, resp::Version version, const FilterInfo& info) {
  append(out,
         version,
         info,
         std::to_array<Fact>({
             {"Size", &FilterInfo::bytes, ""},
             {"Number of buckets", &FilterInfo::buckets, ""},
             {"Number of filters", &FilterInfo::filters, ""},
             {"Number of items inserted", &FilterInfo::items, ""},
             {"Number of items deleted", &FilterInfo::deleted, ""},
             {"Bucket size", &FilterInfo::bucket_size, ""},
             {"Expansion rate", nullptr, ""},
             {"Max iterations", &FilterInfo::iterations, ""},
         }));
}

}  // namespace cuckooguard::guard
