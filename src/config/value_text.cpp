#include "config/value_text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "config/absent_presets.h"
#include "config/values.h"
#include "text/hex.h"

namespace cuckooguard::config {
namespace {

using NamedUnit = std::pair<std::string_view, std::uint64_t>;

// `units` from the largest to 1.
template <std::size_t n>
std::string in_largest_unit(std::uint64_t value, const std::array<NamedUnit, n>& units) {
  const auto fits = [value](const NamedUnit& unit) {
    return value >= unit.second && value % unit.second == 0;
  };
  const auto found = std::ranges::find_if(units, fits);
  const NamedUnit& unit = found == units.end() ? units.back() : *found;
  return fmt::format("{}{}", value / unit.second, unit.first);
}

bool is_text(char byte) {
  return byte >= ' ' && byte <= '~';
}

template <typename Count>
std::string text_or_auto(const std::optional<Count>& count) {
  return count ? text_of(*count) : "auto";
}

}  // namespace

std::string text_of(std::chrono::milliseconds duration) {
  static constexpr std::array<NamedUnit, 5> kUnits{
      {{"d", 86'400'000}, {"h", 3'600'000}, {"m", 60'000}, {"s", 1000}, {"ms", 1}}};
  return duration.count() == 0
             ? "0s"
             : in_largest_unit(static_cast<std::uint64_t>(duration.count()), kUnits);
}

// The fewest digits that read as the same number.
std::string text_of(double fraction) {
  constexpr int kDecimalsMax = 20;
  std::string text;
  for (int decimals = 0; decimals <= kDecimalsMax; ++decimals) {
    text = fmt::format("{:.{}f}%", fraction * 100, decimals);
    if (parse_fraction(text) == fraction) {
      break;
    }
  }
  return text;
}

std::string text_of(bool truth) {
  return truth ? "true" : "false";
}

std::string text_of(int count) {
  return fmt::to_string(count);
}

std::string text_of(std::uint32_t count) {
  return text_of(std::uint64_t{count});
}

std::string text_of(std::uint64_t count) {
  static constexpr std::array<NamedUnit, 3> kUnits{
      {{"G", 1'000'000'000}, {"M", 1'000'000}, {"", 1}}};
  return in_largest_unit(count, kUnits);
}

std::string text_of(const std::string& text) {
  return text;
}

std::string text_of(const Address& address) {
  return address.text();
}

std::string text_of(const NodeAddress& node) {
  return node.told.text() + "=" + node.reached.text();
}

std::string text_of(const AbsentReply& reply) {
  if (reply.nil) {
    return "nil";
  }
  if (reply.preset != nullptr) {
    return std::string(reply.preset->name);
  }
  return std::ranges::all_of(reply.bytes, is_text) ? "bytes:" + reply.bytes
                                                   : "hex:" + text::hex_of(reply.bytes);
}

std::string text_of(const FreshIds& window) {
  return window.kind == FreshIds::Kind::automatic ? "auto" : text_of(window.window);
}

std::string text_of(const ReplicationSlot& slot) {
  using enum ReplicationSlot::Kind;
  return slot.kind == named ? slot.name : (slot.kind == automatic ? "auto" : "temporary");
}

std::string text_of(const std::optional<Address>& address) {
  return address ? address->text() : "";
}

std::string text_of(const std::optional<NodePorts>& ports) {
  return ports ? ports->text() : "";
}

std::string text_of(const std::optional<std::uint32_t>& count) {
  return text_or_auto(count);
}

std::string text_of(const std::optional<std::uint64_t>& count) {
  return text_or_auto(count);
}

std::optional<std::string> text_of(const std::optional<AbsentReply>& reply) {
  return reply ? std::optional(text_of(*reply)) : std::nullopt;
}

std::string text_of_bytes(std::uint64_t bytes) {
  static constexpr std::array<NamedUnit, 4> kUnits{
      {{"GiB", 1024 * 1024 * 1024}, {"MiB", 1024 * 1024}, {"KiB", 1024}, {"B", 1}}};
  return in_largest_unit(bytes, kUnits);
}

std::string text_of_rate(double per_second) {
  constexpr double kSecondsPerMinute = 60;
  if (per_second == 0) {
    return "0";
  }
  const bool is_whole = per_second == std::round(per_second);
  const double number = is_whole ? per_second : std::round(per_second * kSecondsPerMinute);
  return text_of(static_cast<std::uint64_t>(number)) + (is_whole ? "/s" : "/min");
}

}  // namespace cuckooguard::config
