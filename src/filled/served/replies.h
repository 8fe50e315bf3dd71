// What is written of a change that is done to a filter that applications fill.
//
// Threads: any, on different `out`. Errors: RedisBloom's, as replies.
#pragma once

#include <string>
#include <string_view>

#include "filled/store.h"
#include "resp/version.h"

namespace cuckooguard::guard::filled_reply {

inline constexpr std::string_view kWrongKind =
    "WRONGTYPE Operation against a key holding the wrong kind of value";

void of_add(std::string& out, const filled::Change& change, resp::Version version);
void of_add_each(std::string& out, const filled::Change& change, resp::Version version);
void of_set_add(std::string& out, const filled::Change& change, resp::Version version);
void of_erase(std::string& out, const filled::Change& change, resp::Version version);
void of_count(std::string& out, const filled::Change& change, resp::Version version);
void of_create(std::string& out, const filled::Change& change, resp::Version version);
// One if it was done, else zero.
void of_key(std::string& out, const filled::Change& change, resp::Version version);

}  // namespace cuckooguard::guard::filled_reply
