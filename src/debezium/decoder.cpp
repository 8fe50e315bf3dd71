#include "debezium/decoder.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <stdexcept>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "debezium/connect_schema.h"
#include "debezium/envelope.h"
#include "debezium/json_document.h"
#include "debezium/value_text.h"
#include "text/number.h"
#include "text/printable.h"
#include "text/try.h"
#include "text/words.h"

namespace cuckooguard::debezium {
namespace {

constexpr std::string_view kBlanks = " \t\r\n";

template <typename T>
using Result = std::expected<T, std::string>;

// Connectors write none.
std::string_view without_blanks(std::string_view text) {
  return text.starts_with('{') && text.ends_with('}') ? text : text::trimmed(text, kBlanks);
}

bool is_of_rows(Op op) {
  return op == Op::create || op == Op::read || op == Op::update || op == Op::remove;
}

// A text that is no JSON object: what it may be.
const char* other_format(std::string_view text) {
  if (text.starts_with('\0')) {
    return "a message is in Avro, Protobuf or JSON Schema of a schema registry: use the JSON "
           "converter (org.apache.kafka.connect.json.JsonConverter; in Debezium Server "
           "debezium.format.key=json and debezium.format.value=json)";
  }
  return "a message is not a JSON object: use the JSON converter, and the connector's own messages";
}

std::string base64_of(std::string_view bytes) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::string_view three = bytes.substr(i, 3);
    std::uint32_t group = 0;
    for (std::size_t j = 0; j < 3; ++j) {
      group = group << 8 | (j < three.size() ? static_cast<unsigned char>(three[j]) : 0U);
    }
    for (std::size_t j = 0; j < 4; ++j) {
      text += j > three.size() ? '=' : kDigits[group >> (18 - 6 * j) & 63U];
    }
  }
  return text;
}

// As Java's JSON library writes it, with the quote that ends it.
std::string name_in_json(std::string_view name) {
  constexpr std::string_view kEscaped = "\b\f\n\r\t\"\\";
  constexpr std::string_view kLetters = "bfnrt\"\\";
  std::string text;
  for (const char c : name) {
    const std::size_t letter = kEscaped.find(c);
    if (letter != std::string_view::npos) {
      text.append({'\\', kLetters[letter]});
    } else if (static_cast<unsigned char>(c) < ' ') {
      text += fmt::format("\\u{:04X}", c);
    } else {
      text += c;
    }
  }
  return text + '"';
}

}  // namespace

class Decoder::Parts : private RowListener {
 public:
  explicit Parts(Wanted wanted);
  // `change` is a tombstone, until it is known what it is.
  Result<void> decode(const Message& message, Change& change);

 private:
  // How the values of a table's rows are read, with the schema that this comes from.
  struct Plan {
    bool is_kept = false;
    Connector connector = Connector::mysql;
    std::string schema{};
    ColumnPlans columns{};
  };
  struct TableParts {
    std::vector<std::string> names{};  // name_in_json()
    Plan plan{};
  };
  struct NameHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>{}(text);
    }
  };

  bool found(const Envelope& so_far, Document::Index& row) override;

  Result<void> read_change(Envelope& envelope, Change& change);
  Result<void> read_place(Source& source, Change& change);
  // A key without its schema, if it has one.
  Result<std::string_view> payload_of(std::string_view key);
  Result<void> make_plan(std::size_t table, const Envelope& envelope);
  // By the table's plan. `row` is then behind the row.
  Result<void> read_row(Document::Index& row, std::size_t table);
  Trouble read_value(Document::Index place, std::size_t table, std::size_t column);
  std::optional<std::size_t> find(const TableName& name) const;
  bool matches(const Table& table, const TableName& name) const;

  Wanted wanted_;
  std::string unavailable_bytes_;  // in base64
  std::unordered_multimap<std::string, std::size_t, NameHash, std::equal_to<>> tables_;
  std::vector<TableParts> parts_;
  Document value_;
  Document key_;
  std::vector<Value> after_;
  std::vector<std::string> made_;  // texts of it that are not the message's bytes
  bool is_after_read_ = false;
  Origin origin_;
  // Whose row the next one probably is, as the last one's: rows are then read as they are found.
  std::optional<std::size_t> expected_;
  std::string why_;  // the words of a Trouble that is empty
};

Decoder::Parts::Parts(Wanted wanted)
    : wanted_(std::move(wanted)),
      unavailable_bytes_(base64_of(wanted_.unavailable)),
      parts_(wanted_.tables.size()) {
  std::size_t columns = 0;
  for (std::size_t i = 0; i < wanted_.tables.size(); ++i) {
    const Table& table = wanted_.tables[i];
    tables_.emplace(table.name, i);
    for (const Column& column : table.columns) {
      parts_[i].names.push_back(name_in_json(column.name));
    }
    columns = std::max(columns, table.columns.size());
  }
  if (wanted_.tables.size() > kTablesMax || columns > kColumnsMax) {
    throw std::invalid_argument("more tables or columns than a decoder of Debezium's may have");
  }
  after_.resize(columns);
  made_.resize(columns);
}

