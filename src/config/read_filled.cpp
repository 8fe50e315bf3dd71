#include "config/read_filled.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "config/read_namespace.h"
#include "config/section_table.h"
#include "keyspace/keyspace.h"
#include "keyspace/printable.h"

namespace cuckooguard::config {
namespace {

constexpr auto kKinds = choices_of<FilledKind>(kFilledKindNames);
constexpr auto kDeletes = choices_of<FilledDeletes>(kFilledDeletesNames);
constexpr auto kDurabilities = choices_of<Durability>(kDurabilityNames);
constexpr double kRateMin = 0.000'001;
constexpr double kRateMax = 0.5;
constexpr std::uint64_t kItemsMax = 1'000'000'000;
constexpr std::uint32_t kFiltersMax = 10'000;
constexpr std::uint64_t kMiB = std::uint64_t{1024} * 1024;

constexpr auto parse_items =
    bounded<std::uint64_t>(parse_count, 1, kItemsMax, "must be from 1 to 1G items");
constexpr auto parse_rate =
    bounded(parse_fraction, kRateMin, kRateMax, "must be from 0.0001% to 50%");

void read_templates(const Section& section,
                    std::string_view key,
                    std::vector<keyspace::KeyTemplate>& out) {
  read_key_templates(section, key, Section::EmptyList::is_right, out);
}

constexpr auto kNamed =
    section<FilledFilter>(
        "filters.named.*",
        text("key", &FilledFilter::key),
        choice("kind", &FilledFilter::kind, kKinds),
        value("capacity", &FilledFilter::capacity, parse_items),
        value("false_positive_rate", &FilledFilter::false_positive_rate, parse_rate),
        choice("deletes", &FilledFilter::deletes, kDeletes))
        .checked_by([](const Section& section, FilledFilter& result) {
          if (result.kind == FilledKind::bloom && result.deletes == FilledDeletes::exact) {
            section.report(section.place_of("deletes"),
                           "deletes: a bloom filter has none; kind: cuckoo has CF.DEL");
          }
        });

constexpr auto kDedupe = section<Dedupe>(
    "filters.dedupe",
    ReadBy<Dedupe>{
        "keys",
        [](const Section& section, Dedupe& out) { read_templates(section, "keys", out.keys); }},
    value("capacity", &Dedupe::capacity, parse_items),
    value("false_positive_rate", &Dedupe::false_positive_rate, parse_rate));

std::span<const KeyList> named_sections() {
  static constexpr std::array kSections = {kNamed.keys()};
  return kSections;
}

void read_named(const Section& section, FilledFilters& out) {
  const Reading inside = section.reading_inside("named");
  for (const Entry& entry : section.named_entries("named")) {
    FilledFilter filter{.name = entry.key};
    const Section each(inside, entry, kNamed.keys());
    kNamed.read(each, filter);
    const bool is_twice = std::ranges::any_of(out.named, [&](const FilledFilter& before) {
      return before.redis_key() == filter.redis_key();
    });
    if (is_twice) {
      each.report(entry.place,
                  fmt::format("named: {} is the key of another filter already",
                              keyspace::printable(filter.redis_key())));
    }
    out.named.push_back(std::move(filter));
  }
}

// One key is one thing.
void check_templates(const Section& section, const FilledFilters& filters) {
  std::vector<keyspace::NamespaceTemplates> all;
  for (const auto& [name, templates] :
       {std::pair{"allow_reserve", &filters.allow_reserve}, {"dedupe", &filters.dedupe.keys}}) {
    if (!templates->empty()) {
      all.push_back({.name = name, .templates = *templates});
    }
  }
  if (const auto built = keyspace::Keyspace::build(std::move(all)); !built) {
    section.report(section.place_of("allow_reserve"), "filters: " + built.error().front().what);
  }
}

constexpr auto kFilters =
    section<FilledFilters>(
        "filters",
        ReadBy<FilledFilters>{"named", read_named, named_sections},
        ReadBy<FilledFilters>{"allow_reserve",
                              [](const Section& section, FilledFilters& out) {
                                read_templates(section, "allow_reserve", out.allow_reserve);
                              }},
        Inside{"dedupe", &FilledFilters::dedupe, kDedupe},
        list("users", &FilledFilters::users, parse_any_text),
        choice("durability", &FilledFilters::durability, kDurabilities),
        value("log", &FilledFilters::log, parse_text),
        text("secret_file", &FilledFilters::secret_file),
        value("max_filters",
              &FilledFilters::max_filters,
              bounded<std::uint32_t>(parse_count, 1, kFiltersMax, "must be from 1 to 10k")),
        value("max_memory",
              &FilledFilters::max_memory,
              bounded<std::uint64_t>(
                  parse_bytes, kMiB, 1024 * 1024 * kMiB, "must be from 1MiB to 1024GiB"),
              text_of_bytes))
        .checked_by([](const Section& section, FilledFilters& result) {
          if (result.durability == Durability::redis && result.secret_file.empty()) {
            section.report(section.place_of("durability"),
                           "durability: redis needs secret_file, the same for all guards of one "
                           "Redis: head -c 32 /dev/urandom | base64 > FILE");
          }
          check_templates(section, result);
          if (result.log.find_first_of("{}") != std::string::npos) {
            section.report(section.place_of("log"),
                           "log: it has no braces, they are put around it");
          }
        });

}  // namespace

void read_filters(const Section& top, Config& config) {
  kFilters.read(top.inside("filters", kFilters.keys()), config.filters);
}

std::span<const KeyList> filter_sections() {
  static const std::vector<KeyList> kAll = [] {
    std::vector<KeyList> all;
    kFilters.collect(all);
    return all;
  }();
  return kAll;
}

}  // namespace cuckooguard::config
