#include "app/commit.h"

#include "git_commit.h"  // made by git_commit.cmake

namespace cuckooguard::app {

std::string_view commit() {
  return CUCKOOGUARD_COMMIT;
}

}  // namespace cuckooguard::app