Result<void> Decoder::Parts::decode(const Message& message, Change& change) {
  const std::string_view key = without_blanks(message.key.value_or(""));
  const std::string_view value = without_blanks(message.value.value_or(""));
  if (key.size() + value.size() > kMessageBytesMax) {
    return std::unexpected("a message is larger than 16 MiB");
  }
  if (message.value) {
    if (!value.starts_with('{')) {
      return std::unexpected(other_format(value));
    }
    Envelope envelope;
    is_after_read_ = false;
    Trouble trouble = value_.open(value);
    trouble = trouble != nullptr ? trouble : read_envelope(value_, *this, envelope);
    if (trouble != nullptr) {
      return std::unexpected(trouble);
    }
    if (!envelope.is_null) {
      TRY(read_change(envelope, change));
    }
  }
  if (is_of_rows(change.op) || change.op == Op::tombstone) {
    change.key_json = TRY(payload_of(key));
  }
  return {};
}

bool Decoder::Parts::found(const Envelope& so_far, Document::Index& row) {
  // What is wrong is said when it is known whose row it is.
  is_after_read_ = expected_ && make_plan(*expected_, so_far) && read_row(row, *expected_);
  return is_after_read_;
}

Result<void> Decoder::Parts::read_change(Envelope& envelope, Change& change) {
  change.op = TRY(op_of(envelope));
  change.connector_ms = envelope.ts_ms.text;
  if (change.op == Op::transaction) {
    change.transaction = {
        .is_end = envelope.status.text == "END",
        .id = envelope.id.text,
        .events = text::leading_number(std::optional<std::string_view>(envelope.event_count.text))};
    return {};
  }
  if (change.op == Op::notification) {
    change.notification = notification_of(envelope);
  }
  if (!envelope.has_source) {
    return {};
  }
  Source& source = envelope.source;
  change.name = {.database = source.database, .schema = source.schema, .table = source.table};
  change.gtid = source.gtid;
  change.source_ms = source.ts_ms;
  change.message_prefix = envelope.message_prefix;
  if (is_of_rows(change.op) || change.op == Op::truncate) {
    change.table = find(change.name);
  }
  const Connector connector = origin_.connector;
  TRY(read_place(source, change));
  if (!is_of_rows(change.op) || !change.table) {
    return {};
  }
  if (expected_ != change.table || origin_.connector != connector) {
    expected_ = change.table;
    is_after_read_ = false;
  }
  if (change.op == Op::remove) {
    return {};
  }
  if (!envelope.has_row) {
    return std::unexpected("a message of a row that exists has no `after`");
  }
  if (!is_after_read_) {
    TRY(make_plan(*change.table, envelope));
    TRY(read_row(envelope.row, *change.table));
  }
  change.after = Row(after_).first(wanted_.tables[*change.table].columns.size());
  return {};
}

Result<void> Decoder::Parts::read_place(Source& source, Change& change) {
  const auto connector = connector_named(source.connector);
  if (!connector) {
    return std::unexpected("the connector is " + text::printable(source.connector) +
                           ", whose messages nobody has seen with this guard yet; it reads those "
                           "of mysql, mariadb, postgresql, sqlserver and oracle");
  }
  change.snapshot = TRY(snapshot_of(source.snapshot));
  source.fields.is_snapshot = change.snapshot != Snapshot::no;
  std::string_view log;
  const std::string_view missing =
      read_position(*connector, source.fields, change.position.emplace(), log);
  if (!missing.empty() && change.table) {
    return std::unexpected("a message's source block has no `" + std::string(missing) +
                           "` that is one, by which changes are ordered");
  }
  if (!missing.empty()) {
    change.position.reset();
  }
  if (source.server.empty() || source.server.size() > kNameBytesMax || log.size() > kNameBytesMax) {
    return std::unexpected("a message's source block has no name, or one of more than 1,024 bytes");
  }
  if (origin_.connector != *connector || origin_.server != source.server || origin_.log != log) {
    origin_ = {
        .connector = *connector, .server = std::string(source.server), .log = std::string(log)};
  }
  change.origin = &origin_;
  if (!change.table && change.op != Op::schema_change && change.op != Op::message) {
    change.op = Op::other_table;
  }
  return {};
}

Result<std::string_view> Decoder::Parts::payload_of(std::string_view key) {
  if (!key.empty() && !key.starts_with('{')) {
    return std::unexpected(other_format(key));
  }
  if (key.empty() || !text::trimmed(key.substr(1), kBlanks).starts_with("\"schema\"")) {
    return key;
  }
  if (const Trouble trouble = key_.open(key)) {
    return std::unexpected(trouble);
  }
  std::string_view payload;
  std::size_t members = 0;
  bool may_have_schema = false;
  Document::Index end = 0;
  const Trouble trouble = key_.for_each_member(end, [&](Name name, Document::Index value) {
    ++members;
    const char first = key_.at(value);
    may_have_schema = may_have_schema || (is(name, "schema") && (first == '{' || first == 'n'));
    return is(name, "payload") && first == '{' ? key_.read_raw(value, payload) : nullptr;
  });
  if (trouble != nullptr || !key_.is_end(end)) {
    return std::unexpected(trouble != nullptr ? trouble : kMalformed);
  }
  // Of a table with columns of such names it is the row.
  return members == 2 && may_have_schema && !payload.empty() ? payload : key;
}

