// What a client's commands do, as far as the ledger must know: their words as they were sent, names
// in any case.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace cuckooguard::simulation {

using Words = std::vector<std::string>;  // empty: bytes that are no command

std::string lower(std::string text);
bool is_one_of(std::string_view name, std::initializer_list<std::string_view> names);

// GET, MGET, EXISTS.
bool is_answerable_read(const Words& words);
// By a name in lower case: MGET, EXISTS.
bool is_read_of_many(std::string_view name);
// RedisBloom's, which Redis is sent under another name where the proxy does not answer.
bool is_of_filter(std::string_view name);
// May reach Redis in the proxy's own bytes.
bool is_in_other_bytes(std::string_view name);
// CLIENT REPLY's ON, OFF or SKIP in lower case; empty for other commands.
std::string reply_mode(const Words& words);
bool is_subscription(const Words& words);
// CLIENT SETNAME: told to the next connection in `mode: shared`.
bool is_name(const Words& words);
// From here on the proxy may follow or may stop looking: it depends on what the connection is.
bool may_end_reading(const Words& words);
// Redis closes the connection because of it if nobody has logged in there.
bool may_be_too_large(const Words& words);
// These change what the connection is once Redis has replied. Not CLIENT REPLY: it holds from where
// it stands.
bool is_change(const Words& words);

}  // namespace cuckooguard::simulation
