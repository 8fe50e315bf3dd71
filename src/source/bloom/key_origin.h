// A filter in the guard's own Redis.
//
// Why a bitmap may be read in pieces while others write to it. Bits are only ever set: of an item
// that was added before the reading began, and is still in the filter when it ends, each piece has
// its bits, whatever is added meanwhile. If the key is deleted or replaced in between (DEL, SET,
// RENAME), pieces are of two filters, and they may lack items
//   - of the old one that the new one has not: they are in no filter any more;
//   - of the new one that the old one had not: they came into the filter with the change, which is
//     after the reading began, and so later than what this reading proves;
// but not one that is in both. The next look sees the change (WATCH), and all is read again. This
// asks for one shape in all pieces: Redisson's is asked for before and after.
// Such a filter is a mixture all the same: it may be told to have fewer bits than either.
//
// None of this holds where an item may be in one place of the one filter and in another of the
// other: filters of several layers, cuckoo filters, and those whose shape stands among their bytes
// (Guava). Of these what is read in several parts counts only if WATCH has seen nothing done to the
// key meanwhile; it is read kAttemptsMax times for that.
//
// Threads: the source's. Errors: values. Limits: bloom/key_session.h.
#pragma once

#include <string>

#include "bloom/key_session.h"
#include "bloom/origin.h"
#include "config/config.h"

namespace cuckooguard::source {

class BloomKeyOrigin final : public BloomOrigin {
 public:
  static constexpr int kAttemptsMax = 3;

  BloomKeyOrigin(config::BloomSource settings, OpenRedis open);

  BloomLook look() override;
  BloomReading read(const std::stop_token& stop) override;
  bool only_gains_bits() const override {
    return settings_.format != config::BloomFormat::rediscuckoo;
  }

  // Where Redisson keeps the shape of its filter of this name.
  static std::string redisson_config_key(const std::string& name);

 private:
  BloomReading read_once(const std::stop_token& stop);
  std::string why_unclear() const;
  BloomReading read_bitmap(const std::stop_token& stop);
  BloomReading read_redisson(const std::stop_token& stop);

  config::BloomSource settings_;
  BloomKeySession session_;
};

}  // namespace cuckooguard::source
