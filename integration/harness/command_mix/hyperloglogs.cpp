#include "harness/command_mix/forms.h"

namespace cuckooguard::harness {
namespace {

constexpr std::string_view kHyperloglog[] = {
    "PFADD {k} {n} {n} {v}",
    "PFADD {k} {f}",
    "PFADD {k}",
    "PFCOUNT {r}",
    "PFCOUNT {r} {r}",
    "PFMERGE {k} {r} {r}",
    "STRLEN {r}",
    "GET {r}",
};

}  // namespace

std::span<const std::string_view> hyperloglog_forms() {
  return kHyperloglog;
}

}  // namespace cuckooguard::harness
