// `${NAME}` and `${NAME:-default}` in a value, as in a shell; `$${` is a literal `${`.
#pragma once

#include <string>
#include <string_view>

#include "config/config_file.h"
#include "config/values.h"

namespace cuckooguard::config {

// The text with its variables put in, or words that say which is missing. The default is taken if
// the variable is unset or empty. What a variable holds is not expanded again.
Parsed<std::string> expand(std::string_view text, const EnvironmentLookup& environment);

}  // namespace cuckooguard::config
