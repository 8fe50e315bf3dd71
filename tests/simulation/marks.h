// In `mode: shared` Redis cannot know whose command it is sent. Here clients sign theirs, with
// bytes that neither Redis nor the proxy looks at and that the proxy leaves as they are:
//
//   *2 CRLF $3 CRLF GET CRLF $1 CRLF a ??     the two bytes behind the last argument
//   GET a    CRLF                             how many blanks end the line
//   *many7 CRLF                               the number in what is no command
//
// MGET and EXISTS that the proxy has shortened are its own bytes: one of their keys tells,
// mark_key() or else an id that only this client asks for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "simulation/command_kinds.h"

namespace cuckooguard::simulation {

inline constexpr std::uint64_t kAttackIds = 1'000'000'000;
inline constexpr std::uint64_t kIdsPerClient = 1'000'000;

std::string mark_key(int client);

// `raw`: a whole command, in arrays or inline.
void sign(std::string& raw, int client);
// Nothing if no client has signed it: it is the proxy's own.
std::optional<int> signer_of(std::string_view raw, const Words& words);

}  // namespace cuckooguard::simulation
