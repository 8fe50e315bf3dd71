#include "filter/page_memory.h"

#include <new>

#include <gtest/gtest.h>

namespace cuckooguard::filter {
namespace {

TEST(PageMemory, is_zero_and_writable_to_its_end) {
  for (const std::uint64_t words : {1ULL, 512ULL, 513ULL, 262'144ULL, 300'000ULL}) {
    const PageMemory memory(words);
    for (std::uint64_t i = 0; i < words; ++i) {
      ASSERT_EQ(memory.words()[i], 0);
      memory.words()[i] = i;
    }
    EXPECT_EQ(memory.words()[words - 1], words - 1);
  }
}

TEST(PageMemory, is_aligned_to_2_mib_where_huge_pages_pay) {
  const PageMemory memory(262'144);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory.words()) % (2UL * 1024 * 1024), 0);
}

TEST(PageMemory, that_is_not_to_be_had_is_an_exception) {
  EXPECT_THROW(PageMemory(1ULL << 58), std::bad_alloc);
}

}  // namespace
}  // namespace cuckooguard::filter
