// Any bytes from a client: the scanner keeps its promises (scan_transcript.h), and cuts change
// nothing.
//
// The first byte of the input is the seed of the cuts. Its lowest bit: whether the client is
// authenticated; the next: whether byte 1 stands for 9000 bytes, so that a short input can hold a
// large command. Quadratic work shows as libFuzzer's time limit.

#include <cstdint>
#include <string>
#include <string_view>

#include "resp/scan_transcript.h"
#include "resp_pieces.h"

namespace {

std::string expand(std::string_view compact) {
  constexpr std::size_t kBytes = 9000;
  constexpr std::size_t kInputBytesMax = 150'000;
  std::string input;
  for (const char c : compact) {
    if (c == '\x01' && input.size() + kBytes < kInputBytesMax) {
      input.append(kBytes, 'x');
    } else {
      input.push_back(c);
    }
  }
  return input;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) {
    return 0;
  }
  const std::string_view compact(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::string input = (data[0] & 2) != 0 ? expand(compact) : std::string(compact);
  const bool authenticated = (data[0] & 1) != 0;
  cuckooguard::resp::demand_same_in_pieces(input, data[0], [&](auto pieces) {
    return cuckooguard::resp::scan_pieces(pieces, authenticated);
  });
  return 0;
}
