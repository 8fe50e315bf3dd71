// Why a file could not be opened or created, for the operator: the system's reason, and if that is
// about rights, which user this process is, who owns the file or its folder, and what to do.
//
//   Permission denied: /var/lib/cuckooguard belongs to 0:0 with mode 0755, and this process is
//   65532:65532; chown -R 65532:65532 /var/lib/cuckooguard
//
// Threads: free functions. Errors: what cannot be determined is left out.
#pragma once

#include <string>

namespace cuckooguard::filter {

// `error`: errno of opening the file at `path`, or of making one in it if that is a folder.
std::string write_error(int error, const std::string& path);

// user:group, as numbers: a container has no names for them.
std::string ids_of_process();

// Of a file.
std::string folder_of(const std::string& path);

}  // namespace cuckooguard::filter
