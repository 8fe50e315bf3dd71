#include "debezium/envelope.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <utility>

#include "debezium/decoder.h"
#include "text/ascii.h"
#include "text/printable.h"

namespace cuckooguard::debezium {
namespace {

constexpr Trouble kTwice = "a message has a member twice";

std::string_view* slot_of_c(Source& source, Name name) {
  return is(name, "connector")    ? &source.connector
         : is(name, "commit_lsn") ? &source.fields.commit_lsn
         : is(name, "change_lsn") ? &source.fields.change_lsn
         : is(name, "commit_scn") ? &source.fields.commit_scn
                                  : nullptr;
}

std::string_view* slot_of_s(Source& source, Name name) {
  return is(name, "snapshot")   ? &source.snapshot
         : is(name, "schema")   ? &source.schema
         : is(name, "sequence") ? &source.fields.sequence
         : is(name, "scn")      ? &source.fields.scn
         : is(name, "ssn")      ? &source.fields.ssn
                                : nullptr;
}

// Where the text of a member of `source` goes; null: it is not asked for.
std::string_view* slot_of(Source& source, Name name) {
  const auto one = [name](const auto& expected, std::string_view& slot) {
    return is(name, expected) ? &slot : nullptr;
  };
  SourceFields& fields = source.fields;
  switch (name[0]) {
    case 'c':
      return slot_of_c(source, name);
    case 'd':
      return one("db", source.database);
    case 'e':
      return one("event_serial_no", fields.event_serial_no);
    case 'f':
      return one("file", fields.file);
    case 'g':
      return one("gtid", source.gtid);
    case 'l':
      return one("lsn", fields.lsn);
    case 'n':
      return one("name", source.server);
    case 'p':
      return one("pos", fields.pos);
    case 'r':
      return is(name, "row") ? &fields.row : one("rs_id", fields.rs_id);
    case 's':
      return slot_of_s(source, name);
    case 't':
      return is(name, "table") ? &source.table : one("ts_ms", source.ts_ms);
    default:
      return nullptr;
  }
}

// The same of a notification's additional_data.
std::string_view* slot_of(Notification& notification, Name name) {
  const bool is_collection =
      is(name, "scanned_collection") || is(name, "current_collection_in_progress");
  return is_collection                  ? &notification.collection
         : is(name, "connector_name")   ? &notification.connector
         : is(name, "data_collections") ? &notification.collections
         : is(name, "status")           ? &notification.status
                                        : nullptr;
}

constexpr Trouble kUnwrapped =
    "a message has no envelope (op, source, before, after): remove the transform "
    "ExtractNewRecordState (`unwrap`), which leaves out what an exact filter needs";

// Reads one value.
class Reader {
 public:
  Reader(Document& document, RowListener& listener, Envelope& envelope)
      : document_(document), listener_(listener), envelope_(envelope) {}

  Trouble read(Document::Index place);

 private:
  Trouble read_member(Name name, Document::Index& value);
  Trouble read_member_of_a(Name name, Document::Index& value);
  Trouble read_member_of_s(Name name, Document::Index& value);
  Trouble read_member_of_t(Name name, Document::Index value);
  Trouble read_source(Document::Index& value);
  Trouble read_row(Document::Index& value);
  Trouble read_message(Document::Index value);
  Trouble read_details(Document::Index& value);
  Trouble read_once(Document::Index value, Json& json) {
    return json.text.data() != nullptr ? kTwice : document_.read(value, json);
  }
  static Trouble note(bool& is_there) {
    is_there = true;
    return nullptr;
  }

