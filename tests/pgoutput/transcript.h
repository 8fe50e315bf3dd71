// What the messages of a recording say, a line for each, for tests to look at: places, times and
// numbers that differ from recording to recording left out.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "pgoutput/message.h"
#include "pgoutput/message_decoder.h"

namespace cuckooguard::pgoutput {

class Transcript {
 public:
  void take(const Message& message) { lines_.push_back(std::visit(*this, message)); }
  const std::vector<std::string>& lines() const { return lines_; }

  std::string operator()(const Begin&) const { return "begin"; }
  std::string operator()(const Commit&) const { return "commit"; }
  std::string operator()(const Origin& origin) const {
    return "origin " + std::string(origin.name) + " " + origin.commit_lsn.text();
  }
  std::string operator()(const Relation& relation) {
    const std::string name = std::string(relation.schema) + "." + std::string(relation.name);
    names_[relation.oid] = name;
    std::string line =
        "relation " + name + " " + static_cast<char>(relation.replica_identity) + ":";
    for (const RelationColumn& column : relation.columns) {
      constexpr Oid kFirstOfUsers = 16384;
      line += " " + std::string(column.name) + (column.is_key ? "*" : "") + "/";
      line += column.type < kFirstOfUsers ? std::to_string(column.type) : names_[column.type];
      line += column.type_modifier < 0 ? "" : "/" + std::to_string(column.type_modifier);
    }
    return line;
  }
  std::string operator()(const Type& type) {
    names_[type.oid] = std::string(type.schema) + "." + std::string(type.name);
    return "type " + names_[type.oid];
  }
  std::string operator()(const Insert& insert) {
    return "insert " + names_[insert.relation] + printed(insert.row);
  }
  std::string operator()(const Update& update) {
    return "update " + names_[update.relation] + printed(update.old_row_is, update.old_row) +
           " ->" + printed(update.new_row);
  }
  std::string operator()(const Delete& erased) {
    return "delete " + names_[erased.relation] + printed(erased.old_row_is, erased.old_row);
  }
  std::string operator()(const Truncate& truncate) {
    std::string line = "truncate";
    for (std::size_t i = 0; i < truncate.relations.size(); ++i) {
      line += " " + names_[truncate.relations[i]];
    }
    return line + (truncate.cascades ? " cascade" : "") +
           (truncate.restarts_sequences ? " restart" : "");
  }
  std::string operator()(const LogicalMessage& message) const {
    return std::string("message ") + (message.is_transactional ? "transactional " : "") +
           std::string(message.prefix) + ": " + std::string(message.content);
  }
  std::string operator()(const BeginPrepare& begin) const {
    return "begin prepare " + std::string(begin.gid);
  }
  std::string operator()(const Prepare& prepare) const {
    return "prepare " + std::string(prepare.gid);
  }
  std::string operator()(const CommitPrepared& commit) const {
    return "commit prepared " + std::string(commit.gid);
  }
  std::string operator()(const RollbackPrepared& rollback) const {
    return "rollback prepared " + std::string(rollback.gid);
  }

 private:
  // Long values by their length, binary ones in decimal.
  static std::string printed(Row row) {
    constexpr std::size_t kLong = 40;
    std::string line;
    for (const Value& value : row) {
      line += " ";
      if (value.state == Value::State::null || value.state == Value::State::unchanged) {
        line += value.state == Value::State::null ? "null" : "unchanged";
      } else if (value.state == Value::State::binary) {
        for (const char byte : value.bytes) {
          line += "." + std::to_string(static_cast<unsigned char>(byte));
        }
      } else {
        line += value.bytes.size() < kLong ? "'" + std::string(value.bytes) + "'"
                                           : "(" + std::to_string(value.bytes.size()) + ")";
      }
    }
    return line;
  }
  static std::string printed(OldRow is, Row row) {
    return is == OldRow::none ? "" : (is == OldRow::key ? " key" : " row") + printed(row);
  }

  std::map<Oid, std::string> names_;
  std::vector<std::string> lines_;
};

// Keepalives left out.
inline std::vector<std::string> transcript(const std::vector<std::string>& messages) {
  Transcript transcript;
  MessageDecoder decoder;
  for (const std::string& bytes : messages) {
    const auto outer = decode_replication_message(bytes);
    EXPECT_TRUE(outer);
    if (!outer || std::holds_alternative<PrimaryKeepalive>(*outer)) {
      continue;
    }
    const auto message = decoder.decode(std::get<WalMessage>(*outer).payload);
    if (!message) {
      ADD_FAILURE() << describe(message.error());
      continue;
    }
    transcript.take(*message);
  }
  return transcript.lines();
}

}  // namespace cuckooguard::pgoutput
