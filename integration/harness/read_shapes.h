// How applications call each read, one line each: K, L and M stand for keys, "" for an empty
// argument.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cuckooguard::harness {

using Words = std::vector<std::string>;

// What every server that has the command runs without an error if the keys are missing: the guard
// must answer each of them. Not all servers have all: see stat_name().
std::vector<Words> answerable_reads();

// What the guard may leave to Redis: what fails, waits, or is too seldom used. The bytes must be
// the same all the same.
std::vector<Words> other_reads();

// As INFO commandstats calls the command, if it is one of `names`: "get", "object|encoding",
// "VCARD"; else nothing.
std::string stat_name(const Words& read, const std::vector<std::string>& names);

bool is_key(std::string_view word);
// With these keys in place of K, L and M.
Words with_keys(const Words& read, const std::vector<std::string>& keys);
Words in_lower_case(const Words& read);

}  // namespace cuckooguard::harness
