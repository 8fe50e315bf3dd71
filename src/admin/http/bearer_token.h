// Whether a request may be answered: by the word in a file, which is read anew each time, so that
// it can be changed while the guard runs (an orchestrator replaces mounted secrets under it).
//
// Threads: any. Errors: values. Limits: kTokenBytesMax.
#pragma once

#include <cstddef>
#include <expected>
#include <string>
#include <string_view>
#include <utility>

namespace cuckooguard::http {

class BearerToken {
 public:
  static constexpr std::size_t kTokenBytesMax = 4096;

  enum class Verdict : std::uint8_t { allowed, missing, wrong, unreadable };

  // Empty: everybody is allowed.
  explicit BearerToken(std::string path) : path_(std::move(path)) {}

  // `authorization`: "Bearer WORD"; the scheme in any case. How long it takes does not tell how
  // much of a wrong word is right.
  Verdict judge(std::string_view authorization) const;

  // The word as it is now, without white space at its ends; or why there is none.
  std::expected<std::string, std::string> read() const;

 private:
  std::string path_;
};

}  // namespace cuckooguard::http
