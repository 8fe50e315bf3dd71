// When a command has its key expire: SET, SETEX, PSETEX, EXPIRE and its like, GETEX. Not: fields of
// hashes, RESTORE, MSETEX.
//
// Threads: pure functions. Errors: nothing, for what Redis would refuse.
#pragma once

#include <chrono>
#include <optional>
#include <span>
#include <string_view>

#include "redis/command_table.h"

namespace cuckooguard::redis {

struct Expiry {
  std::chrono::milliseconds at{};  // from now; or, if is_absolute, of the Unix clock
  bool is_absolute = false;

  bool operator==(const Expiry&) const = default;
};

std::optional<Expiry> expiry_of(const Command& command,
                                std::span<const std::string_view> arguments) noexcept;

}  // namespace cuckooguard::redis
