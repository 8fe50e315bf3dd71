#include "bloom/format.h"

#include <utility>

#include "foreign/go_zero.h"
#include "foreign/guava.h"
#include "foreign/seiflotfy.h"

namespace cuckooguard::source {

foreign::FilterOrWhyNot read_filter(const config::BloomSource& settings, std::string bytes) {
  const auto funnel = settings.funnel == config::BloomFunnel::java_long
                          ? foreign::GuavaFunnel::java_long
                          : foreign::GuavaFunnel::utf8;
  switch (settings.format) {
    case config::BloomFormat::go_zero:
      return foreign::read_go_zero(std::move(bytes), settings.bits);
    case config::BloomFormat::guava:
      return foreign::read_guava(std::move(bytes), funnel);
    case config::BloomFormat::guava_bitmap:
      return foreign::read_guava_bitmap(
          std::move(bytes),
          {.shape = {.bits = settings.bits, .hashes = settings.hashes},
           .strategy = settings.strategy == config::BloomStrategy::murmur128_mitz_64
                           ? foreign::GuavaStrategy::murmur128_mitz_64
                           : foreign::GuavaStrategy::murmur128_mitz_32,
           .funnel = funnel});
    case config::BloomFormat::seiflotfy:
      return foreign::read_seiflotfy(std::move(bytes));
    case config::BloomFormat::redisson:
    case config::BloomFormat::redisbloom:
    case config::BloomFormat::rediscuckoo:
      break;
  }
  return std::unexpected("of this format Redis tells more than bytes");
}

}  // namespace cuckooguard::source
