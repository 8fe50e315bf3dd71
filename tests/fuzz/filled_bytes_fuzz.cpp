// Any bytes as what comes from a log, a file or a client: operations, entries' bodies, dumps of one
// filter and of all. Each is refused, or is read as it would be written again.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "filled/dump.h"
#include "filled/filters.h"
#include "filled/log_entry.h"
#include "filled/operation.h"

namespace {

using namespace cuckooguard::filled;

void require(bool holds) {
  if (!holds) {
    __builtin_trap();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  static const cuckooguard::filter::HashSecret kSecret{};
  const std::string_view input(reinterpret_cast<const char*>(bytes), size);
  cuckooguard::text::LittleEndianCursor reader(input);
  if (auto operation = take_operation(reader)) {
    std::string again;
    put(again, *operation);
    require(again == input.substr(0, again.size()));
    operation->filters_max = 3;
    operation->bytes_max = 100'000;
    Filters filters(kSecret);
    (void)filters.apply(*operation);
    (void)filters.apply(*operation);
    const std::string dump = filters.dump();
    require(filters.restore(dump).has_value());
    require(filters.dump() == dump);
  }
  if (const auto body = read_body(input)) {
    require(body->digest.empty() || body->operations.empty());
  }
  if (const auto filter = read_dump(input, kSecret)) {
    (void)(*filter)->may_contain(7);
    (void)(*filter)->facts();
  }
  Filters filters(kSecret);
  (void)filters.restore(input);
  return 0;
}
