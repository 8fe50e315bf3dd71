// The tables of a namespace as an operator names them: a name, or a pattern in which `*` stands for
// any characters, or none, and `?` for one. Nothing else is special, and nothing escapes: a table
// with such a character in its name can only be named by a pattern.
//
// Threads: free functions.
// Cost: linear in the name for patterns of one `*`; their product at most.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cuckooguard::config {

enum class NameCase : std::uint8_t { exact, ignored };  // ignored: A to Z alone

bool is_table_pattern(std::string_view name);

// `?` is one byte.
bool matches_table(std::string_view pattern, std::string_view name, NameCase names);

bool matches_any_table(std::span<const std::string> patterns,
                       std::string_view name,
                       NameCase names);

// Adds those of `wanted` that are no patterns, and that no table is called, as they are.
void add_missing_names(std::span<const std::string> wanted,
                       NameCase names,
                       std::vector<std::string>& tables);

}  // namespace cuckooguard::config
