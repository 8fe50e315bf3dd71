// One field of GUARD.INFO of a namespace; empty if it is not there.
#pragma once

#include <string>

#include "harness/guard_process.h"

namespace cuckooguard::harness {

inline std::string info_field(const GuardProcess& guard,
                              const std::string& ns,
                              const std::string& field) {
  const std::string text = guard.call({"GUARD.INFO", ns});
  const std::string wanted = "\r\n" + field + ":";
  const std::size_t found = text.find(wanted);
  if (found == std::string::npos) {
    return {};
  }
  const std::size_t begin = found + wanted.size();
  return text.substr(begin, text.find("\r\n", begin) - begin);
}

}  // namespace cuckooguard::harness
