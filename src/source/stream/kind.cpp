#include "stream/kind.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <set>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "config/table_pattern.h"
#include "debezium/connect_schema.h"
#include "debezium/stream_entry.h"
#include "filter/filter_file.h"
#include "source/publication.h"
#include "source/storage_directory.h"
#include "stream/stream_follower.h"
#include "stream/stream_reader.h"
#include "text/little_endian.h"
#include "text/try.h"
#include "text/words.h"
#if CUCKOOGUARD_HAS_KAFKA
#include "stream/kafka_reader.h"
#endif

namespace cuckooguard::source::stream {
namespace {

using config::StreamConnector;

constexpr std::chrono::nanoseconds kPollMost = std::chrono::milliseconds(100);
constexpr int kPollsPerMaxLag = 10;
constexpr std::size_t kStreamsListed = 1024;
constexpr std::string_view kRightsToList = "+scan +xread +xinfo|stream +multi +exec";
// Rows and exact counts, by their headers; the filter, with the default false_positive_rate.
constexpr std::string_view kWhyUnknown =
    "tables whose rows are known when Debezium's snapshot has been read: allow for 33 to 58 bytes "
    "a row, and 20 more while a filter grows";

const config::DebeziumSource& own(const config::Source& settings) {
  return std::get<config::DebeziumSource>(settings.kind);
}

// How a table is named in its topic, behind the prefix.
std::string_view form_of(StreamConnector connector) {
  switch (connector) {
    case StreamConnector::mysql:
    case StreamConnector::mariadb:
      return "database.table";
    case StreamConnector::postgresql:
    case StreamConnector::oracle:
      return "schema.table";
    case StreamConnector::sqlserver:
      break;
  }
  return "database.schema.table";
}

std::expected<debezium::Table, std::string> table_named(std::string_view text,
                                                        StreamConnector connector) {
  debezium::Table table;
  std::string_view names = text;
  std::string_view form = form_of(connector);
  bool is_named = !config::is_table_pattern(text) &&
                  std::ranges::count(text, '.') == std::ranges::count(form, '.');
  while (is_named && !form.empty()) {
    const std::string_view kind = text::take_word(form, '.');
    std::string& name = kind == "table"    ? table.name
                        : kind == "schema" ? table.schema
                                           : table.database;
    name = text::take_word(names, '.');
    is_named = !name.empty();
  }
  if (!is_named) {
    return std::unexpected(fmt::format(
        "table {}: tables of this source are named as in their topics, behind the prefix: {}",
        text,
        form_of(connector)));
  }
  return table;
}

// Of the one that is called so, which is added if there is none.
template <class All, class Name = std::identity>
std::size_t place_of(All& all, const std::string& name, const Name& name_of = {}) {
  const auto found = std::ranges::find(all, name, name_of);
  const auto place = static_cast<std::size_t>(found - all.begin());
  if (found == all.end()) {
    all.push_back({name});
  }
  return place;
}

// Of the table with these names, which is added if there is none: a stream's messages are decoded
// once for all namespaces.
std::size_t place_of(std::vector<debezium::Table>& all, debezium::Table table) {
  const auto found = std::ranges::find_if(all, [&table](const debezium::Table& each) {
    return each.database == table.database && each.schema == table.schema &&
           each.name == table.name;
  });
  const auto place = static_cast<std::size_t>(found - all.begin());
  if (found == all.end()) {
    all.push_back(std::move(table));
  }
  return place;
}

std::expected<TablePlan, std::string> plan_of(const Target& target,
                                              const std::string& table,
                                              const config::DebeziumSource& settings,
                                              std::vector<debezium::Table>& tables) {
  TablePlan plan{.ns = target.ns, .table = table};
  plan.wanted = place_of(tables, TRY(table_named(table, settings.connector)));
  std::vector<debezium::Column>& columns = tables[plan.wanted].columns;
  const std::size_t known = columns.size();  // to other namespaces
  const auto& placeholders = target.keyspace.templates(target.ns).front().placeholders();
  const config::SourceTable& source = target.settings.source;
  std::string definition = published_definition(target) + table;
  for (const std::string& name : target.keyspace.identity_columns(target.ns)) {
    const std::string& column = source.column_of(name);
    const std::size_t place = place_of(columns, column, &debezium::Column::name);
    const auto placeholder = std::ranges::find(placeholders, name, &keyspace::Placeholder::name);
    columns[place].placeholders.push_back(placeholder->type);
    columns[place].compares_bytes = settings.binary_texts;
    plan.identity.push_back(place);
    text::put_text(definition, column);
  }
  for (std::size_t i = 0; i < source.where.columns().size(); ++i) {
    const std::size_t place = place_of(columns, source.where.columns()[i], &debezium::Column::name);
    columns[place].is_compared = columns[place].is_compared || source.where.use_of(i).compares();
    plan.condition.push_back(place);
  }
  for (std::size_t i = 0; i < columns.size(); ++i) {
    debezium::Column as_here = columns[i];
    as_here.swaps_uuids = source.uuids == config::UuidOrder::swapped;
    if (const auto type = source.types.find(as_here.name); type != source.types.end()) {
      as_here.declared = debezium::declared_type(type->second);
      text::put_text(definition, as_here.name);
      text::put_text(definition, type->second);
    }
    if (i < known && (as_here.swaps_uuids != columns[i].swaps_uuids ||
                      as_here.declared != columns[i].declared)) {
      return std::unexpected("other uuids or types than another namespace has for this table");
    }
    columns[i] = std::move(as_here);
  }
  plan.definition = filter::hash_of_definition(definition);
  plan.is_whole = settings.whole_topics;
  return plan;
}

debezium::Connector connector_of(StreamConnector connector) {
  return static_cast<debezium::Connector>(connector);
}
static_assert(static_cast<int>(debezium::Connector::oracle) ==
              static_cast<int>(StreamConnector::oracle));

// Error: why the table cannot be followed.
std::expected<void, std::string> add_plan(const Target& target,
                                          const std::string& table,
                                          const config::DebeziumSource& settings,
                                          FollowerSettings& plans) {
  TablePlan plan = TRY(plan_of(target, table, settings, plans.wanted.tables));
  if (settings.connector == StreamConnector::sqlserver &&
      plans.wanted.tables[plan.wanted].database != plans.wanted.tables.front().database) {
    return std::unexpected(
        "is of another database than other tables of this source, and each has a log of its own: "
        "use a source for each");
  }
  plan.topic =
      place_of(plans.topics,
               settings.stream.empty() ? settings.topic_prefix + "." + table : settings.stream);
  plans.plans.push_back(std::move(plan));
  return {};
}

std::expected<FollowerSettings, std::vector<Refusal>> plans_of(const config::Source& source,
                                                               std::span<const Target> targets) {
  const config::DebeziumSource& settings = own(source);
  FollowerSettings plans{.connector = connector_of(settings.connector),
                         .server = settings.topic_prefix};
  if (!settings.notifications.empty()) {  // before the tables' (stream_follower.h)
    plans.topics.push_back(settings.notifications);
  }
  std::vector<Refusal> refusals;
  for (const Target& target : targets) {
    for (const std::string& table : target.settings.source.tables) {
      if (auto added = add_plan(target, table, settings, plans); !added) {
        refusals.push_back(
            {.ns = target.settings.name, .table = table, .what = std::move(added.error())});
      }
    }
    if (target.settings.consistency == config::Consistency::strict) {
      refusals.push_back({.ns = target.settings.name,
                          .what = "consistency: strict: nobody can ask a stream whether it has all "
                                  "that the database has committed; set consistency: max_lag"});
    }
    if (settings.freshness == config::StreamFreshness::none) {
      refusals.push_back(
          {.ns = target.settings.name,
           .what = "nothing in Debezium's messages shows that none are missing: set freshness: "
                   "trust_lag if the guard's clock and the database's agree, and have Debezium "
                   "write a heartbeat into the database (heartbeat.action.query)"});
    }
  }
  if (!settings.heartbeat_table.empty()) {
    if (auto table = table_named(settings.heartbeat_table, settings.connector); !table) {
      refusals.push_back({.what = "heartbeat_table: " + std::move(table.error())});
    }
  }
  if (!refusals.empty()) {
    return std::unexpected(std::move(refusals));
  }
  if (settings.stream.empty() && !settings.heartbeat_table.empty()) {
    place_of(plans.topics, settings.topic_prefix + "." + settings.heartbeat_table);
  }
  return plans;
}

std::vector<Refusal> check(const config::Source& settings,
                           std::span<const Target> targets,
                           const Clock& /*clock*/) {
  auto plans = plans_of(settings, targets);
  return plans ? std::vector<Refusal>{} : std::move(plans.error());
}

std::unique_ptr<Reader> reader_of(const SourceSettings& making, std::vector<std::string> streams) {
  const config::DebeziumSource& settings = own(making.settings);
#if CUCKOOGUARD_HAS_KAFKA
  if (settings.from == config::StreamPlace::kafka) {
    return std::make_unique<KafkaReader>(settings, std::move(streams));
  }
#endif
  return std::make_unique<StreamReader>(making.redis, std::move(streams), settings.db);
}

std::expected<SourceParts, std::vector<Refusal>> make(const SourceSettings& making) {
  FollowerSettings plans = TRY(plans_of(making.settings, making.targets));
  plans.poll_every =
      std::min<std::chrono::nanoseconds>(kPollMost, making.settings.max_lag / kPollsPerMaxLag);
  if (const config::DebeziumSource& settings = own(making.settings); !settings.signals.empty()) {
    plans.signal_key = settings.topic_prefix;
  }
  plans.wall_clock = [] { return std::chrono::system_clock::now(); };
  if (making.storage.directory != nullptr) {
    plans.file = making.storage.directory->position_path(making.settings.name);
    plans.keep_every = making.storage.checkpoint_every;
  }
  plans.asking = making.asking(std::chrono::milliseconds(kPollsPerMaxLag));
  auto reader = reader_of(making, plans.topics);
  return SourceParts{
      .follower = std::make_unique<StreamFollower>(
          std::move(reader), std::move(plans), making.feeds(), making.clock, making.observer)};
}

std::expected<std::vector<TableSize>, std::string> count_rows(const config::Source& /*settings*/,
                                                              const Target& target) {
  std::vector<TableSize> sizes;
  sizes.reserve(target.settings.source.tables.size());
  for (const std::string& table : target.settings.source.tables) {
    sizes.push_back({.table = table, .why_unknown = kWhyUnknown});
  }
  return sizes;
}

// As SCAN takes it for itself.
std::string escaped(std::string_view text) {
  std::string pattern;
  for (const char c : text) {
    pattern.append(std::string_view("*?[]^\\").contains(c) ? "\\" : "").append(1, c);
  }
  return pattern;
}

// NOPERM, with what would mend it.
std::string in_words(const resp::Value& error, const config::DebeziumSource& settings) {
  return error.text.starts_with("NOPERM")
             ? fmt::format(
                   "{}\nGive the guard's user what it needs (instead of guard its name, or "
                   "default):\n  ACL SETUSER guard ~{}.* {}",
                   error.text,
                   settings.topic_prefix,
                   kRightsToList)
             : error.text;
}

std::expected<resp::Value, std::string> ask(RedisSession& redis,
                                            std::initializer_list<std::string_view> command,
                                            const config::DebeziumSource& settings) {
  auto reply = TRY(redis.ask(command));
  return reply.is_error() ? std::unexpected(in_words(reply, settings))
                          : std::expected<resp::Value, std::string>(std::move(reply));
}

// Those that may have a table's changes, in order.
std::expected<std::set<std::string>, std::string> streams_in(
    RedisSession& redis, const config::DebeziumSource& settings) {
  std::set<std::string> streams;
  const std::string pattern = escaped(settings.topic_prefix) + ".*";
  std::string cursor = "0";
  do {
    auto reply = TRY(ask(
        redis, {"SCAN", cursor, "MATCH", pattern, "COUNT", "1000", "TYPE", "stream"}, settings));
    if (reply.list.size() != 2) {
      return std::unexpected("Redis's reply to SCAN is not understood");
    }
    cursor = reply.list[0].text;
    for (resp::Value& stream : reply.list[1].list) {
      streams.insert(std::move(stream.text));
    }
  } while (cursor != "0" && streams.size() < kStreamsListed);
  return streams;
}

// By the key of the first message that is there; without one, its columns are not known.
std::expected<std::vector<std::string>, std::string> primary_key_in(
    RedisSession& redis, const std::string& stream, const config::DebeziumSource& settings) {
  const auto reply = TRY(ask(redis, {"XREAD", "COUNT", "1", "STREAMS", stream, "0"}, settings));
  std::vector<std::string_view> fields;
  // [[stream, [[id, fields]]]]
  const resp::Value* entry = &reply;
  for (const std::size_t place : {0U, 1U, 0U, 1U}) {
    if (place >= entry->list.size()) {
      return {};
    }
    entry = &entry->list[place];
  }
  std::ranges::transform(entry->list, std::back_inserter(fields), &resp::Value::text);
  const auto message = message_of(fields, debezium::NullWords{});
  const std::string_view key = message ? message->key.value_or("") : "";
  const auto columns = debezium::key_columns(key, connector_of(settings.connector));
  std::vector<std::string> placeholders;
  for (const debezium::KeyColumn& column : columns.value_or(std::vector<debezium::KeyColumn>())) {
    const std::string text =
        column.placeholder
            ? keyspace::Placeholder{.name = column.name, .type = *column.placeholder}.text()
            : "";
    placeholders.push_back(keyspace::KeyTemplate::parse("key:" + text) ? text : "");
  }
  return placeholders;
}

std::expected<std::vector<KeyedTable>, std::string> list_tables_in(const config::Source& source,
                                                                   RedisSession& redis) {
  const config::DebeziumSource& settings = own(source);
  if (settings.db != 0) {
    TRY(ask(redis, {"SELECT", std::to_string(settings.db)}, settings));
  }
  std::vector<KeyedTable> tables;
  for (const std::string& stream : TRY(streams_in(redis, settings))) {
    std::string name = stream.substr(settings.topic_prefix.size() + 1);
    if (table_named(name, settings.connector)) {
      tables.push_back(
          {.name = std::move(name), .primary_key = TRY(primary_key_in(redis, stream, settings))});
    }
  }
  if (tables.empty()) {
    return std::unexpected(
        fmt::format("Redis has no stream {}.{}: start Debezium Server first, so that its snapshot "
                    "is there, and compare debezium.source.topic.prefix",
                    settings.topic_prefix,
                    form_of(settings.connector)));
  }
  return tables;
}

// As of any kind; list_tables_in() has them.
std::expected<std::vector<KeyedTable>, std::string> list_tables(
    const config::Source& /*settings*/) {
  return {};
}

}  // namespace

constexpr SourceKind kKind{.name = "debezium",
                           .is = is_of<config::DebeziumSource>,
                           .checks_settings_alone = true,
                           .beside = [](config::Source settings) { return settings; },
                           .check = check,
                           .make = make,
                           .count_rows = count_rows,
                           .list_tables = list_tables,
                           .list_tables_in = list_tables_in};

}  // namespace cuckooguard::source::stream
