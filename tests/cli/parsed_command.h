// What a command line comes to, of the program with all guests that it was built with.
#pragma once

#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "cli/options.h"
#include "guests/guests.h"

namespace cuckooguard::cli {

inline std::optional<Command> parse(std::vector<const char*> words, int& exit_code) {
  words.insert(words.begin(), "cuckooguard");
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  auto options =
      parse_options(static_cast<int>(words.size()), words.data(), guests::program(), exit_code);
  testing::internal::GetCapturedStdout();
  testing::internal::GetCapturedStderr();
  return options;
}

}  // namespace cuckooguard::cli
