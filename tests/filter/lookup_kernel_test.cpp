#include "filter/lookup_kernel.h"

#include <gtest/gtest.h>

namespace cuckooguard::filter {
namespace {

TEST(LookupKernel, the_best_one_is_supported_and_scalar_always_is) {
  EXPECT_TRUE(kernel_supported(best_kernel()));
  EXPECT_TRUE(kernel_supported(LookupKernel::scalar));
}

TEST(LookupKernel, every_kernel_has_its_name) {
  EXPECT_STREQ(kernel_name(LookupKernel::scalar), "scalar");
  EXPECT_STREQ(kernel_name(LookupKernel::avx2), "avx2");
  EXPECT_STREQ(kernel_name(LookupKernel::avx512), "avx512");
}

}  // namespace
}  // namespace cuckooguard::filter
