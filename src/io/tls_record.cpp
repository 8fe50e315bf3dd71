#include "io/tls_record.h"

#include <algorithm>
#include <cstring>

namespace cuckooguard::io {
namespace {

// A first piece as long as this is written from where it is; shorter ones are worth a copy.
constexpr std::size_t kWorthARecord = 4096;

}  // namespace

std::string_view record_of(std::span<const std::string_view> pieces,
                           std::size_t bytes,
                           std::span<char> scratch) {
  const std::size_t most = bytes > 0 ? bytes : scratch.size();
  const std::string_view first = pieces.empty() ? std::string_view() : pieces.front();
  if (first.size() >= most || (bytes == 0 && first.size() >= kWorthARecord) || pieces.size() == 1) {
    return first.substr(0, most);
  }
  std::size_t size = 0;
  for (const std::string_view piece : pieces) {
    const std::size_t taken = std::min(piece.size(), most - size);
    std::memcpy(scratch.data() + size, piece.data(), taken);
    size += taken;
    if (size == most) {
      break;
    }
  }
  return {scratch.data(), size};
}

}  // namespace cuckooguard::io
