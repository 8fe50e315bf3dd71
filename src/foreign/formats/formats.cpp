#include "formats/formats.h"

#include <array>

namespace cuckooguard::foreign {

Formats all_formats() {
  static constexpr std::array<const Format*, 7> kAll{
      &kGoZero, &kRedisson, &kGuava, &kGuavaBitmap, &kRedisBloom, &kRedisCuckoo, &kSeiflotfy};
  return kAll;
}

}  // namespace cuckooguard::foreign
