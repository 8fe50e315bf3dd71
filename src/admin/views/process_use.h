// What this process uses of the machine, as Prometheus's own client libraries tell it (process_*).
//
// Threads: any. Errors: what the kernel does not tell is 0.
#pragma once

namespace cuckooguard::views {

struct ProcessUse {
  double cpu_seconds = 0;
  double resident_bytes = 0;
  double virtual_bytes = 0;
  double start_time_seconds = 0;  // since 1970
  double open_descriptors = 0;
  double descriptors_max = 0;
};

ProcessUse process_use();

}  // namespace cuckooguard::views
