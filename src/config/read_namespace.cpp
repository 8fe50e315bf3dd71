#include <algorithm>
#include <array>
#include <limits>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "config/absent_presets.h"
#include "config/nearest.h"
#include "config/read_config.h"
#include "config/section_table.h"
#include "text/printable.h"
#include "text/try.h"

namespace cuckooguard::config {
namespace {

using namespace std::chrono_literals;
using keyspace::KeyTemplate;
using keyspace::ValueType;

constexpr auto kModes = choices_of<Mode>(kModeNames);
constexpr auto kOrders = choices_of<Order>(kOrderNames);
constexpr auto kConsistencies = choices_of<Consistency>(kConsistencyNames);
constexpr auto kDeletes = choices_of<Deletes>(kDeletesNames);
constexpr auto kUuidOrders = choices_of<UuidOrder>(kUuidOrderNames);
constexpr int kDbMax = std::numeric_limits<int>::max();
constexpr double kFalsePositiveRateMin = 0.000'001;
constexpr double kFalsePositiveRateMax = 0.1;
constexpr double kTolerateMax = 1'000'000;  // per second
constexpr std::uint64_t kCapacityMax = 100'000'000'000;
constexpr std::uint64_t kOverlayKeysMax = 1'000'000'000;
// Well below the time after which clients give up a read: 2 s and more.
constexpr milliseconds kHoldMax = 500ms;
constexpr milliseconds kLeaseMax = 10s;
constexpr std::uint32_t kConcurrentMissesMax = 10'000;

// Four lines.
std::string absent_reply_needed() {
  std::vector<std::string_view> presets;
  for (const AbsentPreset& preset : absent_presets()) {
    presets.push_back(preset.name);
  }
  return fmt::format(
      R"(mode enforce requires absent_reply: the reply for a row that cannot exist. Use one of:
  absent_reply: nil            Redis's "no such key": most applications then ask the database, so only Redis is relieved
  absent_reply: {}   the value by which your cache layer knows "no such row": it then does not ask the database (`cuckooguard presets`)
  absent_reply: "bytes:TEXT" or "hex:DIGITS"   the same in your own bytes. If you are undecided, use mode: observe, which forwards everything and only counts)",
      fmt::join(presets, " | "));
}

std::vector<std::string_view> identity_placeholders(const std::vector<KeyTemplate>& keys) {
  std::vector<std::string_view> names;
  for (const KeyTemplate& key_template : keys) {
    for (const keyspace::Placeholder& placeholder : key_template.placeholders()) {
      if (!placeholder.wildcard && std::ranges::count(names, placeholder.name) == 0) {
        names.push_back(placeholder.name);
      }
    }
  }
  return names;
}

void read_columns(const Section& section,
                  const std::vector<KeyTemplate>& keys,
                  std::map<std::string, std::string>& columns) {
  const std::vector<std::string_view> placeholders = identity_placeholders(keys);
  const Entry* const entry = section.find("columns");
  const Reading inside = section.reading_inside("columns");
  for (const std::string_view name : placeholders) {
    columns.emplace(name, name);
    const bool is_given =
        entry != nullptr && std::ranges::count(entry->value.entries, name, &Entry::key) > 0;
    if (inside.settings != nullptr && !is_given) {
      inside.settings->add(name, std::string(name), "default");
    }
  }
  if (entry == nullptr) {
    return;
  }
  if (entry->value.kind != TreeNode::Kind::mapping) {
    section.report(entry->value.place,
                   "columns must map placeholders to columns, such as { id: user_id }");
    return;
  }
  for (const Entry& column : entry->value.entries) {
    if (std::ranges::count(placeholders, column.key) == 0 && !keys.empty()) {
      section.report(column.place,
                     fmt::format("columns: no template in keys has the placeholder {}{}",
                                 text::printable(column.key),
                                 suggestion(column.key, placeholders)));
      continue;
    }
    if (auto value = section.scalar(column)) {
      if (inside.settings != nullptr) {
        inside.settings->add(column.key, value->text, section.origin(&column, value));
      }
      columns.insert_or_assign(column.key, std::move(value->text));
    }
  }
}

Parsed<std::string> parse_column_type(std::string_view text) {
  constexpr std::string_view kDecimal = "decimal(";
  constexpr int kScaleMax = 2000;
  const bool is_decimal = text.starts_with(kDecimal) && text.ends_with(')') &&
                          bounded<int>(parse_count, 0, kScaleMax, "")(
                              text.substr(kDecimal.size(), text.size() - kDecimal.size() - 1));
  if (is_decimal || std::ranges::count(kColumnTypes, text) > 0) {
    return std::string(text);
  }
  return std::unexpected(text.starts_with("decimal")
                             ? "must have a scale, such as decimal(2)"
                             : "is unknown" + suggestion(text, kColumnTypes));
}

// `table` has been read but for this.
void read_types(const Section& section, SourceTable& table, Place& place) {
  const Entry* const entry = section.find("types");
  if (entry == nullptr) {
    return;
  }
  place = entry->value.place;
  if (entry->value.kind != TreeNode::Kind::mapping) {
    section.report(place, "types must map columns to types, such as { price: decimal(2) }");
    return;
  }
  std::vector<std::string_view> used(table.where.columns().begin(), table.where.columns().end());
  std::ranges::transform(table.columns, std::back_inserter(used), [](const auto& column) {
    return std::string_view(column.second);
  });
  const Reading inside = section.reading_inside("types");
  for (const Entry& column : entry->value.entries) {
    if (std::ranges::count(used, column.key) == 0) {
      section.report(column.place,
                     fmt::format("types: neither keys nor where have the column {}{}",
                                 text::printable(column.key),
                                 suggestion(column.key, used)));
    } else if (auto value = section.scalar(column)) {
      if (const auto type = parse_column_type(value->text); !type) {
        section.report(column.value.place,
                       fmt::format("types: {} {}: {}",
                                   text::printable(column.key),
                                   text::printable(value->text),
                                   type.error()));
      }
      if (inside.settings != nullptr) {
        inside.settings->add(column.key, value->text, section.origin(&column, value));
      }
      table.types.insert_or_assign(column.key, std::move(value->text));
    }
  }
}

void read_tables(const Section& section, std::vector<std::string>& out) {
  for (ListItem& item : section.read_list("table")) {
    if (const auto text = parse_text(item.text); !text) {
      section.report(item.place, fmt::format("table: \"\" {}", text.error()));
    } else if (std::ranges::find(out, item.text) != out.end()) {
      section.report(item.place,
                     fmt::format("table: {} is listed twice", text::printable(item.text)));
    } else {
      out.push_back(std::move(item.text));
    }
  }
}

constexpr auto kTable =
    section<SourceTable>("namespaces.*.source",
                         value("from", &SourceTable::from, parse_text).required(),
                         ReadApart{"table"},
                         ReadApart{"columns"},
                         ReadApart{"where"},
                         ReadApart{"types"},
                         choice("uuids", &SourceTable::uuids, kUuidOrders));

void read_table(const Section& section, Namespace& result, NamespacePlaces& places) {
  if (section.require("source") == nullptr) {
    return;
  }
  const Section table = section.inside("source", kTable.keys());
  kTable.read(table, result.source);
  read_tables(table, result.source.tables);
  read_columns(table, result.keys, result.source.columns);
  std::optional<std::string> where;
  table.read(
      "where",
      result.source.where,
      [&](std::string_view text) {
        where = text;
        return keyspace::RowCondition::parse(text);
      },
      [&](const auto&) { return where; });
  read_types(table, result.source, places.types);
  places.from = table.place_of("from");
  places.table = table.place_of("table");
  places.is_table_left_out = table.is_left_out("table");
  places.columns = table.place_of("columns");
  places.where = table.place_of("where");
}

Parsed<std::chrono::seconds> parse_ttl(std::string_view text) {
  const auto parsed =
      TRY(bounded<milliseconds>(parse_duration, 1s, 24h, "must be from 1s to 1d")(text));
  if (parsed % 1s != 0ms) {
    return std::unexpected("must be a whole number of seconds");
  }
  return std::chrono::duration_cast<std::chrono::seconds>(parsed);
}

// It is about integers; on a namespace without one it would be a wish that nothing fulfils.
void check_canonical_keys(const Section& section, const Namespace& result) {
  const auto is_integer = [](const keyspace::Placeholder& placeholder) {
    return placeholder.type == ValueType::uint64 || placeholder.type == ValueType::int64;
  };
  const auto has_integer = [&](const KeyTemplate& key_template) {
    return std::ranges::any_of(key_template.placeholders(), is_integer);
  };
  if (result.canonical_keys && !result.keys.empty() &&
      std::ranges::none_of(result.keys, has_integer)) {
    section.report(section.place_of("canonical_keys"),
                   "canonical_keys: true needs an integer placeholder in keys, such as "
                   "{id:uint64}: it applies to values that are not canonical integers");
  }
}

constexpr auto kFilter = section<Filter>(
    "namespaces.*.filter",
    choice("deletes", &Filter::deletes, kDeletes),
    value("false_positive_rate",
          &Filter::false_positive_rate,
          bounded(parse_fraction,
                  kFalsePositiveRateMin,
                  kFalsePositiveRateMax,
                  "must be from 0.0001% to 10%")),
    value("capacity",
          &Filter::capacity,
          or_auto(bounded<std::uint64_t>(
              parse_count, 1, kCapacityMax, "must be auto, or from 1 to 100G rows"))));

constexpr auto kOverlay = section<Overlay>(
    "namespaces.*.overlay",
    value("pass_at_start", &Overlay::pass_at_start, parse_bool),
    value("ttl", &Overlay::ttl, parse_ttl),
    value("max_keys",
          &Overlay::max_keys,
          bounded<std::uint64_t>(parse_count, 1, kOverlayKeysMax, "must be from 1 to 1G")));

constexpr auto kBreakdownScopes = choices_of<BreakdownScope>(kBreakdownScopeNames);
constexpr auto kBreakdown =
    section<Breakdown>(
        "namespaces.*.breakdown",
        value("hold",
              &Breakdown::hold,
              bounded<milliseconds>(parse_duration, 0ms, kHoldMax, "must be at most 500ms")),
        value("lease",
              &Breakdown::lease,
              or_auto(bounded<milliseconds>(
                  parse_duration, 1ms, kLeaseMax, "must be auto, or from 1ms to 10s")),
              [](const std::optional<milliseconds>& lease) {
                return lease ? text_of(*lease) : std::string("auto");
              }),
        value("max_concurrent_misses",
              &Breakdown::max_concurrent_misses,
              bounded<std::uint32_t>(parse_count, 0, kConcurrentMissesMax, "must be at most 10k")),
        choice("scope", &Breakdown::scope, kBreakdownScopes))
        .checked_by([](const Section& section, Breakdown& read) {
          if (const auto refused = section.built().refusal("breakdown"); refused && read.is_on()) {
            section.report(section.place_of("hold"), "breakdown: " + *refused);
          }
          if (!read.is_on() && (read.lease || read.max_concurrent_misses > 0 ||
                                read.scope != BreakdownScope::guard)) {
            section.report(section.place_of("hold"),
                           "breakdown: nothing is held: set hold, such as hold: 100ms");
          }
        });

constexpr auto kCommands =
    section<FilterCommands>("namespaces.*.commands", text("key", &FilterCommands::key));

// What such a command names is the value of the one placeholder.
void check_commands(const Section& section, const Namespace& result) {
  if (result.commands.key.empty() || result.keys.empty()) {
    return;
  }
  if (result.keys.front().placeholders().size() != 1) {
    section.report(section.place_of("commands", "key"),
                   "commands: the first template of keys must have exactly one placeholder, such "
                   "as user:{id}: BF.EXISTS and CF.EXISTS take its value as the item");
  }
}

constexpr auto kNamespace =
    section<Namespace>(
        "namespaces.*",
        ReadApart{"keys"},
        ReadApart{"source"},
        choice("mode", &Namespace::mode, kModes),
        choice("order", &Namespace::order, kOrders),
        value("verify_sample",
              &Namespace::verify_sample,
              bounded(parse_fraction, 0.0, 1.0, "must be from 0% to 100%")),
        value("absent_reply", &Namespace::absent_reply, parse_absent_reply),
        value("db",
              &Namespace::db,
              bounded<int>(parse_count, 0, kDbMax, "is not a valid database number")),
        value("canonical_keys", &Namespace::canonical_keys, parse_bool),
        choice("consistency", &Namespace::consistency, kConsistencies),
        value("tolerate",
              &Namespace::tolerate,
              bounded(parse_rate, 0.0, kTolerateMax, "must be at most 1M/s"),
              text_of_rate),
        value("fresh_ids", &Namespace::fresh_ids, parse_fresh_ids),
        Inside{"filter", &Namespace::filter, kFilter},
        Inside{"overlay", &Namespace::overlay, kOverlay},
        Inside{"commands", &Namespace::commands, kCommands},
        Inside{"breakdown", &Namespace::breakdown, kBreakdown})
        .checked_by([](const Section& section, Namespace& result) {
          if (result.mode == Mode::enforce && section.is_left_out("absent_reply")) {
            section.report(section.place_of("mode"), absent_reply_needed());
          }
          check_canonical_keys(section, result);
          check_commands(section, result);
        });

// `strict` was the name of canonical_keys, and is read as that for one more release.
Entry with_new_names(const Entry& entry, Report& report) {
  Entry renamed = entry;
  const auto old = std::ranges::find(renamed.value.entries, "strict", &Entry::key);
  if (old == renamed.value.entries.end()) {
    return renamed;
  }
  if (std::ranges::count(renamed.value.entries, "canonical_keys", &Entry::key) > 0) {
    report.add(old->place,
               "strict and canonical_keys are both set: strict is the old name of canonical_keys; "
               "remove strict");
    renamed.value.entries.erase(old);
    return renamed;
  }
  report.warn(old->place,
              "strict has been renamed to canonical_keys: rename it; the next release will reject "
              "the old name. (How soon a committed row is seen is set with consistency.)");
  old->key = "canonical_keys";
  return renamed;
}

}  // namespace

