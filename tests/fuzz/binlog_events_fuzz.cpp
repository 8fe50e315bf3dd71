// Any bytes as a binary log without checksums: whole events in sequence, table maps remembered,
// every text asked for.
//
// The first byte says if the log is MariaDB's; the rest is events behind a good format description.
// A flipped bit must not be stopped by a checksum, and a changed length must not lose the rest:
// each event's length is set to what is there.

#include <cstdint>
#include <string>
#include <string_view>

#include "binlog/drain.h"

namespace {

using cuckooguard::binlog::Drain;

std::string format_description(bool is_mariadb) {
  constexpr std::size_t kMySqlTypes = 42;
  constexpr std::size_t kMariaDbTypes = 171;
  std::string lengths(is_mariadb ? kMariaDbTypes : kMySqlTypes, '\0');
  lengths[1] = 13;
  lengths[3] = 8;
  lengths[18] = 8;
  lengths[29] = lengths[30] = lengths[31] = 10;
  std::string event(19, '\0');
  event[4] = 15;
  event += std::string("\x04\x00", 2) + std::string(54, 'v') + '\x13' + lengths + '\0';
  event += "crc.";
  cuckooguard::binlog::set_event_bytes(event);
  cuckooguard::binlog::renew_checksum(event);
  return event;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) {
    return 0;
  }
  static const std::string kFormats[] = {format_description(false), format_description(true)};
  Drain drain;
  drain.feed(kFormats[data[0] % 2]);
  if (drain.events() != 1) {
    __builtin_trap();
  }
  std::string_view left(reinterpret_cast<const char*>(data) + 1, size - 1);
  while (!left.empty()) {
    const auto header = cuckooguard::binlog::read_event_header(left);
    if (header && header->event_bytes <= left.size()) {
      drain.feed(left.substr(0, header->event_bytes));
      left.remove_prefix(header->event_bytes);
      continue;
    }
    std::string rest(left);
    drain.feed(rest);
    cuckooguard::binlog::set_event_bytes(rest);
    drain.feed(rest);
    break;
  }
  return 0;
}