  Document& document_;
  RowListener& listener_;
  Envelope& envelope_;
};

Trouble Reader::read_source(Document::Index& value) {
  if (envelope_.has_source) {
    return kTwice;
  }
  if (document_.at(value) != '{') {
    return note(envelope_.has_others);
  }
  envelope_.has_source = true;
  Source& source = envelope_.source;
  const Trouble trouble = document_.for_each_member(value, [&](Name name, Document::Index& member) {
    std::string_view* const slot = slot_of(source, name);
    if (slot == nullptr) {
      return Trouble();
    }
    if (slot->data() != nullptr) {
      return "a message's source block has a member twice";
    }
    return document_.read_text(member, *slot);
  });
  source.fields.database = source.database;
  return trouble;
}

Trouble Reader::read_message(Document::Index value) {
  envelope_.has_message = true;
  if (document_.at(value) != '{') {
    return nullptr;
  }
  return document_.for_each_member(value, [this](Name name, Document::Index& member) {
    Json json;
    if (!is(name, "prefix")) {
      return Trouble();
    }
    const Trouble trouble = document_.read(member, json);
    envelope_.message_prefix = json.text;
    return trouble;
  });
}

Trouble Reader::read_member_of_a(Name name, Document::Index& value) {
  if (is(name, "after")) {
    return read_row(value);
  }
  if (is(name, "aggregate_type")) {
    envelope_.has_notice = true;
    return read_once(value, envelope_.aggregate_type);
  }
  return is(name, "additional_data") ? read_details(value) : note(envelope_.has_others);
}

Trouble Reader::read_details(Document::Index& value) {
  if (envelope_.has_details) {
    return kTwice;
  }
  envelope_.has_details = envelope_.has_notice = true;
  if (document_.at(value) != '{') {
    return document_.at(value) == 'n' ? nullptr : note(envelope_.has_others);
  }
  std::string_view rows;
  const Trouble trouble = document_.for_each_member(value, [&](Name name, Document::Index& member) {
    std::string_view* const slot =
        is(name, "total_rows_scanned") ? &rows : slot_of(envelope_.notification, name);
    if (slot == nullptr) {
      return Trouble();
    }
    return slot->data() != nullptr ? "a notification has a member twice"
                                   : document_.read_text(member, *slot);
  });
  envelope_.notification.rows = number_in(rows);
  return trouble;
}

Trouble Reader::read_row(Document::Index& value) {
  if (envelope_.has_after) {
    return kTwice;
  }
  envelope_.has_after = true;
  envelope_.has_row = document_.at(value) == '{';
  envelope_.row = value;
  Document::Index behind = value;
  if (envelope_.has_row && listener_.found(envelope_, behind)) {
    value = behind;
  }
  return nullptr;
}

Trouble Reader::read_member_of_s(Name name, Document::Index& value) {
  if (is(name, "source")) {
    return read_source(value);
  }
  if (is(name, "status")) {
    return read_once(value, envelope_.status);
  }
  return note(is(name, "specversion") ? envelope_.has_specversion : envelope_.has_others);
}

Trouble Reader::read_member_of_t(Name name, Document::Index value) {
  if (is(name, "ts_ms")) {
    return read_once(value, envelope_.ts_ms);
  }
  if (is(name, "ts_us") || is(name, "ts_ns") || is(name, "transaction")) {
    return nullptr;
  }
  if (is(name, "type") || is(name, "timestamp")) {
    envelope_.has_notice = true;
    return read_once(value, is(name, "type") ? envelope_.type : envelope_.timestamp);
  }
  return note(is(name, "tableChanges") ? envelope_.has_changes : envelope_.has_others);
}

Trouble Reader::read_member(Name name, Document::Index& value) {
  switch (name[0]) {
    case 'a':
      return read_member_of_a(name, value);
    case 's':
      return read_member_of_s(name, value);
    case 'o':
      if (is(name, "op")) {
        envelope_.has_op = true;
        return read_once(value, envelope_.op);
      }
      break;
    case 't':
      return read_member_of_t(name, value);
    case 'd':
      return note(is(name, "data_collections") ? envelope_.has_collections
                  : is(name, "ddl")            ? envelope_.has_ddl
                                               : envelope_.has_others);
    case 'e':
      if (is(name, "event_count")) {
        return read_once(value, envelope_.event_count);
      }
      break;
    case 'i':
      if (is(name, "id")) {
        return read_once(value, envelope_.id);
      }
      break;
    case 'm':
      if (is(name, "message")) {
        return read_message(value);
      }
      break;
    default:
      break;
  }
  return note(envelope_.has_others);
}

Trouble Reader::read(Document::Index place) {
  const Trouble trouble =
      document_.for_each_member(place, [this](Name name, Document::Index& value) {
        if (is(name, "schema")) {
          envelope_.schema_place = value;
          return document_.at(value) == '{' ? document_.read_raw(value, envelope_.schema) : nullptr;
        }
        if (!is(name, "payload")) {
          return read_member(name, value);
        }
        if (document_.at(value) != '{') {
          return document_.at(value) == 'n' ? note(envelope_.is_null) : kUnwrapped;
        }
        return document_.for_each_member(value, [this](Name member, Document::Index& inner) {
          return read_member(member, inner);
        });
      });
  return trouble != nullptr || document_.is_end(place) ? trouble : kMalformed;
}

constexpr std::string_view kIncremental = "Incremental Snapshot";

// Whatever else has such members may be a row.
bool is_notification(const Envelope& envelope) {
  const std::string_view about = envelope.aggregate_type.text;
  return (about == "Initial Snapshot" || about == kIncremental) && envelope.has_details &&
         envelope.type.kind == Json::Kind::string && envelope.id.kind == Json::Kind::string &&
         !envelope.has_others;
}

std::expected<Op, std::string> op_named(std::string_view text) {
  constexpr std::array<std::pair<char, Op>, 6> kNames = {{
      {'c', Op::create},
      {'r', Op::read},
      {'u', Op::update},
      {'d', Op::remove},
      {'t', Op::truncate},
      {'m', Op::message},
  }};
  for (const auto& [name, op] : kNames) {
    if (text.size() == 1 && text.front() == name) {
      return op;
    }
  }
  return std::unexpected("a message has the op " +
                         (text.size() == 1 ? text::printable(text) : "of another length") +
                         ", which is not known");
}

// Names of a message's members, and of those that only connectors write the values.
class Shape {
 public:
  explicit Shape(const Message& message) {
    add_part("key", message.key, [](Document&) {});
    add_part("value", message.value, [this](Document& value) { add_facts(value); });
    shape_.insert(0, facts_);
    if (shape_.size() > kShapeBytesMax) {
      shape_.resize(kShapeBytesMax - kMore.size());
      shape_ += kMore;
    }
  }

