// What this process may use of its machine.
//
// Threads: before there are others. Errors: none; what cannot be raised stays as it is.
#pragma once

namespace cuckooguard::app {

// `configured`, or half of the cores this process may use, at least one.
unsigned worker_count(unsigned configured);

// Two descriptors per client; the soft limit of a shell is often 1024.
void raise_descriptor_limit();

}  // namespace cuckooguard::app
