// A filter that another library has made, in Redis or in a file: it is read as it is, and again
// when it has changed.
#pragma once

#include <cstdint>

#include "bloom/origin.h"
#include "config/config.h"
#include "source/input_file.h"
#include "source/source_kind.h"

namespace cuckooguard::source {

// A filter in a file: read once the file has stood still (source/input_file.h), and only if it is
// the same file afterwards.
//
// Threads: the source's. Errors: values. Limits: kFileBytesMax.
class BloomFileOrigin final : public BloomOrigin {
 public:
  static constexpr std::uint64_t kFileBytesMax = std::uint64_t{16} << 30U;

  BloomFileOrigin(config::BloomSource settings, const Clock& clock);

  BloomLook look() override;
  BloomReading read(const std::stop_token& stop) override;
  // It is written as a whole by who has filled it.
  bool only_gains_bits() const override { return false; }

 private:
  config::BloomSource settings_;
  SettledFile file_;
  Version in_force_ = 0;
};

extern const SourceKind kBloom;

}  // namespace cuckooguard::source
