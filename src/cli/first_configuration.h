// The configuration that `cuckooguard init` writes: what was answered, in observe mode, with
// comments, and no secret.
//
// Threads: pure functions, but for the current folder. Errors: of answers that make no sense the
// text is no valid configuration.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace cuckooguard::cli {

using Answers = std::map<std::string, std::string, std::less<>>;  // by the name of the flag

std::string answer_to(const Answers& answers, std::string_view flag);  // empty: there is none

// ${NAME}, and nothing beside it that could be a secret.
bool is_variable(std::string_view text);

enum class Part : std::uint8_t { redis, type, source, keys };

std::string first_configuration(const Answers& answers, Part last = Part::keys);

}  // namespace cuckooguard::cli
