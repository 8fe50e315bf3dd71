#include "harness/missing.h"

#include <utility>

#include "harness/child_process.h"

namespace cuckooguard::harness {

std::optional<std::string> missing_program(const std::string& program, const std::string& package) {
  return run_program({"/bin/sh", "-c", "command -v \"$0\"", program}).exit_code == 0
             ? std::nullopt
             : std::optional(program + " is not installed (Debian: " + package + ")");
}

std::optional<std::string> missing_packages(const std::string& packages,
                                            std::vector<std::string> probe) {
  return run_program(std::move(probe)).exit_code == 0
             ? std::nullopt
             : std::optional("of Debian's packages " + packages +
                             " not all are installed: ./dev test does so");
}

std::optional<std::string> missing_node_module(const std::filesystem::path& folder,
                                               const std::string& module) {
  return std::filesystem::exists(folder / "node_modules" / module)
             ? std::nullopt
             : std::optional(module + " is not installed below " + folder.string() +
                             ": ./dev test does so, by npm and its registry");
}

}  // namespace cuckooguard::harness
