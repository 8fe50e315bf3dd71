// Any bytes as messages: each line is one, its key before a tab, its value behind it. All for one
// decoder, so that what it keeps of one meets the next; a copy that has kept nothing decodes the
// same. And any bytes as a place in a checkpoint, and as base64.
//
// Whatever is read is touched, and what is printed of it is read again.

#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "debezium/connect_schema.h"
#include "debezium/decoder.h"
#include "debezium/envelope.h"
#include "debezium/made_messages.h"
#include "debezium/value_text.h"
#include "text/words.h"

namespace {

using namespace cuckooguard::debezium;

Wanted wanted() {
  Column named = column("name", ValueType::text);
  named.compares_bytes = true;
  named.declared = declared_type("string");
  Column price = column("price", ValueType::numeric);
  price.declared = declared_type("variable decimal");
  return {.tables = {{.name = "customers", .columns = {column("id", ValueType::uint64), named}},
                     {.name = "t", .columns = {column("d", ValueType::date)}},
                     {.name = "CUSTOMERS", .columns = {column("ID", ValueType::int64), price}},
                     {.name = "u", .columns = {column("b", ValueType::uuid)}},
                     {.name = "b", .columns = {column("b", ValueType::bytea)}}}};
}

void check(bool holds) {
  if (!holds) {
    __builtin_trap();
  }
}

void check_place(const Change& change) {
  if (!change.position || change.origin == nullptr || change.origin->server.empty()) {
    return;
  }
  const Place place{.origin = *change.origin, .position = *change.position};
  check(Place::parse(place.text()) == place);
}

// Everything that is in it, in words.
std::string touched(const std::expected<Change, Refusal>& result) {
  std::string all = words_of(result);
  if (result) {
    check_place(*result);
    all.append(result->name.database).append(result->name.schema).append(result->name.table);
    all.append(result->gtid).append(result->transaction.id);
    all.append(result->message_prefix).append(words_of(result->notification));
  } else {
    check(!result.error().what.empty());
  }
  return all;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (const auto place = Place::parse(bytes)) {
    check(Place::parse(place->text()) == place);
  }
  std::string text;
  if (decode_base64(bytes, false, text)) {
    decimal_text(text, 3, text);
  }
  Decoder kept(wanted());
  while (!bytes.empty()) {
    // In memory of its own, so that what is read behind its end is found.
    std::string_view line = cuckooguard::text::take_word(bytes, '\n');
    const std::string key(cuckooguard::text::take_word(line, '\t'));
    const std::string value(line);
    const Message message{
        .key = key.empty() ? std::nullopt : std::optional<std::string_view>(key),
        .value = value == "-" ? std::nullopt : std::optional<std::string_view>(value)};
    const std::string first = touched(kept.decode(message));
    (void)key_columns(key, Connector::oracle);
    check(shape_of(message).size() <= kShapeBytesMax);
    Decoder fresh(wanted());
    check(touched(fresh.decode(message)) == first);
  }
  return 0;
}
