#include "harness/command_mix/forms.h"

namespace cuckooguard::harness {

std::span<const std::string_view> forms_of(DataType type) {
  switch (type) {
    case DataType::string:
      return string_forms();
    case DataType::list:
      return list_forms();
    case DataType::hash:
      return hash_forms();
    case DataType::set:
      return set_forms();
    case DataType::sorted_set:
      return sorted_set_forms();
    case DataType::stream:
      return stream_forms();
    case DataType::bitmap:
      return bitmap_forms();
    case DataType::hyperloglog:
      return hyperloglog_forms();
    case DataType::geo:
      return geo_forms();
    case DataType::words:
      return words_forms();
  }
  return {};
}

}  // namespace cuckooguard::harness
