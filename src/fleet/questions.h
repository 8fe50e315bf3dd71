// Questions of followers, and the proof that a builder's entry answers one.
//
// A follower is as fresh as the moment at which it asked, once it has applied an entry that answers
// its question: the builder has read the question first, then asked the database how far it is, and
// applied all of that before it made the entry. An entry may answer thousands: it has the root of a
// Merkle tree over them, and each follower is given the path from its question to the root.
//
//   leaf    hash of 0, nonce, name            (domains differ, so that no node passes for a leaf)
//   node    hash of 1, left, right            a last one without a neighbour goes up as it is
//   path    u8 how many; each: u8 1 if the neighbour is on the left, its hash
//
// Threads:   plain values and free functions. Lifetimes: none. Errors: a path that is none leads to
//            no root. Limits: kDepthMax; a name is as long as Redis lets it be.
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cuckooguard::fleet {

using TimePoint = std::chrono::steady_clock::time_point;

inline constexpr std::size_t kNonceBytes = 16;
inline constexpr std::size_t kDepthMax = 32;

struct Question {
  std::string name;   // of the follower
  std::string nonce;  // kNonceBytes
};

struct Answers {
  std::string root;                // empty: there are none
  std::vector<std::string> paths;  // as the questions
};
Answers answers_to(std::span<const Question> questions);

// Whether the path leads from the question to the root.
bool is_answered(const Question& question, std::string_view path, std::string_view root);

// Those that one follower has asked.
//
// Threads: any. Limits: kOpenMax are open; the oldest goes when there is one more.
class OwnQuestions {
 public:
  static constexpr std::size_t kOpenMax = 32;

  explicit OwnQuestions(std::string name) : name_(std::move(name)) {}

  // What to write. `at`: read before it is written. The nonce must be one that nobody can know.
  Question ask(std::string nonce, TimePoint at);
  // When the one was asked that this answers. It and those before it are no longer open.
  std::optional<TimePoint> answered(std::string_view nonce,
                                    std::string_view path,
                                    std::string_view root);

 private:
  struct Open {
    std::string nonce;
    TimePoint at;
  };

  const std::string name_;
  std::mutex mutex_;
  std::deque<Open> open_;
};

}  // namespace cuckooguard::fleet
