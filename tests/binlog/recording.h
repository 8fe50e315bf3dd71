// A binary log of a real server and what SELECT said of its tables in the end (record.sh made
// both).
#pragma once

#include <cstdint>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "binlog/event_header.h"

namespace cuckooguard::binlog {

struct ExpectedColumn {
  std::uint32_t place = 0;
  char fact = '-';  // i: signed, u: unsigned, c: CHAR, b: BINARY
};

using TextRow = std::vector<std::string>;  // "NULL" for NULL, as the client prints it

struct ExpectedTable {
  std::vector<ExpectedColumn> columns;
  std::vector<TextRow> rows;
};

inline std::string read_recorded(const std::string& file) {
  std::ifstream input(std::string(RECORDED_DIRECTORY) + "/" + file, std::ios::binary);
  if (!input) {
    throw std::runtime_error("no recording " + file);
  }
  return {std::istreambuf_iterator<char>(input), {}};
}

// The events of recorded/NAME.binlog, each with its checksum.
inline std::vector<std::string> recorded_events(const std::string& name) {
  const std::string bytes = read_recorded(name + ".binlog");
  std::string_view left = bytes;
  EXPECT_TRUE(left.starts_with(kFileMagic));
  left.remove_prefix(kFileMagic.size());
  std::vector<std::string> events;
  while (!left.empty()) {
    const auto header = read_event_header(left);
    if (!header || header->event_bytes > left.size()) {
      throw std::runtime_error("no whole event in " + name);
    }
    events.emplace_back(left.substr(0, header->event_bytes));
    left.remove_prefix(header->event_bytes);
  }
  return events;
}

inline std::vector<std::string> split(const std::string& line, char separator) {
  std::vector<std::string> parts(1);
  for (const char c : line) {
    if (c == separator) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

// recorded/NAME.tables.
inline std::map<std::string, ExpectedTable> recorded_tables(const std::string& name) {
  std::istringstream input(read_recorded(name + ".tables"));
  std::map<std::string, ExpectedTable> tables;
  std::string line;
  while (std::getline(input, line)) {
    ExpectedTable& table = tables[line.substr(std::string_view("table ").size())];
    std::getline(input, line);
    for (const std::string& fact : split(line, '\t')) {
      table.columns.push_back(
          {.place = static_cast<std::uint32_t>(std::stoul(fact)), .fact = fact.back()});
    }
    while (std::getline(input, line) && !line.empty()) {
      table.rows.push_back(split(line, '\t'));
    }
  }
  return tables;
}

}  // namespace cuckooguard::binlog
