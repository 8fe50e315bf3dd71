// A filter's state and the reason for it, as its one writer reports them to readers: for people and
// metrics.
//
// Threads: one writer, any number of readers. Reading the state never waits; reading the reason
//   waits while a sentence is copied.
// Errors: std::bad_alloc. Limits: none on the length of the reason.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>

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

}  // namespace cuckooguard::filter