  std::string take() { return std::move(shape_); }

 private:
  enum class Level : std::uint8_t { top, payload, row };
  static constexpr std::string_view kMore = "...";

  struct NoListener final : RowListener {
    bool found(const Envelope& /*so_far*/, Document::Index& /*row*/) override { return false; }
  };

  template <class AddFacts>
  void add_part(std::string_view what,
                std::optional<std::string_view> text,
                const AddFacts& add_facts) {
    shape_.append(shape_.empty() ? "" : "; ").append(text ? "" : "no ").append(what);
    if (!text) {
      return;
    }
    Document document;
    if (text->size() > kMessageBytesMax || document.open(*text) != nullptr ||
        document.at(0) != '{') {
      shape_ += " of " + std::to_string(text->size()) + " bytes, not a JSON object";
      return;
    }
    add_facts(document);
    shape_ += ' ';
    Document::Index root = 0;
    add_members(document, root, Level::top);
  }

  void add_facts(Document& value) {
    Envelope envelope;
    NoListener nobody;
    read_envelope(value, nobody, envelope);
    has_op_ = envelope.has_op;
    const Source& source = envelope.source;
    if (!connector_named(source.connector)) {
      return;
    }
    const auto op = op_named(envelope.op.text);
    facts_ = (op ? "op " + std::string(envelope.op.text) : "no known op") + " of " +
             std::string(source.connector);
    std::string_view separator = ", ";
    for (const std::string_view name : {source.database, source.schema, source.table}) {
      if (!name.empty()) {
        facts_.append(separator).append(plain(name));
        separator = ".";
      }
    }
    facts_ += "; ";
  }

