// Equality of byte streams, for EXPECT_TRUE(same_bytes(...)): a failure shows where they part, in
// little space. (EXPECT_EQ of long strings computes an edit distance, which takes minutes.)
#pragma once

#include <string_view>

#include <gtest/gtest.h>

namespace cuckooguard::harness {

testing::AssertionResult same_bytes(std::string_view actual, std::string_view expected);

}  // namespace cuckooguard::harness
