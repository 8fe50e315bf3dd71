// What std::expected has in newer libraries than GCC 12's: and_then() and transform().
#pragma once

#include <expected>
#include <type_traits>
#include <utility>

namespace cuckooguard::source {

// What `next` makes of the value, which may be an error, too; or the error.
template <class Value, class Error, class Next>
auto then(std::expected<Value, Error> had, const Next& next) {
  using Made = std::invoke_result_t<const Next&, Value>;
  if constexpr (requires { typename Made::unexpected_type; }) {
    return had ? next(*std::move(had)) : Made(std::unexpected(std::move(had.error())));
  } else {
    return had ? std::expected<Made, Error>(next(*std::move(had)))
               : std::unexpected(std::move(had.error()));
  }
}

}  // namespace cuckooguard::source
