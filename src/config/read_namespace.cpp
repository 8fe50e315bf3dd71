#include "config/read_namespace.h"

#include <algorithm>
#include <array>
#include <limits>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "config/absent_presets.h"
#include "config/nearest.h"
#include "keyspace/printable.h"

namespace cuckooguard::config {
namespace {

using namespace std::chrono_literals;
using keyspace::KeyTemplate;
using keyspace::ValueType;

constexpr std::array kModes = {Choice<Mode>{"observe", Mode::observe},
                               Choice<Mode>{"enforce", Mode::enforce},
                               Choice<Mode>{"bypass", Mode::bypass}};
constexpr std::array kOrders = {Choice<Order>{"guard-first", Order::guard_first},
                                Choice<Order>{"redis-first", Order::redis_first}};
constexpr std::array kDeletes = {Choice<Deletes>{"auto", Deletes::automatic},
                                 Choice<Deletes>{"trusted", Deletes::trusted},
                                 Choice<Deletes>{"deferred", Deletes::deferred},
                                 Choice<Deletes>{"exact", Deletes::exact}};
constexpr int kDbMax = std::numeric_limits<int>::max();
constexpr double kFalsePositiveRateMin = 0.000'001;
constexpr double kFalsePositiveRateMax = 0.1;
constexpr std::uint64_t kCapacityMax = 100'000'000'000;
constexpr std::uint64_t kOverlayKeysMax = 1'000'000'000;

// Four lines.
std::string absent_reply_needed() {
  std::vector<std::string_view> presets;
  for (const AbsentPreset& preset : absent_presets()) {
    presets.push_back(preset.name);
  }
  return fmt::format(
      R"(mode enforce needs absent_reply here: what a client gets for a row that cannot exist. One of
  absent_reply: nil            Redis's "no such key": most applications then ask the database, so only Redis is relieved
  absent_reply: {}   as your cache layer remembers "no such row": it stops there (`cuckooguard presets`)
  absent_reply: "bytes:TEXT" or "hex:DIGITS"   the same in your own bytes. Undecided? mode: observe forwards and only counts)",
      fmt::join(presets, " | "));
}

void read_keys(const Reading& reading,
               const Section& section,
               std::vector<KeyTemplate>& keys,
               std::vector<Place>& places) {
  section.require("keys");
  for (const ListItem& item : section.read_list("keys")) {
    auto parsed = KeyTemplate::parse(item.text);
    if (parsed) {
      keys.push_back(std::move(*parsed));
      places.push_back(item.place);
    } else {
      reading.report.add(
          item.at(parsed.error().offset),
          fmt::format("keys: {} {}", keyspace::printable(item.text), parsed.error().what));
    }
  }
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

void read_columns(const Reading& reading,
                  const Section& section,
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
    reading.report.add(
        entry->value.place,
        "columns must be a mapping from placeholders to columns, such as { id: user_id }");
    return;
  }
  for (const Entry& column : entry->value.entries) {
    if (std::ranges::count(placeholders, column.key) == 0 && !keys.empty()) {
      reading.report.add(column.place,
                         fmt::format("columns: no template in keys has a placeholder {}{}",
                                     keyspace::printable(column.key),
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

void read_tables(const Reading& reading, const Section& section, std::vector<std::string>& out) {
  for (ListItem& item : section.read_list("table")) {
    if (const auto text = parse_text(item.text); !text) {
      reading.report.add(item.place, fmt::format("table: \"\" {}", text.error()));
    } else if (std::ranges::find(out, item.text) != out.end()) {
      reading.report.add(item.place,
                         fmt::format("table: {} is named twice", keyspace::printable(item.text)));
    } else {
      out.push_back(std::move(item.text));
    }
  }
}

void read_table(const Reading& reading,
                const Section& section,
                Namespace& result,
                NamespacePlaces& places) {
  if (section.require("source") == nullptr) {
    return;
  }
  const Section table = section.inside("source", schema::kTable);
  table.require("from");
  table.read("from", result.source.from, parse_text);
  read_tables(reading, table, result.source.tables);
  read_columns(reading, table, result.keys, result.source.columns);
  std::optional<std::string> where;
  table.read(
      "where",
      result.source.where,
      [&](std::string_view text) {
        where = text;
        return keyspace::RowCondition::parse(text);
      },
      [&](const auto&) { return where; });
  places.from = table.place_of("from");
  places.table = table.place_of("table");
  places.columns = table.place_of("columns");
  places.where = table.place_of("where");
}

void read_filter(const Section& filter, Filter& out) {
  filter.read_choice("deletes", out.deletes, kDeletes);
  filter.read("false_positive_rate",
              out.false_positive_rate,
              bounded(parse_fraction,
                      kFalsePositiveRateMin,
                      kFalsePositiveRateMax,
                      "must be from 0.0001% to 10%"));
  filter.read(
      "capacity", out.capacity, [](std::string_view text) -> Parsed<std::optional<std::uint64_t>> {
        if (text == "auto") {
          return std::nullopt;
        }
        return bounded<std::uint64_t>(
            parse_count, 1, kCapacityMax, "must be auto, or from 1 to 100G rows")(text);
      });
}

void read_overlay(const Section& overlay, Overlay& out) {
  overlay.read("pass_at_start", out.pass_at_start, parse_bool);
  overlay.read("ttl", out.ttl, [](std::string_view text) -> Parsed<std::chrono::seconds> {
    const auto parsed =
        bounded<milliseconds>(parse_duration, 1s, 24h, "must be from 1s to 1d")(text);
    if (!parsed) {
      return std::unexpected(parsed.error());
    }
    if (*parsed % 1s != 0ms) {
      return std::unexpected("must be whole seconds");
    }
    return std::chrono::duration_cast<std::chrono::seconds>(*parsed);
  });
  overlay.read("max_keys",
               out.max_keys,
               bounded<std::uint64_t>(parse_count, 1, kOverlayKeysMax, "must be from 1 to 1G"));
}

void read_policy(const Reading& reading, const Section& section, Namespace& result) {
  section.read_choice("mode", result.mode, kModes);
  section.read_choice("order", result.order, kOrders);
  section.read("verify_sample",
               result.verify_sample,
               bounded(parse_fraction, 0.0, 1.0, "must be from 0% to 100%"));
  section.read("absent_reply", result.absent_reply, parse_absent_reply);
  section.read("db", result.db, bounded<int>(parse_count, 0, kDbMax, "is no database number"));
  section.read("strict", result.strict, parse_bool);
  section.read("fresh_ids", result.fresh_ids, parse_fresh_ids);
  if (result.mode == Mode::enforce && section.find("absent_reply") == nullptr) {
    reading.report.add(section.place_of("mode"), absent_reply_needed());
  }
}

// `strict` is about integers; on a namespace without one it would be a wish that nothing fulfils.
void check_strict(const Reading& reading, const Section& section, const Namespace& result) {
  const auto is_integer = [](const keyspace::Placeholder& placeholder) {
    return placeholder.type == ValueType::uint64 || placeholder.type == ValueType::int64;
  };
  const auto has_integer = [&](const KeyTemplate& key_template) {
    return std::ranges::any_of(key_template.placeholders(), is_integer);
  };
  if (result.strict && !result.keys.empty() && std::ranges::none_of(result.keys, has_integer)) {
    reading.report.add(
        section.place_of("strict"),
        "strict: true needs an integer in keys, such as {id:uint64}: it is about values that "
        "are no canonical integer");
  }
}

}  // namespace

Namespace read_namespace(const Reading& reading, const Entry& entry, NamespacePlaces& places) {
  const Section section(reading, entry, schema::kNamespace);
  Namespace result{.name = entry.key};
  places.name = entry.place;
  read_keys(reading, section, result.keys, places.keys);
  read_table(reading, section, result, places);
  read_policy(reading, section, result);
  check_strict(reading, section, result);
  places.fresh_ids = section.place_of("fresh_ids");
  const Section filter = section.inside("filter", schema::kFilter);
  read_filter(filter, result.filter);
  places.deletes = filter.place_of("deletes");
  read_overlay(section.inside("overlay", schema::kOverlay), result.overlay);
  return result;
}

}  // namespace cuckooguard::config
