// Takes everything out of events that may be anything: every layout, every row, every text, every
// inner event.
#pragma once

#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <zlib.h>

#include "binlog/event_decoder.h"
#include "binlog/mariadb_position.h"
#include "binlog/mysql_gtid_set.h"
#include "binlog/payload_reader.h"
#include "binlog/query_words.h"
#include "binlog/rows.h"
#include "binlog/table_layout.h"

namespace cuckooguard::binlog {

class Drain {
 public:
  static constexpr std::size_t kBytesMax = 16UL * 1024 * 1024;

  void feed(std::string_view bytes) { take(decoder_.decode(bytes)); }
  std::size_t values() const { return values_; }
  std::size_t events() const { return events_; }

 private:
  static constexpr std::size_t kTablesMax = 64;
  static constexpr std::size_t kRowsMax = 1 << 20;  // of a byte each, at least

  void take(const std::expected<Event, DecodeError>& event) {
    if (!event) {
      touch(describe(event.error()));
      return;
    }
    ++events_;
    if (const auto* map = std::get_if<TableMap>(&event->body)) {
      remember(*map);
    } else if (const auto* rows = std::get_if<Rows>(&event->body)) {
      read(*rows);
    } else if (const auto* query = std::get_if<Query>(&event->body)) {
      touch(query->schema);
      values_ += judge_query(query->text).xid.has_value() ? 1 : 0;
      values_ += may_name(query->text, "plain") ? 1 : 0;
    } else if (const auto* payload = std::get_if<TransactionPayload>(&event->body)) {
      unpack(*payload);
    } else if (const auto* previous = std::get_if<PreviousGtids>(&event->body)) {
      list(*previous);
    }
  }

  void remember(const TableMap& map) {
    auto layout = TableLayout::parse(map, decoder_.is_mariadb());
    if (!layout || readers_.size() > kTablesMax) {
      readers_.erase(map.table_id);
      return;
    }
    // Every column that has a text, one by one: the first one without would refuse them all.
    std::vector<ColumnChoice> choices;
    for (std::uint32_t i = 0; i < layout->columns().size(); ++i) {
      touch(layout->columns()[i].name);
      const ColumnChoice choice{.column = i, .is_unsigned = i % 2 == 0, .is_binary = i % 3 == 0};
      if (RowReader::make(*layout, {&choice, 1})) {
        choices.push_back(choice);
      }
    }
    if (auto reader = RowReader::make(*layout, choices)) {
      readers_.insert_or_assign(map.table_id, std::pair(std::move(*reader), choices.size()));
    }
  }

  void read(const Rows& rows) {
    const auto found = readers_.find(rows.table_id);
    if (found == readers_.end() || !found->second.first.open(rows)) {
      return;
    }
    RowReader& reader = found->second.first;
    std::size_t count = 0;
    for (auto more = reader.next(); more && *more && count < kRowsMax; more = reader.next()) {
      ++count;
      for (std::size_t i = 0; i < found->second.second; ++i) {
        touch(reader.before(i).text);
        touch(reader.after(i).text);
      }
    }
  }

  void unpack(const TransactionPayload& payload) {
    payload_reader_.open(payload);
    std::size_t bytes = 0;
    for (auto inner = payload_reader_.next(); inner && !inner->empty() && bytes < kBytesMax;
         inner = payload_reader_.next()) {
      bytes += inner->size();
      take(decoder_.decode_payload_event(*inner));
    }
  }

  // Whatever can be read can be written, and is then the same.
  void list(const PreviousGtids& previous) {
    if (const auto set = MySqlGtidSet::decode(previous.set)) {
      const auto again = MySqlGtidSet::decode(set->encode());
      const auto parsed = MySqlGtidSet::parse(set->to_string());
      if (!again || !parsed || *again != *set || *parsed != *set || !set->covers(*parsed)) {
        __builtin_trap();
      }
    }
    if (const auto position = MariaDbPosition::decode(previous.set)) {
      const auto parsed = MariaDbPosition::parse(position->to_string());
      if (!parsed || *parsed != *position || !position->covers(*parsed)) {
        __builtin_trap();
      }
    }
  }

  void touch(std::string_view text) {
    ++values_;
    for (const char c : text) {
      sum_ = sum_ + static_cast<unsigned char>(c);
    }
  }

  EventDecoder decoder_{{.decompressed_bytes_max = kBytesMax}};
  PayloadReader payload_reader_{kBytesMax};
  std::map<std::uint64_t, std::pair<RowReader, std::size_t>> readers_;
  std::size_t values_ = 0;
  std::size_t events_ = 0;
  volatile unsigned sum_ = 0;
};

inline void set_event_bytes(std::string& event) {
  const auto bytes = static_cast<std::uint32_t>(event.size());
  if (event.size() >= kEventHeaderBytes) {
    std::memcpy(event.data() + 9, &bytes, sizeof(bytes));
  }
}

// The event as it is where there are no checksums.
inline std::string without_checksum(const std::string& event) {
  std::string bare = event.substr(0, event.size() - kChecksumBytes);
  set_event_bytes(bare);
  return bare;
}

inline void renew_checksum(std::string& event) {
  const auto covered = event.size() - kChecksumBytes;
  const auto sum = static_cast<std::uint32_t>(
      ::crc32_z(0, reinterpret_cast<const Bytef*>(event.data()), covered));
  std::memcpy(event.data() + covered, &sum, sizeof(sum));
}

// The format description of a log whose events have no checksums; it has one itself.
inline std::string without_checksum_algorithm(std::string format) {
  format[format.size() - kChecksumBytes - 1] = 0;
  renew_checksum(format);
  return format;
}

}  // namespace cuckooguard::binlog
