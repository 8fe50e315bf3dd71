#include "mysql/log_group.h"

#include <algorithm>
#include <new>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "text/number.h"
#include "text/words.h"

namespace cuckooguard::source::mysql {
namespace {

constexpr std::string_view kNone = "-";

XXH3_state_t* xxh3(void* state) {
  return static_cast<XXH3_state_t*>(state);
}

using text::take_word;

template <class Number>
bool is_number(std::string_view word, Number& number) {
  const auto found = text::number_of<Number>(word);
  number = found.value_or(0);
  return found.has_value();
}

}  // namespace

// --- groups ---

bool LogGroup::is_same_as(const LogGroup& other) const {
  const bool is_equal = gtid == other.gtid && server_id == other.server_id &&
                        timestamp == other.timestamp && contents == other.contents;
  const bool is_in_place = file == other.file && end_low32 == other.end_low32;
  return is_equal && (is_in_place || log_of != other.log_of);
}

std::string LogGroup::text() const {
  return text_of(gtid) + ' ' + (previous ? text_of(*previous) : std::string(kNone)) + ' ' +
         std::to_string(server_id) + ' ' + std::to_string(timestamp) + ' ' +
         std::to_string(contents) + ' ' + std::to_string(log_of) + ' ' + std::to_string(end_low32) +
         ' ' + file;
}

std::optional<LogGroup> LogGroup::parse(std::string_view text, bool is_mariadb) {
  LogGroup group;
  const auto gtid = parse_gtid(take_word(text), is_mariadb);
  const std::string_view previous = take_word(text);
  if (previous != kNone) {
    group.previous = parse_gtid(previous, is_mariadb);
  }
  const bool is_good =
      is_number(take_word(text), group.server_id) && is_number(take_word(text), group.timestamp) &&
      is_number(take_word(text), group.contents) && is_number(take_word(text), group.log_of) &&
      is_number(take_word(text), group.end_low32);
  if (!gtid || (previous != kNone && !group.previous) || !is_good) {
    return std::nullopt;
  }
  group.gtid = *gtid;
  group.file = text;
  return group;
}

// --- what is in them ---

void GroupDigest::Free::operator()(void* state) const noexcept {
  XXH3_freeState(xxh3(state));
}

GroupDigest::GroupDigest() : state_(XXH3_createState()) {
  if (!state_) {
    throw std::bad_alloc();
  }
  begin();
}

void GroupDigest::begin() {
  XXH3_64bits_reset(xxh3(state_.get()));
  tables_.clear();
  rows_of_.clear();
}

void GroupDigest::add(const binlog::EventBody& body) {
  if (const auto* const map = std::get_if<binlog::TableMap>(&body)) {
    std::erase_if(tables_, [map](const auto& table) { return table.first == map->table_id; });
    tables_.emplace_back(map->table_id, std::string(map->schema) + '\0' + std::string(map->table));
  } else if (const auto* const rows = std::get_if<binlog::Rows>(&body)) {
    add_rows(*rows);
  } else if (const auto* const query = std::get_if<binlog::Query>(&body)) {
    add_text(query->schema);
    add_text(query->text);
  }
}

std::uint64_t GroupDigest::value() const {
  return XXH3_64bits_digest(xxh3(state_.get()));
}

void GroupDigest::add_text(std::string_view text) {
  const auto bytes = static_cast<std::uint64_t>(text.size());
  XXH3_64bits_update(xxh3(state_.get()), &bytes, sizeof(bytes));
  XXH3_64bits_update(xxh3(state_.get()), text.data(), text.size());
}

// Servers cut a statement's rows into events as they like, and number tables so.
void GroupDigest::add_rows(const binlog::Rows& rows) {
  const auto table =
      std::ranges::find(tables_, rows.table_id, &decltype(tables_)::value_type::first);
  std::string rows_of = table == tables_.end() ? std::string() : table->second;
  rows_of += '\0' + std::to_string(static_cast<int>(rows.kind)) + '\0';
  rows_of += rows.before_columns;
  rows_of += '\0';
  rows_of += rows.after_columns;
  if (rows_of != rows_of_) {
    add_text(rows_of);
    rows_of_ = std::move(rows_of);
  }
  XXH3_64bits_update(xxh3(state_.get()), rows.images.data(), rows.images.size());
}

}  // namespace cuckooguard::source::mysql
