#include "redis/expiry.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "redis/word.h"
#include "text/number.h"

namespace cuckooguard::redis {
namespace {

// Where it stands: `at` arguments behind the name, or behind the first option of that name there.
struct Form {
  std::uint8_t least = 0;  // arguments; 0: it sets none
  std::uint8_t at = 0;
  bool is_option = false;
  bool is_in_milliseconds = false;
  bool is_absolute = false;
};

struct Unit {
  std::string_view name;
  bool is_in_milliseconds;
  bool is_absolute;
};
constexpr std::array<Unit, 4> kUnits{
    {{"ex", false, false}, {"px", true, false}, {"exat", false, true}, {"pxat", true, true}}};

using Forms = std::array<Form, kCommandsMax>;

Forms forms() {
  Forms all{};
  const auto form = [&all](std::string_view name) -> Form& {
    return all.at(command_index(find_command(name)));
  };
  form("set") = {.least = 5, .at = 3, .is_option = true};
  form("getex") = {.least = 4, .at = 2, .is_option = true};
  form("setex") = {.least = 4, .at = 2};
  form("psetex") = {.least = 4, .at = 2, .is_in_milliseconds = true};
  form("expire") = {.least = 3, .at = 2};
  form("pexpire") = {.least = 3, .at = 2, .is_in_milliseconds = true};
  form("expireat") = {.least = 3, .at = 2, .is_absolute = true};
  form("pexpireat") = {.least = 3, .at = 2, .is_in_milliseconds = true, .is_absolute = true};
  return all;
}

const Form& form_of(const Command& command) noexcept {
  static const Forms kForms = forms();
  static const Form kNone;
  const std::span<const Command> all = all_commands();
  const bool is_learned = &command < all.data() || &command >= all.data() + all.size();
  return is_learned ? kNone : kForms[command_index(command)];
}

std::optional<Expiry> expiry(std::string_view text, const Unit& unit) noexcept {
  constexpr std::int64_t kMost = std::int64_t{1} << 42;  // 139 years, which fit as nanoseconds
  constexpr std::int64_t kPerSecond = 1000;
  const auto number = text::number_of<std::int64_t>(text);
  const std::int64_t each = unit.is_in_milliseconds ? 1 : kPerSecond;
  if (!number || *number <= 0 || *number > kMost / each) {
    return std::nullopt;
  }
  return Expiry{.at = std::chrono::milliseconds(*number * each), .is_absolute = unit.is_absolute};
}

}  // namespace

bool may_set_expiry(const Command& command, std::size_t arguments) noexcept {
  const Form& form = form_of(command);
  return form.least != 0 && arguments >= form.least;
}

std::optional<Expiry> expiry_of(const Command& command,
                                std::span<const std::string_view> arguments) noexcept {
  const Form& form = form_of(command);
  if (form.least == 0 || arguments.size() < form.least) {
    return std::nullopt;
  }
  if (!form.is_option) {
    return expiry(arguments[form.at], {{}, form.is_in_milliseconds, form.is_absolute});
  }
  for (std::size_t i = form.at; i + 1 < arguments.size(); ++i) {
    const auto* const unit = std::ranges::find_if(
        kUnits, [&](const Unit& each) { return is_word(arguments[i], each.name); });
    if (unit != kUnits.end()) {
      return expiry(arguments[i + 1], *unit);
    }
  }
  return std::nullopt;
}

}  // namespace cuckooguard::redis
