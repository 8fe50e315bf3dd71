#include "redis/expiry.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "redis/word.h"
#include "text/ascii.h"
#include "text/number.h"

namespace cuckooguard::redis {
namespace {

// Of its argument `at`, or of the one behind an option from there on.
struct Form {
  std::string_view name{};
  std::uint8_t least = 0;  // arguments
  std::uint8_t at = 0;
  bool is_option = false;
  bool is_in_milliseconds = false;
  bool is_absolute = false;
};
constexpr auto kForms = std::to_array<Form>(
    {{.name = "set", .least = 5, .at = 3, .is_option = true},
     {.name = "getex", .least = 4, .at = 2, .is_option = true},
     {.name = "setex", .least = 4, .at = 2},
     {.name = "psetex", .least = 4, .at = 2, .is_in_milliseconds = true},
     {.name = "expire", .least = 3, .at = 2},
     {.name = "pexpire", .least = 3, .at = 2, .is_in_milliseconds = true},
     {.name = "expireat", .least = 3, .at = 2, .is_absolute = true},
     {.name = "pexpireat", .least = 3, .at = 2, .is_in_milliseconds = true, .is_absolute = true}});

std::optional<Expiry> expiry(std::string_view text, const Form& form) noexcept {
  constexpr std::int64_t kMost = std::int64_t{1} << 42;  // 139 years, which fit as nanoseconds
  constexpr std::int64_t kPerSecond = 1000;
  const auto number = text::number_of<std::int64_t>(text);
  const std::int64_t each = form.is_in_milliseconds ? 1 : kPerSecond;
  if (!number || *number <= 0 || *number > kMost / each) {
    return std::nullopt;
  }
  return Expiry{.at = std::chrono::milliseconds(*number * each), .is_absolute = form.is_absolute};
}

}  // namespace

std::optional<Expiry> expiry_of(const Command& command,
                                std::span<const std::string_view> arguments) noexcept {
  const auto* const found = std::ranges::find(kForms, command.name, &Form::name);
  if (found == kForms.end() || arguments.size() < found->least) {
    return std::nullopt;
  }
  const Form& form = *found;
  if (!form.is_option) {
    return expiry(arguments[form.at], form);
  }
  for (std::size_t i = form.at; i + 1 < arguments.size(); ++i) {
    if (is_any_of(arguments[i], "ex px exat pxat")) {
      return expiry(arguments[i + 1],
                    {.is_in_milliseconds = text::to_lower(arguments[i].front()) == 'p',
                     .is_absolute = arguments[i].size() > 2});
    }
  }
  return std::nullopt;
}

}  // namespace cuckooguard::redis
