// A follower in small: applies the rows of events to tables in memory, by the text of the first
// chosen column.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "binlog/event_decoder.h"
#include "binlog/payload_reader.h"
#include "binlog/rows.h"
#include "binlog/table_layout.h"
#include "recording.h"

namespace cuckooguard::binlog {

class Replay {
 public:
  // With hints: the caller says what a table map does not (binlog_row_metadata=NO_LOG).
  Replay(const std::map<std::string, ExpectedTable>& tables, bool with_hints)
      : tables_(tables), with_hints_(with_hints) {}

  void apply(std::string_view bytes) { visit(bytes, decoder_.decode(bytes)); }

  std::vector<TextRow> rows_of(const std::string& table) const {
    std::vector<TextRow> rows;
    if (const auto found = state_.find(table); found != state_.end()) {
      for (const auto& [key, row] : found->second) {
        rows.push_back(row);
      }
    }
    return rows;
  }
  int payloads() const { return payloads_; }
  int row_events() const { return row_events_; }

 private:
  struct Watched {
    std::string table;
    TableLayout layout;
    RowReader reader;
  };

  void visit(std::string_view bytes, const std::expected<Event, DecodeError>& event) {
    ASSERT_TRUE(event) << describe(event.error()) << ", type "
                       << int(static_cast<unsigned char>(bytes[4]));
    ASSERT_FALSE(std::holds_alternative<Unknown>(event->body))
        << int(static_cast<unsigned char>(bytes[4]));
    if (const auto* map = std::get_if<TableMap>(&event->body)) {
      remember(*map);
    } else if (const auto* rows = std::get_if<Rows>(&event->body)) {
      change(*rows);
    } else if (const auto* payload = std::get_if<TransactionPayload>(&event->body)) {
      unpack(*payload);
    }
  }

  void unpack(const TransactionPayload& payload) {
    ++payloads_;
    payload_reader_.open(payload);
    for (auto inner = payload_reader_.next();; inner = payload_reader_.next()) {
      ASSERT_TRUE(inner) << describe(inner.error());
      if (inner->empty()) {
        return;
      }
      visit(*inner, decoder_.decode_payload_event(*inner));
    }
  }

  void remember(const TableMap& map) {
    const auto known = watched_.find(map.table_id);
    if (known != watched_.end() && known->second.layout.is_same(map)) {
      return;
    }
    auto layout = TableLayout::parse(map, decoder_.is_mariadb());
    ASSERT_TRUE(layout) << map.table << ": " << describe(layout.error());
    const std::string table(map.table);
    const auto expected = tables_.find(table);
    ASSERT_NE(expected, tables_.end()) << table;
    std::vector<ColumnChoice> choices;
    for (const ExpectedColumn& column : expected->second.columns) {
      ColumnChoice choice{.column = column.place};
      if (with_hints_) {
        choice.is_unsigned = column.fact == 'u';
        choice.is_binary = column.fact == 'b';
      }
      choices.push_back(choice);
    }
    auto reader = RowReader::make(*layout, choices);
    ASSERT_TRUE(reader) << table << ": " << describe(reader.error());
    watched_.erase(map.table_id);
    watched_.emplace(map.table_id, Watched{table, std::move(*layout), std::move(*reader)});
  }

  void change(const Rows& rows) {
    ++row_events_;
    const auto found = watched_.find(rows.table_id);
    ASSERT_NE(found, watched_.end());
    RowReader& reader = found->second.reader;
    const auto opened = reader.open(rows);
    ASSERT_TRUE(opened) << describe(opened.error());
    auto& state = state_[found->second.table];
    const std::size_t choices = tables_.at(found->second.table).columns.size();
    for (auto more = reader.next();; more = reader.next()) {
      ASSERT_TRUE(more) << found->second.table << ": " << describe(more.error());
      if (!*more) {
        return;
      }
      TextRow row(choices, "NULL");
      if (rows.kind != RowsKind::write) {
        const std::string key(reader.before(0).text);
        ASSERT_TRUE(state.contains(key)) << found->second.table << " has no row " << key;
        row = state.at(key);
        for (std::size_t i = 0; i < choices; ++i) {
          expect_same_if_present(reader.before(i), row[i]);
        }
        state.erase(key);
      }
      if (rows.kind != RowsKind::erase) {
        for (std::size_t i = 0; i < choices; ++i) {
          if (reader.after(i).state != Value::State::absent) {
            row[i] = text_of(reader.after(i));
          }
        }
        ASSERT_FALSE(state.contains(row[0])) << row[0];
        state[row[0]] = row;
      }
    }
  }

  static std::string text_of(const Value& value) {
    return value.state == Value::State::null ? "NULL" : std::string(value.text);
  }

  static void expect_same_if_present(const Value& value, const std::string& known) {
    if (value.state != Value::State::absent) {
      EXPECT_EQ(text_of(value), known);
    }
  }

  const std::map<std::string, ExpectedTable>& tables_;
  bool with_hints_;
  EventDecoder decoder_;
  PayloadReader payload_reader_;
  std::map<std::uint64_t, Watched> watched_;
  std::map<std::string, std::map<std::string, TextRow>> state_;
  int payloads_ = 0;
  int row_events_ = 0;
};

}  // namespace cuckooguard::binlog
