// Whom a process is connected to, as the kernel has it.
//
// Errors: nothing of a process that is not there.
#pragma once

#include <cstdint>
#include <set>

#include <sys/types.h>

namespace cuckooguard::harness {

// The other ends of its TCP connections over IPv4, also of those that are being made.
std::set<std::uint16_t> peer_ports(pid_t pid);

}  // namespace cuckooguard::harness
