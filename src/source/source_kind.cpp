#include "source/source_kind.h"

#include <utility>

#include "source/rescan.h"
#include "source/source_thread.h"

namespace cuckooguard::source {

std::expected<std::unique_ptr<Source>, std::vector<Refusal>> make_source(
    const SourceKind& kind, const SourceSettings& settings) {
  auto parts = kind.make(settings);
  if (!parts) {
    return std::unexpected(std::move(parts.error()));
  }
  return std::make_unique<SourceThread>(
      std::move(parts->follower), std::move(parts->rows), settings.questions);
}

std::unique_ptr<Follower> make_rescan(std::unique_ptr<Origin> origin,
                                      std::chrono::nanoseconds poll_every,
                                      bool serves_strict,
                                      const SourceSettings& settings) {
  return std::make_unique<Rescan>(
      std::move(origin),
      settings.feeds(),
      settings.clock,
      RescanTiming{.max_lag = settings.settings.max_lag, .poll_every = poll_every},
      settings.asking(kLookPace),
      serves_strict);
}

}  // namespace cuckooguard::source
