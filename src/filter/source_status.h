// How far a source of filters is, as it tells whoever shows it.
//
// Threads: plain values.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "filter/reported_state.h"

namespace cuckooguard::filter {

struct SourceStatus {
  std::string_view type{};  // as in the configuration: mysql, sqlite, file; empty: it is not said
  SourceState state = SourceState::loading;
  std::string why{};  // for people; while it follows, what is not as it should be all the same
  // How far its log has been applied; empty: it has no log, or nothing is loaded.
  std::string position{};
  std::optional<std::chrono::steady_clock::time_point> proven_at{};  // till then nothing is missing
  std::uint64_t losses = 0;                                          // how often it was lost
  std::optional<std::uint64_t>
      log_retained{};  // bytes that its server keeps for us; or it does not
  // PostgreSQL: transactions of our own, by which its log was flushed for readers (before 17) or is
  // known again, each with a number that the server will have to freeze; and how many of them in
  // the last hour that it was followed. Nothing: it has no such log.
  std::optional<std::uint64_t> flush_transactions{};
  std::uint64_t flush_transactions_per_hour = 0;
};

// Whether a source has reached a position.
enum class Reached : std::uint8_t {
  yes,  // all that the position covers is in the filters, for every thread that looks from now on
  not_yet,         // or never
  not_a_position,  // of this kind of source
  not_followed,    // the source has no positions: it is read again as a whole
};

}  // namespace cuckooguard::filter
