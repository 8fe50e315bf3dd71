// Splits the line of an inline command into its arguments, quotes and escapes included, as
// redis-cli users type it.
//
// Threads: any, on different `arguments`. Lifetimes: see Arguments.
// Errors: false for unbalanced quotes, and for a closing quote that is not followed by a blank.
// Source: Redis 7.0.15 sds.c, sdssplitargs. Its corners, kept: "\v" and "\f" are blanks between
// arguments and behind a
//   closing quote but do not end an unquoted argument; a quote may open inside an argument (a"b c"
//   is one).
#pragma once

#include <string_view>

#include "resp/arguments.h"

namespace cuckooguard::resp {

// `line` holds no NUL (Redis's line search stops at one) and no line end.
bool split_inline(std::string_view line, Arguments& arguments);

}  // namespace cuckooguard::resp
