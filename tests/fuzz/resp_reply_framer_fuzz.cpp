// Any bytes from an upstream: the framer keeps its promises (frame_transcript.h), and cuts change
// nothing.
//
// The first byte of the input is the seed of the cuts.

#include <cstdint>
#include <string_view>

#include "resp/frame_transcript.h"
#include "resp_pieces.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) {
    return 0;
  }
  const std::string_view input(reinterpret_cast<const char*>(data) + 1, size - 1);
  cuckooguard::resp::demand_same_in_pieces(
      input, data[0], [](auto pieces) { return cuckooguard::resp::frame_pieces(pieces); });
  return 0;
}
