// `cuckooguard init`: from a Redis and a database to a configuration that observes. It asks on the
// terminal what no flag says, tries each answer on the servers themselves, and says what they lack
// in words that can be pasted: SQL, and one ACL SETUSER. Without a terminal a flag that is missing
// is an error, and what a server lacks is told of all of them at once.
//
// Threads: the main thread's; servers are only read. Errors: told on standard error, with the exit
// code; nothing is written then. Secrets: a password is named by its file or its variable, and
// stands nowhere else.
// Not asked: TLS, several templates, columns of other names; config/cuckooguard.yaml has them.
#pragma once

#include <iosfwd>
#include <string>

#include "cli/first_configuration.h"

namespace CLI {  // NOLINT(readability-identifier-naming)
class App;
}  // namespace CLI

namespace cuckooguard::cli {

struct Init {
  Answers answers;
  std::string output = "cuckooguard.yaml";
  bool force = false;  // overwrite it

  CLI::App& add(CLI::App& app);
  int run() const;
};

// `terminal`: where answers are read; null: there is none.
int initialize(const Init& flags, std::istream* terminal);

}  // namespace cuckooguard::cli