Result<void> Decoder::Parts::make_plan(std::size_t table, const Envelope& envelope) {
  const Connector connector = origin_.connector;
  Plan& plan = parts_[table].plan;
  if (plan.is_kept && plan.connector == connector && plan.schema == envelope.schema) {
    return {};
  }
  const std::vector<Column>& columns = wanted_.tables[table].columns;
  plan = Plan{.connector = connector};
  if (envelope.schema.empty()) {
    plan.columns = plans_without_schema(columns, connector);
  } else {
    plan.columns = TRY(plans_of(value_, envelope.schema_place, columns, connector));
  }
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (const auto& why = plan.columns[i].refused) {
      return std::unexpected("column " + columns[i].name + *why);
    }
  }
  if (envelope.schema.size() <= kSchemaBytesKept) {
    plan.schema = envelope.schema;
    plan.is_kept = true;
  }
  return {};
}

Result<void> Decoder::Parts::read_row(Document::Index& row, std::size_t table) {
  const std::vector<std::string>& names = parts_[table].names;
  std::fill_n(after_.begin(), names.size(), Value{});
  const Trouble trouble = value_.for_each_member(row, [&](Name name, Document::Index value) {
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (*name == names[i].front() && names[i].size() <= value_.left(name) &&
          std::memcmp(name, names[i].data(), names[i].size()) == 0) {
        return after_[i].state == Value::State::missing ? read_value(value, table, i)
                                                        : "a row has a column twice";
      }
    }
    return Trouble();
  });
  if (trouble != nullptr) {
    return std::unexpected(*trouble == '\0' ? std::exchange(why_, {}) : std::string(trouble));
  }
  return {};
}

Trouble Decoder::Parts::read_value(Document::Index place, std::size_t table, std::size_t column) {
  Json json;
  if (const Trouble trouble = value_.read(place, json)) {
    return trouble;
  }
  const ColumnPlan& plan = parts_[table].plan.columns[column];
  Value& into = after_[column];
  if (json.kind == Json::Kind::null) {
    into.state = Value::State::null;
    return nullptr;
  }
  if (json.kind == Json::Kind::string &&
      (json.text == wanted_.unavailable || json.text == unavailable_bytes_)) {
    into.state = Value::State::unavailable;
    return nullptr;
  }
  if (json.kind == Json::Kind::object && plan.type.encoding == Encoding::variable_decimal) {
    const Trouble trouble = value_.for_each_member(place, [&](Name name, Document::Index& inner) {
      Json member;
      const Trouble wrong = value_.read(inner, member);
      if (is(name, "scale")) {
        json.scale = text::number_of<std::int32_t>(member.text).value_or(kScaleMax + 1);
      } else if (is(name, "value")) {
        json.text = member.text;
      }
      return wrong;
    });
    if (trouble != nullptr) {
      return trouble;
    }
  }
  const Column& wanted = wanted_.tables[table].columns[column];
  auto text = text_of(json, wanted, plan.type, plan.connector, made_[column]);
  if (!text) {
    why_ = "column " + wanted.name + std::move(text).error();
    return "";
  }
  into = {.state = Value::State::text, .text = *text};
  return nullptr;
}

bool Decoder::Parts::matches(const Table& table, const TableName& name) const {
  return table.name == name.table && (table.schema.empty() || table.schema == name.schema) &&
         (table.database.empty() || table.database == name.database);
}

std::optional<std::size_t> Decoder::Parts::find(const TableName& name) const {
  if (expected_ && matches(wanted_.tables[*expected_], name)) {
    return expected_;
  }
  const auto [begin, end] = tables_.equal_range(name.table);
  for (auto each = begin; each != end; ++each) {
    if (matches(wanted_.tables[each->second], name)) {
      return each->second;
    }
  }
  return std::nullopt;
}

Decoder::Decoder(Wanted wanted) : parts_(std::make_unique<Parts>(std::move(wanted))) {}
Decoder::~Decoder() = default;
Decoder::Decoder(Decoder&&) noexcept = default;
Decoder& Decoder::operator=(Decoder&&) noexcept = default;

std::expected<Change, Refusal> Decoder::decode(const Message& message) {
  std::expected<Change, Refusal> result(Change{.op = Op::tombstone});
  if (auto read = parts_->decode(message, *result); !read) {
    result = std::unexpected(Refusal{.what = std::move(read).error(), .table = result->table});
  }
  return result;
}

}  // namespace cuckooguard::debezium
