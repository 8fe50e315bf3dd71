#include "binlog/mariadb_position.h"

#include <algorithm>

#include "binlog/byte_cursor.h"
#include "text/number.h"
#include "text/words.h"

namespace cuckooguard::binlog {

namespace {

std::optional<MariaDbGtid> parse_gtid(std::string_view text) {
  const auto domain = text::number_of<std::uint32_t>(text::take_word(text, '-'));
  const auto server_id = text::number_of<std::uint32_t>(text::take_word(text, '-'));
  const auto sequence = text::number_of<std::uint64_t>(text);
  return domain && server_id && sequence
             ? std::optional(
                   MariaDbGtid{.domain = *domain, .server_id = *server_id, .sequence = *sequence})
             : std::nullopt;
}

}  // namespace

std::optional<MariaDbPosition> MariaDbPosition::parse(std::string_view text) {
  MariaDbPosition position;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    const std::optional<MariaDbGtid> gtid = parse_gtid(text.substr(0, comma));
    if (!gtid || position.domains_.contains(gtid->domain) || !position.add(*gtid)) {
      return std::nullopt;
    }
    if (comma == std::string_view::npos) {
      break;
    }
    text.remove_prefix(comma + 1);
    if (text.empty()) {
      return std::nullopt;
    }
  }
  return position;
}

std::expected<MariaDbPosition, DecodeError> MariaDbPosition::decode(std::string_view bytes) {
  constexpr std::uint32_t kCountMask = 0x0fffffff;  // the four bits above it are flags
  ByteCursor cursor(bytes);
  const std::uint32_t count = cursor.u32() & kCountMask;
  MariaDbPosition position;
  for (std::uint32_t i = 0; i < count && cursor.ok(); ++i) {
    MariaDbGtid gtid;
    gtid.domain = cursor.u32();
    gtid.server_id = cursor.u32();
    gtid.sequence = cursor.u64();
    if (cursor.ok() && !position.add(gtid)) {
      return std::unexpected(DecodeError::too_large);
    }
  }
  if (!cursor.ok()) {
    return std::unexpected(DecodeError::truncated);
  }
  return position;  // a list of none is padded
}

std::string MariaDbPosition::to_string() const {
  return text::joined(domains_, ",", [](const auto& each) {
    const auto& [domain, gtid] = each;
    return std::to_string(domain) + '-' + std::to_string(gtid.server_id) + '-' +
           std::to_string(gtid.sequence);
  });
}

bool MariaDbPosition::add(const MariaDbGtid& gtid) {
  if (domains_.size() >= kDomainsMax && !domains_.contains(gtid.domain)) {
    return false;
  }
  domains_[gtid.domain] = gtid;
  return true;
}

std::optional<MariaDbGtid> MariaDbPosition::last_of(std::uint32_t domain) const {
  const auto found = domains_.find(domain);
  return found == domains_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<MariaDbGtid> MariaDbPosition::only() const {
  return domains_.size() == 1 ? std::optional(domains_.begin()->second) : std::nullopt;
}

bool MariaDbPosition::covers(const MariaDbGtid& gtid) const {
  const auto found = domains_.find(gtid.domain);
  if (found == domains_.end()) {
    return false;
  }
  const MariaDbGtid& last = found->second;
  return last.sequence > gtid.sequence || last == gtid;
}

std::uint64_t MariaDbPosition::largest_number() const {
  std::uint64_t largest = 0;
  for (const auto& [domain, last] : domains_) {
    largest = std::max(largest, last.sequence);
  }
  return largest;
}

bool MariaDbPosition::is_disordered_by(const MariaDbGtid& gtid) const {
  const auto found = domains_.find(gtid.domain);
  return found != domains_.end() && found->second.sequence >= gtid.sequence &&
         found->second.server_id != gtid.server_id;
}

bool MariaDbPosition::covers(const MariaDbPosition& other) const {
  return std::ranges::all_of(other.domains_,
                             [this](const auto& entry) { return covers(entry.second); });
}

}  // namespace cuckooguard::binlog
