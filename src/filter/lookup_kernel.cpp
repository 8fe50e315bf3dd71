#include "filter/lookup_kernel.h"

#include <initializer_list>

namespace cuckooguard::filter {

const char* kernel_name(LookupKernel kernel) noexcept {
  switch (kernel) {
    case LookupKernel::avx2:
      return "avx2";
    case LookupKernel::avx512:
      return "avx512";
    case LookupKernel::scalar:
      break;
  }
  return "scalar";
}

bool kernel_supported(LookupKernel kernel) noexcept {
#if defined(__x86_64__)
  switch (kernel) {
    case LookupKernel::avx2:
      return __builtin_cpu_supports("avx2") != 0;
    case LookupKernel::avx512:
      return __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512dq") != 0 &&
             __builtin_cpu_supports("avx512bw") != 0 && __builtin_cpu_supports("avx512vl") != 0;
    case LookupKernel::scalar:
      break;
  }
#endif
  return kernel == LookupKernel::scalar;
}

LookupKernel best_kernel() noexcept {
  for (const LookupKernel kernel : {LookupKernel::avx512, LookupKernel::avx2}) {
    if (kernel_supported(kernel)) {
      return kernel;
    }
  }
  return LookupKernel::scalar;
}

}  // namespace cuckooguard::filter
