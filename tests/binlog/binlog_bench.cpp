// How fast rows are read, events decoded and checked: `build/release/tests/binlog/binlog_bench`.
// Ratios within one run.
//
//   bulk      8 KiB row events of a BIGINT key and a VARCHAR(32), the key as text; with and without
//             checksums
//   single    transactions of one row: GTID, table map, rows, commit

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "binlog/event_decoder.h"
#include "binlog/rows.h"
#include "binlog/table_layout.h"
#include "made_events.h"

namespace cuckooguard::binlog {
namespace {

using Clock = std::chrono::steady_clock;
using namespace std::string_literals;

std::string table_map() {
  return make_event(EventType::table_map,
                    little_endian(42, 6) + "\1\0"s + "\4shop\0\5items\0"s + "\2\x08\x0f"s +
                        "\2\x80\0"s + "\0"s + "\1\1\0"s + "\4\x0a\2id\6secret"s);
}

std::string row(std::uint64_t id) {
  const std::string name = "user-name-" + std::to_string(id);
  return "\0"s + little_endian(id, 8) + static_cast<char>(name.size()) + name;
}

std::string rows_event(std::uint64_t first, std::size_t bytes, std::size_t& count) {
  std::string images;
  while (images.size() < bytes) {
    images += row(first + count++);
  }
  return make_event(EventType::write_rows_v1, little_endian(42, 6) + "\1\0"s + "\2\3"s + images);
}

std::string gtid(std::uint64_t sequence) {
  return make_event(EventType::mariadb_gtid,
                    little_endian(sequence, 8) + zeros(4) + "\4" + zeros(6));
}

struct Totals {
  std::size_t events = 0;
  std::size_t rows = 0;
  std::size_t bytes = 0;
  std::uint64_t sum = 0;
};

// A table, once its map has come.
struct Table {
  explicit Table(const TableMap& map) : layout(TableLayout::parse(map, true).value()) {}

  TableLayout layout;
  RowReader reader = RowReader::make(layout, {&key, 1}).value();

  static constexpr ColumnChoice key{.column = 0};
};

void read_rows(RowReader& reader, const Rows& rows, Totals& totals) {
  if (!reader.open(rows)) {
    std::abort();
  }
  for (auto more = reader.next(); more && *more; more = reader.next()) {
    ++totals.rows;
    const std::string_view text = reader.after(0).text;
    totals.sum += text.size() + static_cast<unsigned char>(text.back());
  }
}

Totals follow(const std::vector<std::string>& events, const std::string& format) {
  EventDecoder decoder;
  std::unique_ptr<Table> table;
  Totals totals;
  if (!decoder.decode(format)) {
    std::abort();
  }
  for (const std::string& bytes : events) {
    const auto event = decoder.decode(bytes);
    if (!event) {
      std::abort();
    }
    ++totals.events;
    totals.bytes += bytes.size();
    if (const auto* map = std::get_if<TableMap>(&event->body)) {
      if (table == nullptr || !table->layout.is_same(*map)) {
        table = std::make_unique<Table>(*map);
      }
    } else if (const auto* rows = std::get_if<Rows>(&event->body)) {
      read_rows(table->reader, *rows, totals);
    }
  }
  return totals;
}

void measure(const char* name, const std::vector<std::string>& events, ChecksumAlgorithm checksum) {
  constexpr int kRounds = 5;
  const std::string format = make_format(post_header_lengths(Brand::mariadb), checksum);
  double best = 1e9;
  Totals totals;
  for (int i = 0; i < kRounds; ++i) {
    const auto begin = Clock::now();
    totals = follow(events, format);
    best = std::min(best, std::chrono::duration<double>(Clock::now() - begin).count());
  }
  std::printf("%-16s %8.2f M rows/s  %8.2f M events/s  %8.0f MB/s  (%zu rows, %zu)\n",
              name,
              static_cast<double>(totals.rows) / best / 1e6,
              static_cast<double>(totals.events) / best / 1e6,
              static_cast<double>(totals.bytes) / best / 1e6,
              totals.rows,
              static_cast<std::size_t>(totals.sum));
}

void run() {
  constexpr std::size_t kRows = 1'000'000;
  constexpr std::size_t kTransactions = 200'000;
  std::vector<std::string> bulk{gtid(1), table_map()};
  for (std::size_t rows = 0; rows < kRows;) {
    std::size_t count = 0;
    bulk.push_back(rows_event(rows, 8192, count));
    rows += count;
  }
  std::vector<std::string> single;
  for (std::size_t i = 0; i < kTransactions; ++i) {
    std::size_t count = 0;
    single.push_back(gtid(i));
    single.push_back(table_map());
    single.push_back(rows_event(i, 1, count));
    single.push_back(make_event(EventType::xid, little_endian(i, 8)));
  }
  for (auto* events : {&bulk, &single}) {
    measure(events == &bulk ? "bulk" : "single", *events, ChecksumAlgorithm::none);
    for (std::string& event : *events) {
      event = with_checksum(std::move(event));
    }
    measure(events == &bulk ? "bulk, CRC32" : "single, CRC32", *events, ChecksumAlgorithm::crc32);
  }
}

}  // namespace
}  // namespace cuckooguard::binlog

int main() {
  cuckooguard::binlog::run();
}
