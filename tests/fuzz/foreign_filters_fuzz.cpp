// Any bytes as a filter of each other library: refused in words, or a filter that can be asked. The
// first bytes choose the format, and how many of the rest are a header or a configuration.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "formats/formats.h"

namespace {

using namespace cuckooguard::foreign;

std::uint64_t number_of(std::string_view bytes) {
  std::uint64_t number = 0;
  for (const char byte : bytes.substr(0, 8)) {
    number = (number << 8U) | static_cast<unsigned char>(byte);
  }
  return number;
}

FilterOrWhyNot read(unsigned format, std::string_view header, std::string data) {
  const auto funnel = format % 2 == 0 ? Funnel::utf8 : Funnel::java_long;
  const Shape shape{.bits = number_of(header),
                    .hashes = static_cast<std::uint32_t>(number_of(header) % 1'080)};
  switch (format % 7) {
    case 0:
      return read_go_zero(std::move(data), shape.bits);
    case 1:
      return read_redisson(std::move(data), shape);
    case 2:
      return read_guava(std::move(data), funnel);
    case 3:
      return read_guava_bitmap(
          std::move(data),
          {.shape = shape, .strategy = Strategy::murmur128_mitz_64, .funnel = funnel});
    case 4:
      return read_redisbloom_bloom(header, std::move(data));
    case 5:
      return read_redisbloom_cuckoo(header, std::move(data));
    default:
      return read_seiflotfy(std::move(data));
  }
}

bool is_share(double number) {
  return number >= 0 && number <= 1;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  if (size < 2) {
    return 0;
  }
  const std::string_view input(reinterpret_cast<const char*>(bytes) + 2, size - 2);
  const std::string_view header = input.substr(0, bytes[1]);
  const auto filter = read(bytes[0], header, std::string(input.substr(header.size())));
  bool holds = filter ? true : !filter.error().empty();
  if (filter) {
    (*filter)->may_contain("");
    (*filter)->may_contain("-42");
    (*filter)->may_contain(input);
    const Facts facts = (*filter)->facts();
    holds = is_share(facts.fill) && is_share(facts.false_positive_rate);
  }
  if (!holds) {
    __builtin_trap();
  }
  return 0;
}
