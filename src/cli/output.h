// What commands print, and the exit codes they end with.
//
// Threads: free functions.
#pragma once

#include <expected>
#include <string>
#include <vector>

#include "config/diagnostic.h"

namespace cuckooguard::cli {

// As sysexits.h has them; 0 and 1 are the usual ones.
inline constexpr int kExitFailure = 1;
inline constexpr int kExitUsage = 64;
inline constexpr int kExitConfiguration = 78;

// The text; an error goes to standard error.
int print(const std::expected<std::string, std::string>& text);

// What is wrong with a configuration: kExitConfiguration.
int report(const std::vector<config::Diagnostic>& errors);
int report(const std::string& path, const std::vector<std::string>& refusals);

}  // namespace cuckooguard::cli