  Trouble add_members(Document& document, Document::Index& object, Level level) {
    shape_ += '{';
    bool has_schema = false;
    const Trouble trouble =
        document.for_each_member(object, [&](Name name, Document::Index& value) {
          shape_.append(shape_.back() == '{' ? "" : ",").append(plain(document.text_of(name)));
          has_schema = has_schema || is(name, "schema");
          const bool is_row = level != Level::row && has_op_ &&
                              (is(name, "before") || is(name, "after") || is(name, "source"));
          const bool is_payload = level == Level::top && has_schema && is(name, "payload");
          if (shape_.size() > kShapeBytesMax) {
            return kMalformed;  // no matter which: the walk ends
          }
          if ((!is_row && !is_payload) || document.at(value) != '{') {
            return Trouble();
          }
          shape_ += ' ';
          return add_members(document, value, is_row ? Level::row : Level::payload);
        });
    shape_ += trouble == nullptr ? "}" : kMore;
    return trouble;
  }

  static std::string plain(std::string_view name) {
    const bool is_plain =
        name.size() <= text::kPrintableBytesMax &&
        std::ranges::all_of(name, [](char c) { return text::is_alphanumeric(c) || c == '_'; });
    return is_plain ? std::string(name) : text::printable(name);
  }

  std::string facts_;
  std::string shape_;
  bool has_op_ = false;
};

}  // namespace

std::string shape_of(const Message& message) {
  return Shape(message).take();
}

Trouble read_envelope(Document& document, RowListener& listener, Envelope& envelope) {
  return Reader(document, listener, envelope).read(0);
}

std::expected<Op, std::string> op_of(const Envelope& envelope) {
  if (envelope.has_op && envelope.has_source) {
    return op_named(envelope.op.text);
  }
  if (envelope.has_specversion) {
    return std::unexpected("a message is a CloudEvent: set debezium.format.value=json");
  }
  if (envelope.has_changes || (envelope.has_ddl && envelope.has_source)) {
    return Op::schema_change;
  }
  const bool has_id = envelope.id.text.data() != nullptr;
  const bool has_status = envelope.status.text.data() != nullptr;
  if (has_status && has_id && envelope.has_collections) {
    return Op::transaction;
  }
  if (is_notification(envelope)) {
    return Op::notification;
  }
  const bool has_more = envelope.has_op || envelope.has_source || envelope.has_after ||
                        envelope.has_message || has_status || has_id || envelope.has_ddl ||
                        envelope.has_notice || envelope.has_others;
  if (envelope.ts_ms.kind == Json::Kind::number && !has_more) {
    return Op::heartbeat;
  }
  return std::unexpected(kUnwrapped);
}

Notification notification_of(const Envelope& envelope) {
  using Type = Notification::Type;
  constexpr std::array<std::pair<std::string_view, Type>, 6> kTypes = {{
      {"STARTED", Type::started},
      {"IN_PROGRESS", Type::in_progress},
      {"TABLE_SCAN_COMPLETED", Type::table_scan_completed},
      {"COMPLETED", Type::completed},
      {"ABORTED", Type::aborted},
      {"SKIPPED", Type::skipped},
  }};
  Notification notification = envelope.notification;
  for (const auto& [name, type] : kTypes) {
    notification.type = name == envelope.type.text ? type : notification.type;
  }
  notification.is_incremental = envelope.aggregate_type.text == kIncremental;
  notification.id = envelope.id.text;
  notification.ms = envelope.timestamp.text;
  return notification;
}

std::expected<Snapshot, std::string> snapshot_of(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, Snapshot>, 8> kNames = {{
      {"false", Snapshot::no},
      {"", Snapshot::no},
      {"true", Snapshot::within},
      {"first", Snapshot::first},
      {"first_in_data_collection", Snapshot::first_of_table},
      {"last_in_data_collection", Snapshot::last_of_table},
      {"last", Snapshot::last},
      {"incremental", Snapshot::incremental},
  }};
  for (const auto& [name, snapshot] : kNames) {
    if (name == text) {
      return snapshot;
    }
  }
  return std::unexpected("a message's source block has the snapshot " + text::printable(text) +
                         ", which is not known");
}

}  // namespace cuckooguard::debezium
