#include <algorithm>

#include "binlog/byte_cursor.h"
#include "binlog/event_bodies.h"

namespace cuckooguard::binlog {

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
