#include "redis/reading.h"

#include "text/ascii.h"

namespace cuckooguard::redis {
namespace {

const UserAccess kUnrestricted{.is_unrestricted = true};

}  // namespace

bool UserAccess::may(std::size_t command, std::uint32_t ns) const noexcept {
  if (is_unrestricted) {
    return true;
  }
  const KeyAccess access = ns < namespaces.size() ? namespaces[ns] : KeyAccess::none;
  switch (access) {
    case KeyAccess::none:
      return false;
    case KeyAccess::read:
      return on_readable[command];
    case KeyAccess::read_write:
      return on_writable[command];
  }
  return false;
}

UserAccess::Refusal UserAccess::refusal(std::size_t command, std::uint32_t ns) const noexcept {
  if (may(command, ns)) {
    return Refusal::none;
  }
  if (ns >= namespaces.size() || namespaces[ns] == KeyAccess::none) {
    return ns < reads_no_key.size() && reads_no_key[ns] ? Refusal::key : Refusal::unknown;
  }
  return knows_commands ? Refusal::command : Refusal::unknown;
}

std::string ControlReport::why_keys_pass() const {
  switch (state) {
    case State::not_allowed:
      return "Redis denies the guard permissions that it needs (" + why + "): " + hint;
    case State::unsupported:
      return why + ": " + hint;
    case State::unknown:
    case State::allowed:
    case State::limited:
      break;
  }
  return "";
}

const Command* Commands::find_learned(std::string_view name) const {
  if (learned.empty()) {
    return nullptr;
  }
  const auto found = learned.find(text::lower_case(name.substr(0, kLearnedNameBytesMax + 1)));
  return found == learned.end() ? nullptr : &found->second;
}

const UserAccess* Users::find(std::string_view name) const {
  if (trusts_everyone || unrestricted.contains(name)) {
    return &kUnrestricted;
  }
  const auto found = restricted.find(name);
  return found == restricted.end() ? nullptr : &found->second;
}

}  // namespace cuckooguard::redis
