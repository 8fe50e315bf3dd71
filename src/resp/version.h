// The protocol version a client speaks: RESP2 until it says HELLO 3.
#pragma once

#include <cstdint>

namespace cuckooguard::resp {

enum class Version : std::uint8_t { resp2 = 2, resp3 = 3 };

}  // namespace cuckooguard::resp
