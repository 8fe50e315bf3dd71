// One thing that is wrong in a configuration file, for the operator's eyes.
#pragma once

#include <string>

namespace cuckooguard::config {

struct Diagnostic {
  std::string file;
  int line = 0;      // from 1; 0: the file as a whole
  int column = 0;    // from 1
  std::string what;  // may have several lines

  // file:line:column: what
  std::string text() const;
};

}  // namespace cuckooguard::config
