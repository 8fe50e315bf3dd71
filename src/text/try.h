// `TRY(f())` is the value in f's std::expected. If that has an error instead, TRY returns it from
// the enclosing function, whose std::expected has the same error type, or one made of it.
//
//   const auto rows = TRY(connection.ask(sql));
//   TRY(connection.run("BEGIN"));  // std::expected<void, …>
//
// Limits: the value is moved out of the result, so what must live to the end of the block (a lock,
// a transaction) needs a name. TRY stands alone: as a statement, the whole of a right-hand side, or
// the only argument of a call; what else is in an expression may be evaluated before the return, or
// not. No TRY within a TRY, nor in a coroutine.
// It is a statement expression of GCC and Clang: standard C++ has none that returns.
#pragma once

#include <expected>
#include <utility>

// NOLINTNEXTLINE(cppcoreguidelines-macro-usage): only a macro can return from its caller
#define TRY(...)                                        \
  __extension__({                                       \
    auto tried = __VA_ARGS__;                           \
    if (!tried) {                                       \
      return std::unexpected(std::move(tried).error()); \
    }                                                   \
    *std::move(tried);                                  \
  })
