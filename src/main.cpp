// cuckooguard: see README.md for what it is and src/README.md for the way through the code.

#include <exception>

#include <fmt/format.h>

#include "app/tls_sides.h"
#include "cli/options.h"
#include "cli/output.h"
#include "guests/guests.h"

int main(int argc, char** argv) {
  using namespace cuckooguard;
  app::TlsSides::keep_library_at_exit();
  const cli::Program program = guests::program();
  int exit_code = 0;
  const auto command = cli::parse_options(argc, argv, program, exit_code);
  if (!command) {
    return exit_code;
  }
  try {
    return command->run(program.guests);
  } catch (
      const std::exception& failure) {  // start-up: the port is taken, no memory, no descriptors
    fmt::print(stderr, "cuckooguard: {}\n", failure.what());
    return cli::kExitFailure;
  }
}
