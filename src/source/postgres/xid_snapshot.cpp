#include "postgres/xid_snapshot.h"

#include <algorithm>

#include "text/number.h"

namespace cuckooguard::source::postgres {
namespace {

// The number at the front, which goes; without sign, blanks and zeros in front.
std::optional<Xid> take_number(std::string_view& text) {
  const std::string_view whole = text;
  const auto number = text::take_number<Xid>(text);
  return whole.starts_with('0') && whole.size() - text.size() > 1 ? std::nullopt : number;
}

bool take(std::string_view& text, char byte) {
  if (!text.starts_with(byte)) {
    return false;
  }
  text.remove_prefix(1);
  return true;
}

}  // namespace

Xid whole_xid(std::uint32_t low, Xid near) {
  const auto ahead = static_cast<std::int32_t>(low - static_cast<std::uint32_t>(near));
  if (ahead < 0 && static_cast<Xid>(-static_cast<std::int64_t>(ahead)) > near) {
    return low;  // of the first epoch: there is nothing before it
  }
  return near + static_cast<Xid>(static_cast<std::int64_t>(ahead));
}

std::optional<XidSnapshot> XidSnapshot::parse(std::string_view text) {
  XidSnapshot snapshot;
  const auto xmin = take_number(text);
  if (!xmin || !take(text, ':')) {
    return std::nullopt;
  }
  const auto xmax = take_number(text);
  if (!xmax || !take(text, ':') || *xmin == 0) {
    return std::nullopt;
  }
  snapshot.xmin = *xmin;
  snapshot.xmax = *xmax;
  while (!text.empty()) {
    const auto xid = take_number(text);
    const bool is_in_order = xid && *xid >= *xmin && *xid < *xmax &&
                             (snapshot.running.empty() || snapshot.running.back() < *xid);
    if (!is_in_order || (!text.empty() && (!take(text, ',') || text.empty()))) {
      return std::nullopt;
    }
    snapshot.running.push_back(*xid);
  }
  return snapshot;
}

std::string XidSnapshot::text() const {
  std::string all = std::to_string(xmin) + ":" + std::to_string(xmax) + ":";
  for (const Xid xid : running) {
    all += (all.back() == ':' ? "" : ",") + std::to_string(xid);
  }
  return all;
}

bool XidSnapshot::shows(Xid xid) const {
  return xid < xmin || (xid < xmax && !std::ranges::binary_search(running, xid));
}

std::optional<std::vector<Xid>> XidSnapshot::missing_from(const XidSnapshot& other) const {
  const Xid end = std::max(xmin, xmax);
  if (end > other.xmin && end - other.xmin > kMissingMax) {
    return std::nullopt;
  }
  std::vector<Xid> missing;
  for (Xid xid = other.xmin; xid < end; ++xid) {  // all before are shown by both
    if (shows(xid) && !other.shows(xid)) {
      missing.push_back(xid);
    }
  }
  return missing;
}

}  // namespace cuckooguard::source::postgres
