#include "config/values.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <locale>

#include <boost/algorithm/string/classification.hpp>
#include <fmt/format.h>

#include "config/absent_presets.h"
#include "config/nearest.h"
#include "text/ascii.h"
#include "text/hex.h"
#include "text/number.h"
#include "text/printable.h"

namespace cuckooguard::config {
namespace {

using std::unexpected;

struct Unit {
  std::string_view name;
  std::uint64_t factor;
};

constexpr std::array kDurationUnits = {
    Unit{"ms", 1}, Unit{"s", 1000}, Unit{"m", 60'000}, Unit{"h", 3'600'000}, Unit{"d", 86'400'000}};
constexpr std::array kByteUnits = {
    Unit{"B", 1}, Unit{"KiB", 1024}, Unit{"MiB", 1024 * 1024}, Unit{"GiB", 1024 * 1024 * 1024}};
constexpr std::array kCountUnits = {
    Unit{"", 1}, Unit{"k", 1000}, Unit{"M", 1'000'000}, Unit{"G", 1'000'000'000}};

// A whole number and one of the units, nothing between them; `wanted` says what to write instead.
Parsed<std::uint64_t> parse_with_unit(std::string_view text,
                                      std::span<const Unit> units,
                                      std::string_view wanted) {
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  const std::string_view unit_name = text.substr(digits);
  const auto number = text::number_of<std::uint64_t>(text.substr(0, digits));
  const auto unit = std::ranges::find(units, unit_name, &Unit::name);
  if (digits > 0 && !number) {
    return unexpected("is too large");
  }
  if (digits > 0 && unit_name.empty() && unit == units.end()) {
    return unexpected(fmt::format("has no unit: write {}", wanted));
  }
  if (!number || unit == units.end()) {
    return unexpected(fmt::format("is invalid: write {}", wanted));
  }
  if (*number > std::numeric_limits<std::uint64_t>::max() / unit->factor) {
    return unexpected("is too large");
  }
  return *number * unit->factor;
}

bool is_host(std::string_view host) {
  return !host.empty() && host.size() <= 253 &&
         std::ranges::all_of(host,
                             boost::algorithm::is_alnum(std::locale::classic()) ||
                                 boost::algorithm::is_any_of(".-_"));
}

bool is_bracketed_ipv6(std::string_view host) {
  return host.size() > 3 && host.front() == '[' && host.back() == ']' &&
         host.find_first_not_of("0123456789abcdefABCDEF.:", 1) == host.size() - 1;
}

Parsed<Address> parse_unix_address(std::string_view path) {
  if (!path.starts_with('/')) {
    return unexpected("needs an absolute path after unix:, such as unix:/run/redis/redis.sock");
  }
  if (path.size() > kUnixPathBytesMax) {
    return unexpected(
        fmt::format("exceeds the {} bytes that a Unix socket's path can have", kUnixPathBytesMax));
  }
  return Address{.host = {}, .port = 0, .unix_path = std::string(path)};
}

std::string in_largest_unit(std::uint64_t value, std::span<const Unit> units) {
  const auto found = std::find_if(units.rbegin(), units.rend(), [value](const Unit& unit) {
    return value >= unit.factor && value % unit.factor == 0;
  });
  const Unit& unit = found == units.rend() ? units.front() : *found;
  return fmt::format("{}{}", value / unit.factor, unit.name);
}

template <typename Count>
std::string text_or_auto(const std::optional<Count>& count) {
  return count ? text_of(*count) : "auto";
}

}  // namespace

std::string shown(std::string_view text) {
  return text.find('@') != std::string_view::npos ? "the value" : text::printable(text);
}

Parsed<std::chrono::milliseconds> parse_duration(std::string_view text) {
  const auto value =
      parse_with_unit(text, kDurationUnits, "a number and ms, s, m, h or d, such as 500ms or 1s");
  if (!value) {
    return unexpected(value.error());
  }
  if (std::cmp_greater(*value, std::chrono::milliseconds(kDurationMax).count())) {
    return unexpected("is longer than a year");
  }
  return std::chrono::milliseconds(*value);
}

Parsed<std::uint64_t> parse_bytes(std::string_view text) {
  return parse_with_unit(text, kByteUnits, "a number and B, KiB, MiB or GiB, such as 64MiB");
}

Parsed<std::uint64_t> parse_count(std::string_view text) {
  return parse_with_unit(text, kCountUnits, "a number, optionally with k, M or G, such as 20M");
}

Parsed<double> parse_fraction(std::string_view text) {
  constexpr std::string_view kWanted = "a percentage such as 0.2%";
  const bool percent = text.ends_with('%');
  text.remove_suffix(percent ? 1 : 0);
  const bool plain =
      !text.empty() && text.find_first_not_of("0123456789.") == std::string_view::npos;
  const auto number = plain ? text::number_of<double>(text) : std::nullopt;
  if (!number) {
    return unexpected(fmt::format("is invalid: write {}", kWanted));
  }
  if (!percent) {
    return unexpected(fmt::format("has no unit: write {}", kWanted));
  }
  return *number / 100;
}

Parsed<double> parse_rate(std::string_view text) {
  constexpr std::string_view kWanted = "a number per second or minute such as 10/s or 30/min, or 0";
  constexpr double kSecondsPerMinute = 60;
  const std::size_t slash = std::min(text.find('/'), text.size());
  const std::string_view per = text.substr(slash);
  const auto number = parse_count(text.substr(0, slash));
  if (!number) {
    return unexpected(fmt::format("is invalid: write {}", kWanted));
  }
  if (per.empty() && *number > 0) {
    return unexpected(fmt::format("has no unit: write {}", kWanted));
  }
  if (!per.empty() && per != "/s" && per != "/min") {
    return unexpected(fmt::format("is invalid: write {}", kWanted));
  }
  return static_cast<double>(*number) / (per == "/min" ? kSecondsPerMinute : 1);
}

Parsed<std::optional<std::uint32_t>> parse_file_mode(std::string_view text) {
  if (text.empty()) {
    return std::nullopt;
  }
  constexpr std::uint32_t kMax = 0777;
  const auto mode = text::number_of<std::uint32_t>(text, 8);
  if (!mode || *mode > kMax) {
    return unexpected("must be octal permissions from 0000 to 0777, such as 0660");
  }
  return mode;
}

Parsed<std::string> parse_text(std::string_view text) {
  if (text.empty()) {
    return unexpected("is empty");
  }
  return std::string(text);
}

Parsed<std::string> parse_any_text(std::string_view text) {
  return std::string(text);
}

Parsed<bool> parse_bool(std::string_view text) {
  if (text != "true" && text != "false") {
    return unexpected("must be true or false");
  }
  return text == "true";
}

Parsed<std::string> parse_host(std::string_view text) {
  if (!is_host(text)) {
    return unexpected(
        "is not a host name: write only the name, without http:// and without a port");
  }
  return std::string(text);
}

Parsed<NodePorts> parse_node_ports(std::string_view text) {
  const std::size_t dash = text.find('-', std::min(text.rfind(':'), text.size()));
  const auto first = TRY(parse_address(text.substr(0, dash)));
  const auto last = dash == std::string_view::npos
                        ? std::nullopt
                        : text::number_of<std::uint16_t>(text.substr(dash + 1));
  NodePorts ports{.host = first.host, .first = first.port, .last = last.value_or(0)};
  if (first.is_unix() || ports.first == 0 || ports.last < ports.first ||
      ports.count() > kNodePortsMax) {
    return unexpected(fmt::format(
        "is not a host with 1 to {} consecutive ports: write 127.0.0.1:7000-7063", kNodePortsMax));
  }
  return ports;
}

Parsed<NodeAddress> parse_node_address(std::string_view text) {
  const std::size_t sign = std::min(text.find('='), text.size());
  const auto told = parse_address(text.substr(0, sign));
  const auto reached = parse_address(text.substr(std::min(sign + 1, text.size())));
  const auto is_of_node = [](const Parsed<Address>& address) {
    return address && !address->is_unix() && address->port != 0;
  };
  if (!is_of_node(told) || !is_of_node(reached)) {
    return unexpected(
        "must map a node's address to the address where it is reachable: write "
        "10.0.0.1:6379=127.0.0.1:7001");
  }
  return NodeAddress{.told = *told, .reached = *reached};
}

Parsed<Address> parse_address(std::string_view text) {
  if (text.find("://") != std::string_view::npos) {
    return unexpected("is a URL: write host:port; set user and password with their own keys");
  }
  if (text.starts_with("unix:")) {
    return parse_unix_address(text.substr(5));
  }
  if (text.find('@') != std::string_view::npos) {
    return unexpected(
        "has credentials before an '@': write host:port only; set user and password_file with "
        "their own keys");
  }
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) {
    return unexpected("has no port: write host:port, such as 127.0.0.1:6379, or unix:/path");
  }
  std::string_view host = text.substr(0, colon);
  const auto port = text::number_of<std::uint16_t>(text.substr(colon + 1));
  if (!port) {
    return unexpected("has no port from 0 to 65535 after its last ':'");
  }
  if (host.find(':') != std::string_view::npos && !is_bracketed_ipv6(host)) {
    return unexpected("has an IPv6 address without brackets: write [::1]:6379");
  }
  if (is_bracketed_ipv6(host)) {
    host = host.substr(1, host.size() - 2);
  } else if (!is_host(host)) {
    return unexpected(
        "has no host name or address before its port; for all interfaces write 0.0.0.0 or [::]");
  }
  return Address{.host = std::string(host), .port = *port, .unix_path = {}};
}

std::vector<std::string_view> absent_reply_names() {
  std::vector<std::string_view> names{"nil", "bytes:TEXT", "hex:DIGITS"};
  for (const AbsentPreset& preset : absent_presets()) {
    names.push_back(preset.name);
  }
  return names;
}

Parsed<AbsentReply> parse_absent_reply(std::string_view text) {
  if (text == "nil") {
    return AbsentReply{.nil = true, .bytes = {}};
  }
  if (const AbsentPreset* const preset = find_absent_preset(text)) {
    const std::string_view bytes = preset->forms.front().bytes;
    return AbsentReply{.nil = false, .bytes = std::string(bytes), .preset = preset};
  }
  std::optional<std::string> bytes;
  if (text.starts_with("bytes:")) {
    bytes = text.substr(6);
  } else if (text.starts_with("hex:")) {
    bytes = text::bytes_of_hex(text.substr(4));
    if (!bytes) {
      return unexpected("needs pairs of hexadecimal digits after hex:");
    }
  } else {
    return unexpected("is not an absent reply" + suggestion(text, absent_reply_names()));
  }
  if (bytes->size() > kAbsentReplyBytesMax) {
    return unexpected(fmt::format("is longer than {} bytes", kAbsentReplyBytesMax));
  }
  return AbsentReply{.nil = false, .bytes = std::move(*bytes)};
}

Parsed<FreshIds> parse_fresh_ids(std::string_view text) {
  if (text == "auto") {
    return FreshIds{};
  }
  const auto window = parse_count(text);
  if (!window) {
    return unexpected(
        "is invalid: write auto, 0 to disable it, or how many ids above the largest may be new");
  }
  using Kind = FreshIds::Kind;
  return FreshIds{.kind = *window == 0 ? Kind::off : Kind::window, .window = *window};
}

std::unexpected<std::string> unknown_choice(std::string_view text,
                                            std::span<const std::string_view> names) {
  return std::unexpected("is unknown" + suggestion(text, names));
}

std::string text_of(std::chrono::milliseconds duration) {
  return duration.count() == 0
             ? "0s"
             : in_largest_unit(static_cast<std::uint64_t>(duration.count()), kDurationUnits);
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
  static constexpr std::array kUnits{kCountUnits[0], kCountUnits[2], kCountUnits[3]};  // without k
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
  return std::ranges::all_of(reply.bytes, text::is_printable) ? "bytes:" + reply.bytes
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
  return in_largest_unit(bytes, kByteUnits);
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
