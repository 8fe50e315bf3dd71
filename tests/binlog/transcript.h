// What the events of a recording say, a line for each, for tests to look at: positions and times
// left out.
#pragma once

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "binlog/event_decoder.h"
#include "binlog/mariadb_position.h"
#include "binlog/mysql_gtid_set.h"
#include "binlog/query_words.h"
#include "binlog/table_layout.h"
#include "recording.h"

namespace cuckooguard::binlog {

inline std::string name_of(QueryKind kind) {
  constexpr const char* kNames[] = {"begin",
                                    "commit",
                                    "rollback",
                                    "savepoint",
                                    "rollback_to_savepoint",
                                    "xa_begin",
                                    "xa_end",
                                    "xa_prepare",
                                    "xa_commit",
                                    "xa_rollback",
                                    "truncate",
                                    "drop",
                                    "alter",
                                    "rename",
                                    "create",
                                    "other_definition",
                                    "administrative",
                                    "dml",
                                    "unknown"};
  return kNames[static_cast<std::size_t>(kind)];
}

inline std::string printed(const Xid& xid) {
  std::string text = std::to_string(xid.format()) + "/";
  for (const char c : std::string(xid.global()) + "/" + std::string(xid.branch())) {
    text += c >= ' ' && c <= '~' ? c : '.';
  }
  return text;
}

struct Printer {
  std::string operator()(const FormatDescription&) const { return "format"; }
  std::string operator()(const Rotate& rotate) const {
    return "rotate " + std::to_string(rotate.position);
  }
  std::string operator()(const Stop&) const { return "stop"; }
  std::string operator()(const MariaDbTransaction& transaction) const {
    return std::string("gtid") + (transaction.is_standalone ? " standalone" : "") +
           (transaction.is_transactional ? " transactional" : "") +
           (transaction.is_ddl ? " ddl" : "") + (transaction.prepares_xa ? " prepares" : "") +
           (transaction.completes_xa ? " completes" : "") +
           (transaction.xid ? " " + printed(*transaction.xid) : "");
  }
  std::string operator()(const MySqlTransaction& transaction) const {
    MySqlGtidSet set;
    EXPECT_TRUE(transaction.is_anonymous || set.add(transaction.gtid));
    return "gtid " + set.to_string();
  }
  std::string operator()(const PreviousGtids&) const { return "previous"; }
  std::string operator()(const TableMap& map) const { return "map " + std::string(map.table); }
  std::string operator()(const Rows& rows) const {
    constexpr const char* kKinds[] = {"write", "update", "erase"};
    return kKinds[static_cast<std::size_t>(rows.kind)] +
           std::string(rows.is_partial ? " partial" : "") + (rows.ends_statement ? "" : " more");
  }
  std::string operator()(const Query& query) const {
    const QueryVerdict verdict = judge_query(query.text);
    return name_of(verdict.kind) + (verdict.xid ? " " + printed(*verdict.xid) : "");
  }
  std::string operator()(const Commit&) const { return "commit"; }
  std::string operator()(const XaPrepare& prepare) const {
    return "prepare " + printed(prepare.xid) + (prepare.is_one_phase ? " one phase" : "");
  }
  std::string operator()(const Heartbeat&) const { return "heartbeat"; }
  std::string operator()(const Incident&) const { return "incident"; }
  std::string operator()(const TransactionPayload&) const { return "payload"; }
  std::string operator()(const Ignorable&) const { return ""; }
  std::string operator()(const Unknown&) const { return "unknown"; }
};

inline std::vector<std::string> transcript(const std::vector<std::string>& events) {
  EventDecoder decoder;
  std::vector<std::string> lines;
  for (const std::string& bytes : events) {
    const auto event = decoder.decode(bytes);
    EXPECT_TRUE(event) << describe(event.error());
    const std::string line = event ? std::visit(Printer{}, event->body) : "error";
    if (!line.empty()) {
      lines.push_back(line);
    }
  }
  return lines;
}

}  // namespace cuckooguard::binlog
