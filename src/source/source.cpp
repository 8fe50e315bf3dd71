#include "source/source.h"

#include <algorithm>
#include <span>
#include <utility>
#include <variant>

#include "source/feed.h"
#include "source/file_origin.h"
#include "source/rescan.h"
#include "source/source_thread.h"
#include "source/sqlite_origin.h"

namespace cuckooguard::source {
namespace {

// A look is one stat: 100 per second are no load.
constexpr std::chrono::nanoseconds kFilePollMost = std::chrono::milliseconds(10);
constexpr int kFilePollsPerMaxLag = 10;

struct CheckedOrigin {
  std::unique_ptr<Origin> origin;
  std::vector<Refusal> refusals;
  std::chrono::nanoseconds poll_every;
};

struct Asked {
  std::span<const Target> targets;
  const Clock& clock;
  std::chrono::nanoseconds max_lag;
};

CheckedOrigin open_origin(const config::SqliteSource& settings, const Asked& asked) {
  auto origin = std::make_unique<SqliteOrigin>(settings.path);
  auto refusals = origin->check(asked.targets);
  return {.origin = std::move(origin),
          .refusals = std::move(refusals),
          .poll_every = settings.poll_every};
}

CheckedOrigin open_origin(const config::FileSource& settings, const Asked& asked) {
  auto origin = std::make_unique<FileOrigin>(settings, asked.clock);
  auto refusals = origin->check(asked.targets);
  return {.origin = std::move(origin),
          .refusals = std::move(refusals),
          .poll_every = std::min(kFilePollMost, asked.max_lag / kFilePollsPerMaxLag)};
}

}  // namespace

std::expected<std::unique_ptr<Source>, std::vector<Refusal>> make_source(
    const config::Source& settings, std::vector<Target> targets, Observer& observer, Clock clock) {
  const Asked asked{.targets = targets, .clock = clock, .max_lag = settings.max_lag};
  auto checked =
      std::visit([&asked](const auto& kind) { return open_origin(kind, asked); }, settings.kind);
  if (!checked.refusals.empty()) {
    return std::unexpected(std::move(checked.refusals));
  }
  std::vector<Feed> feeds;
  feeds.reserve(targets.size());
  for (const Target& target : targets) {
    feeds.emplace_back(target, observer, clock, settings.max_lag);
  }
  return std::make_unique<SourceThread>(std::make_unique<Rescan>(
      std::move(checked.origin),
      std::move(feeds),
      std::move(clock),
      RescanTiming{.max_lag = settings.max_lag, .poll_every = checked.poll_every}));
}

}  // namespace cuckooguard::source
