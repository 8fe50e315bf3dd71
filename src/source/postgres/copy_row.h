// A row of COPY … TO STDOUT in text format: values between tabs, NULL as \N, other bytes that mean
// something behind backslashes.
//
// Threads: free functions. Errors: false, of a row with another number of columns.
// Source: PostgreSQL's documentation of COPY, "Text Format", and what CopyAttributeOutText writes.
#pragma once

#include <optional>
#include <span>
#include <string_view>

namespace cuckooguard::source {

// Values are undone in place: views into `row`, which has no line end.
bool parse_copy_row(std::span<char> row, std::span<std::optional<std::string_view>> values);

}  // namespace cuckooguard::source
