#include "binlog/event_bodies.h"

#include <algorithm>
#include <utility>

#include "binlog/byte_cursor.h"

namespace cuckooguard::binlog {

namespace {

constexpr std::uint16_t kBinlogVersion = 4;
constexpr std::size_t kCreatedBytes = 4;
constexpr std::size_t kServerVersionBytes = 50;
// MySQL has 42 types; MariaDB's own begin at 160, and it always gives the lengths of all.
constexpr std::size_t kFirstMariaDbType = 160;

constexpr std::uint16_t kStatementEnd = 0x01;

template <typename T>
BodyResult finished(const ByteCursor& cursor, T body) {
  if (!cursor.ok()) {
    return std::unexpected(DecodeError::truncated);
  }
  if (cursor.left() != 0) {
    return std::unexpected(DecodeError::trailing_bytes);
  }
  return EventBody(std::move(body));
}

// The layouts that this decoder knows are those with these post-header lengths.
bool lengths_are_known(std::string_view lengths) {
  struct Known {
    EventType type;
    unsigned char length;
    bool may_be_zero = false;  // MySQL 9 does not write it any more
  };
  constexpr Known kKnown[] = {
      {.type = EventType::query, .length = 13},
      {.type = EventType::rotate, .length = 8},
      {.type = EventType::table_map, .length = 8},
      {.type = EventType::write_rows_v1, .length = 8, .may_be_zero = true},
      {.type = EventType::update_rows_v1, .length = 8, .may_be_zero = true},
      {.type = EventType::delete_rows_v1, .length = 8, .may_be_zero = true},
      {.type = EventType::write_rows, .length = 10},
      {.type = EventType::update_rows, .length = 10},
      {.type = EventType::delete_rows, .length = 10},
  };
  return std::ranges::all_of(kKnown, [&](const Known& known) {
    const std::size_t index = static_cast<std::size_t>(known.type) - 1;
    if (index >= lengths.size()) {
      return false;
    }
    const auto length = static_cast<unsigned char>(lengths[index]);
    return length == known.length || (known.may_be_zero && length == 0);
  });
}

}  // namespace

std::expected<FormatDescription, DecodeError> read_format_description(std::string_view body) {
  ByteCursor cursor(body);
  const std::uint16_t version = cursor.u16();
  const std::string_view padded = cursor.bytes(kServerVersionBytes);
  const std::uint32_t created = cursor.u32();
  const std::uint8_t header_bytes = cursor.u8();
  std::string_view lengths = cursor.rest();
  if (!cursor.ok() || lengths.empty()) {
    return std::unexpected(DecodeError::truncated);
  }
  const auto checksum = static_cast<std::uint8_t>(lengths.back());
  lengths.remove_suffix(1);
  if (version != kBinlogVersion || header_bytes != kEventHeaderBytes || checksum > 1 ||
      !lengths_are_known(lengths)) {
    return std::unexpected(DecodeError::unsupported_format);
  }
  return FormatDescription{.server_version = padded.substr(0, padded.find('\0')),
                           .is_mariadb = lengths.size() >= kFirstMariaDbType,
                           .checksum = static_cast<ChecksumAlgorithm>(checksum),
                           .is_of_start = created != 0,
                           .post_header_lengths = lengths};
}

BodyResult read_rotate(std::string_view body) {
  ByteCursor cursor(body);
  Rotate rotate;
  rotate.position = cursor.u64();
  rotate.file = cursor.rest();
  return finished(cursor, rotate);
}

BodyResult read_table_map(std::string_view body) {
  ByteCursor cursor(body);
  TableMap map;
  map.table_id = cursor.u48();
  cursor.skip(2);  // flags
  map.body = cursor.rest();
  ByteCursor names(map.body);
  map.schema = names.length_encoded_text();
  names.skip(1);  // its NUL
  map.table = names.length_encoded_text();
  names.skip(1);
  if (!names.ok()) {
    return std::unexpected(DecodeError::truncated);
  }
  return finished(cursor, map);
}

BodyResult read_rows(RowsKind kind, RowsVersion version, std::string_view body) {
  ByteCursor cursor(body);
  Rows rows{.kind = kind, .is_partial = version == RowsVersion::partial};
  rows.table_id = cursor.u48();
  rows.ends_statement = (cursor.u16() & kStatementEnd) != 0;
  if (version != RowsVersion::v1) {
    // Of partitions, or of NDB: nothing that a row's values depend on. The length counts itself.
    const std::uint16_t extra_bytes = cursor.u16();
    if (extra_bytes < 2) {
      return std::unexpected(cursor.ok() ? DecodeError::malformed : DecodeError::truncated);
    }
    cursor.skip(extra_bytes - 2U);
  }
  rows.column_count = cursor.length_encoded();
  if (rows.column_count > kColumnsMax) {
    return std::unexpected(DecodeError::malformed);
  }
  const std::uint64_t bitmap_bytes = (rows.column_count + 7) / 8;
  if (kind != RowsKind::write) {
    rows.before_columns = cursor.bytes(bitmap_bytes);
  }
  if (kind != RowsKind::erase) {
    rows.after_columns = cursor.bytes(bitmap_bytes);
  }
  rows.images = cursor.rest();
  return finished(cursor, rows);
}

BodyResult read_query(std::string_view body) {
  ByteCursor cursor(body);
  cursor.skip(8);  // thread, execution time
  const std::uint8_t schema_bytes = cursor.u8();
  Query query;
  query.error_code = cursor.u16();
  const std::uint16_t status_bytes = cursor.u16();
  cursor.skip(status_bytes);
  query.schema = cursor.bytes(schema_bytes);
  if (cursor.u8() != 0) {
    return std::unexpected(DecodeError::malformed);
  }
  query.text = cursor.rest();
  return finished(cursor, query);
}

// A QUERY (LOAD DATA) with 13 bytes more in its post-header, about the file.
BodyResult read_execute_load_query(std::string_view body) {
  ByteCursor cursor(body);
  cursor.skip(8);
  const std::uint8_t schema_bytes = cursor.u8();
  Query query;
  query.error_code = cursor.u16();
  const std::uint16_t status_bytes = cursor.u16();
  cursor.skip(13);
  cursor.skip(status_bytes);
  query.schema = cursor.bytes(schema_bytes);
  cursor.skip(1);
  query.text = cursor.rest();
  return finished(cursor, query);
}

BodyResult read_commit(std::string_view body) {
  ByteCursor cursor(body);
  return finished(cursor, Commit{.xid = cursor.u64()});
}

BodyResult read_xa_prepare(std::string_view body) {
  ByteCursor cursor(body);
  const bool is_one_phase = cursor.u8() != 0;
  const std::uint32_t format = cursor.u32();
  const std::uint32_t global_bytes = cursor.u32();
  const std::uint32_t branch_bytes = cursor.u32();
  const std::string_view global = cursor.bytes(global_bytes);
  const std::string_view branch = cursor.bytes(branch_bytes);
  const std::optional<Xid> xid = Xid::make(format, global, branch);
  if (!xid) {
    return std::unexpected(cursor.ok() ? DecodeError::malformed : DecodeError::truncated);
  }
  return finished(cursor, XaPrepare{.xid = *xid, .is_one_phase = is_one_phase});
}

BodyResult read_heartbeat(const EventHeader& header, std::string_view body) {
  return EventBody(Heartbeat{.file = body, .position = header.next_position_low32});
}

// Fields of type, length and value, to the type 0. One that is not understood says nothing: it is a
// heartbeat all the same.
BodyResult read_heartbeat_v2(std::string_view body) {
  constexpr std::uint64_t kFile = 1;
  constexpr std::uint64_t kPosition = 2;
  ByteCursor cursor(body);
  Heartbeat heartbeat;
  for (std::uint64_t type = cursor.length_encoded(); type != 0; type = cursor.length_encoded()) {
    const std::string_view value = cursor.length_encoded_text();
    if (type == kFile) {
      heartbeat.file = value;
    } else if (type == kPosition) {
      ByteCursor number(value);
      const std::uint64_t position = number.length_encoded();
      heartbeat.position = number.at_end() ? std::optional(position) : std::nullopt;
    }
  }
  return EventBody(heartbeat);
}

BodyResult read_incident(std::string_view body) {
  ByteCursor cursor(body);
  Incident incident;
  incident.number = cursor.u16();
  const std::uint8_t message_bytes = cursor.u8();
  incident.message = cursor.bytes(message_bytes);
  return finished(cursor, incident);
}

// Fields of type, length and value, to the type 0; the payload is what is left.
BodyResult read_transaction_payload(std::string_view body) {
  constexpr std::uint64_t kPayloadBytes = 1;
  constexpr std::uint64_t kCompression = 2;
  constexpr std::uint64_t kUncompressedBytes = 3;
  ByteCursor cursor(body);
  std::optional<std::uint64_t> payload_bytes;
  std::optional<std::uint64_t> compression;
  std::optional<std::uint64_t> uncompressed_bytes;
  for (std::uint64_t type = cursor.length_encoded(); type != 0; type = cursor.length_encoded()) {
    ByteCursor number(cursor.length_encoded_text());
    const std::uint64_t value = number.length_encoded();
    if (type > kUncompressedBytes) {
      continue;
    }
    if (!number.at_end()) {
      return std::unexpected(DecodeError::malformed);
    }
    (type == kPayloadBytes  ? payload_bytes
     : type == kCompression ? compression
                            : uncompressed_bytes) = value;
  }
  const std::string_view payload = cursor.rest();
  if (!cursor.ok()) {
    return std::unexpected(DecodeError::truncated);
  }
  if (payload_bytes != payload.size() || !compression ||
      (*compression != 0 && *compression != 255)) {
    return std::unexpected(DecodeError::malformed);
  }
  return EventBody(
      TransactionPayload{.compression = static_cast<TransactionPayload::Compression>(*compression),
                         .uncompressed_bytes = uncompressed_bytes.value_or(payload.size()),
                         .payload = payload});
}

namespace {

// Flags of MariaDB's GTID event.
constexpr unsigned kStandalone = 0x01;
constexpr unsigned kGroupCommitId = 0x02;
constexpr unsigned kTransactional = 0x04;
constexpr unsigned kDdl = 0x20;
constexpr unsigned kPreparesXa = 0x40;
constexpr unsigned kCompletesXa = 0x80;

constexpr std::size_t kUuidBytes = 16;

// Fields of MySQL's tagged GTID event, in the order they come in; later ones are of no use here.
enum class TaggedField : std::uint8_t { flags = 0, uuid = 1, number = 2, tag = 3 };

bool is_number(std::uint64_t number) {
  return number >= 1 && number <= MySqlGtid::kNumberMax;
}

// False: its value is none that a server writes.
bool read_tagged_field(TaggedField field, ByteCursor& cursor, MySqlGtid& gtid) {
  switch (field) {
    case TaggedField::flags:
      cursor.skip(1);
      return true;
    case TaggedField::uuid:
      for (std::uint8_t& byte : gtid.source.uuid) {
        byte = static_cast<std::uint8_t>(cursor.varlen());
      }
      return true;
    case TaggedField::number:
      gtid.number = cursor.signed_varlen();
      return true;
    case TaggedField::tag: {
      const std::uint64_t tag_bytes = cursor.varlen();
      return gtid.source.set_tag(cursor.bytes(tag_bytes));
    }
  }
  return false;
}

}  // namespace

BodyResult read_mariadb_gtid(const EventHeader& header, std::string_view body) {
  ByteCursor cursor(body);
  MariaDbTransaction transaction;
  transaction.gtid.server_id = header.server_id;
  transaction.gtid.sequence = cursor.u64();
  transaction.gtid.domain = cursor.u32();
  const unsigned flags = cursor.u8();
  transaction.is_standalone = (flags & kStandalone) != 0;
  transaction.is_transactional = (flags & kTransactional) != 0;
  transaction.is_ddl = (flags & kDdl) != 0;
  transaction.prepares_xa = (flags & kPreparesXa) != 0;
  transaction.completes_xa = (flags & kCompletesXa) != 0;
  if ((flags & kGroupCommitId) != 0) {
    cursor.u64();
  }
  if (transaction.prepares_xa || transaction.completes_xa) {
    const std::uint32_t format = cursor.u32();
    const std::uint8_t global_bytes = cursor.u8();
    const std::uint8_t branch_bytes = cursor.u8();
    const std::string_view global = cursor.bytes(global_bytes);
    const std::string_view branch = cursor.bytes(branch_bytes);
    transaction.xid = Xid::make(format, global, branch);
    if (cursor.ok() && !transaction.xid) {
      return std::unexpected(DecodeError::malformed);
    }
  }
  if (!cursor.ok()) {
    return std::unexpected(DecodeError::truncated);
  }
  return EventBody(transaction);  // what is behind is padding, or of two-phase ALTER
}

BodyResult read_mysql_gtid(bool is_anonymous, std::string_view body) {
  ByteCursor cursor(body);
  MySqlTransaction transaction{.is_anonymous = is_anonymous};
  cursor.skip(1);  // flags
  const std::string_view uuid = cursor.bytes(kUuidBytes);
  const std::uint64_t number = cursor.u64();
  if (!cursor.ok()) {
    return std::unexpected(DecodeError::truncated);
  }
  if (is_anonymous) {
    return EventBody(transaction);
  }
  if (!is_number(number)) {
    return std::unexpected(DecodeError::malformed);
  }
  std::ranges::copy(uuid, transaction.gtid.source.uuid.begin());
  transaction.gtid.number = number;
  return EventBody(transaction);
}

// Fields with ids, all of them varlen: a later server may add some behind, or leave out those that
// are optional.
BodyResult read_mysql_gtid_tagged(std::string_view body) {
  ByteCursor cursor(body);
  cursor.varlen();  // the serialization's version
  const std::uint64_t message_bytes = cursor.varlen();
  cursor.varlen();  // the last field that must be known
  if (cursor.ok() && message_bytes != body.size()) {
    return std::unexpected(DecodeError::malformed);
  }
  MySqlTransaction transaction;
  for (const TaggedField field :
       {TaggedField::flags, TaggedField::uuid, TaggedField::number, TaggedField::tag}) {
    const bool is_next = cursor.varlen() == static_cast<std::uint64_t>(field);
    if (!is_next || !read_tagged_field(field, cursor, transaction.gtid)) {
      return std::unexpected(cursor.ok() ? DecodeError::malformed : DecodeError::truncated);
    }
  }
  if (!cursor.ok()) {
    return std::unexpected(DecodeError::truncated);
  }
  if (!is_number(transaction.gtid.number)) {
    return std::unexpected(DecodeError::malformed);
  }
  return EventBody(transaction);
}

}  // namespace cuckooguard::binlog
