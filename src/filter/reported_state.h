// A filter's state and the reason for it, as its one writer reports them to readers: for people and
// metrics.
//
// Threads: one writer, any number of readers. Reading the state never waits; reading the reason
//   waits while a sentence is copied.
// Errors: std::bad_alloc. Limits: none on the length of the reason.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace cuckooguard::filter {

// Only `ready` filters are fresh, but readers ask is_fresh(). docs/states.md: what each means, and
// what leads from one to another.
enum class State : std::uint8_t { loading, ready, lagging, unsynced, down, full, refused };
inline constexpr State kLastState = State::refused;

const char* state_name(State state) noexcept;

// Of a source as a whole, whatever the states of the filters that it fills.
enum class SourceState : std::uint8_t { loading, following, down, refused };
inline constexpr std::array<std::string_view, 4> kSourceStateNames{
    "loading", "following", "down", "refused"};
constexpr std::string_view name_of(SourceState state) {
  return kSourceStateNames.at(static_cast<std::size_t>(state));
}

class ReportedState {
 public:
  [[nodiscard]] State get() const noexcept { return state_.load(std::memory_order_acquire); }
  // Empty: nobody has said.
  [[nodiscard]] std::string why() const {
    const std::scoped_lock lock(mutex_);
    return why_;
  }
  void set(State state, std::string_view why) {
    const std::scoped_lock lock(mutex_);
    state_.store(state, std::memory_order_release);
    why_ = why;
  }

 private:
  std::atomic<State> state_{State::loading};
  mutable std::mutex mutex_;  // of the words
  std::string why_;
};

// What a kind of source shows besides (guard/fact_table.h).
struct SourceFact {
  std::string_view name{};  // in GUARD.INFO and /status; static
  std::variant<std::uint64_t,
               std::optional<std::chrono::nanoseconds>,
               std::string,
               std::vector<std::string>>
      value{};
  std::string_view metric{};  // behind "cuckooguard_"; empty: it is not shown there; static
  std::string_view help{};
};

// How far a source of filters is, as it reports it.
//
// Threads: plain values.
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
  std::vector<SourceFact> more{};
};

// Whether a source has reached a position.
enum class Reached : std::uint8_t {
  yes,  // all that the position covers is in the filters, for every thread that looks from now on
  not_yet,         // or never
  not_a_position,  // of this kind of source
  not_followed,    // the source has no positions: it is read again as a whole
};

// Whether the database has a row, as its source has heard from it.
enum class RowPresence : std::uint8_t { present, absent, unknown };
inline constexpr std::array<std::string_view, 3> kRowPresenceNames{"present", "absent", "unknown"};
constexpr std::string_view name_of(RowPresence presence) {
  return kRowPresenceNames.at(static_cast<std::size_t>(presence));
}

struct RowAnswer {
  RowPresence presence = RowPresence::unknown;
  std::string why{};  // if unknown; for people
};

}  // namespace cuckooguard::filter
