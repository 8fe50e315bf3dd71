#include "binlog/xid.h"

#include <algorithm>

namespace cuckooguard::binlog {

std::optional<Xid> Xid::make(std::uint32_t format,
                             std::string_view global,
                             std::string_view branch) {
  if (global.empty() || global.size() > kPartBytesMax || branch.size() > kPartBytesMax) {
    return std::nullopt;
  }
  Xid xid;
  xid.format_ = format;
  xid.global_bytes_ = static_cast<std::uint8_t>(global.size());
  xid.branch_bytes_ = static_cast<std::uint8_t>(branch.size());
  char* const after_global = std::copy(global.begin(), global.end(), xid.bytes_.data());
  std::copy(branch.begin(), branch.end(), after_global);
  return xid;
}

}  // namespace cuckooguard::binlog
