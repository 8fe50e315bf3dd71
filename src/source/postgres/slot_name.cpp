#include "postgres/slot_name.h"

#include <cstdint>

#include <fmt/format.h>

namespace cuckooguard::source::postgres {
namespace {

constexpr std::size_t kSourceMax = 40;

std::string named(std::string_view source, std::uint64_t id) {
  std::string name(kSlotPrefix);
  for (const char c : source.substr(0, kSourceMax)) {
    const bool is_letter = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
    const bool is_capital = c >= 'A' && c <= 'Z';
    name += is_letter ? c : is_capital ? static_cast<char>(c - 'A' + 'a') : '_';
  }
  return fmt::format("{}_{:08x}", name, static_cast<std::uint32_t>(id));
}

}  // namespace

std::string slot_name(std::string_view source, const filter::HashSecret& secret) {
  return named(source, filter::KeyHash(secret)(std::string("slot of ").append(source)));
}

std::string temporary_slot_name(std::string_view source) {
  return named(source, filter::KeyHash(filter::random_secret())(source));
}

}  // namespace cuckooguard::source::postgres