std::vector<Place> read_key_templates(const Section& section,
                                      std::string_view key,
                                      Section::EmptyList empty,
                                      std::vector<KeyTemplate>& out) {
  std::vector<Place> places;
  for (const ListItem& item : section.read_list(key, empty)) {
    if (auto parsed = KeyTemplate::parse(item.text)) {
      out.push_back(*std::move(parsed));
      places.push_back(item.place);
    } else {
      section.report(
          item.at(parsed.error().offset),
          fmt::format("{}: {} {}", key, text::printable(item.text), parsed.error().what));
    }
  }
  return places;
}

Namespace read_namespace(const Reading& reading, const Entry& as_written, NamespacePlaces& places) {
  const Entry entry = with_new_names(as_written, reading.report);
  const Section section(reading, entry, kNamespace.keys());
  Namespace result{.name = entry.key};
  places.name = entry.place;
  places.fresh_ids = section.place_of("fresh_ids");
  places.deletes = section.place_of("filter", "deletes");
  places.commands = section.place_of("commands", "key");
  section.require("keys");
  places.keys = read_key_templates(section, "keys", Section::EmptyList::is_wrong, result.keys);
  read_table(section, result, places);
  kNamespace.read(section, result);
  return result;
}

std::span<const KeyList> namespace_sections() {
  static constexpr std::array kSections = {kNamespace.keys(),
                                           kTable.keys(),
                                           kFilter.keys(),
                                           kOverlay.keys(),
                                           kCommands.keys(),
                                           kBreakdown.keys()};
  return kSections;
}

}  // namespace cuckooguard::config
