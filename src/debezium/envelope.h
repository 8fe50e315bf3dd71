// What a message's value is made of, before anything is made of it.
//
// Threads: one. Lifetimes: views of the Document. Errors: a Trouble, or sentences.
#pragma once

#include <cstddef>
#include <expected>
#include <string>
#include <string_view>

#include "debezium/json_document.h"
#include "debezium/message.h"
#include "debezium/position.h"

namespace cuckooguard::debezium {

// What is asked of a `source` block, as it stands there. A member that is null, or not there, is
// empty.
struct Source {
  std::string_view connector, server, database, schema, table, snapshot, gtid, ts_ms;
  SourceFields fields;
};

struct Envelope {
  std::string_view schema{};  // its JSON; empty: there is none
  Document::Index schema_place = 0;
  bool is_null = false;     // {"schema":null,"payload":null}
  bool has_others = false;  // `before`, and members that no message of a connector has
  bool has_op = false;
  bool has_source = false;   // and it is an object
  bool has_changes = false;  // tableChanges, of a schema change
  bool has_ddl = false;
  bool has_collections = false;  // data_collections, of a transaction
  bool has_specversion = false;  // of a CloudEvent
  bool has_notice = false;       // a member that only notifications have
  bool has_details = false;      // additional_data
  Json op{}, ts_ms{}, status{}, id{}, event_count{}, aggregate_type{}, type{}, timestamp{};
  std::string_view message_prefix{};
  bool has_message = false;
  bool has_after = false;
  bool has_row = false;  // and it is an object
  Document::Index row = 0;
  Source source{};
  Notification notification{};  // additional_data
};

// Told of `after` as it is found: before `source`, which says whose row it is.
class RowListener {
 public:
  RowListener() = default;
  RowListener(const RowListener&) = delete;
  RowListener& operator=(const RowListener&) = delete;
  virtual ~RowListener() = default;
  // True: it has read the row, and `row` is behind it.
  virtual bool found(const Envelope& so_far, Document::Index& row) = 0;
};

// Of the document's root.
Trouble read_envelope(Document& document, RowListener& listener, Envelope& envelope);

// What a message looks like, for words about one that is not understood: its op, connector and
// table, and the names of its members, without any value.
//
//   op u of mysql, inventory.customers; key {id}; value {before {id,name},after {id,name},op}
//
// A row without an envelope has its columns at the top. Names deeper in a row, as of a map, may be
// values, and are left out. At most kShapeBytesMax bytes, which end with ... if there is more.
inline constexpr std::size_t kShapeBytesMax = 600;
std::string shape_of(const Message& message);

std::expected<Op, std::string> op_of(const Envelope& envelope);
// Of one whose op is that.
Notification notification_of(const Envelope& envelope);
std::expected<Snapshot, std::string> snapshot_of(std::string_view text);

}  // namespace cuckooguard::debezium
