// What is not installed here, in words that say what to do; nothing if it is.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace cuckooguard::harness {

// `program`: a path, or a name in PATH.
std::optional<std::string> missing_program(const std::string& program, const std::string& package);
// `probe` is a command that succeeds where Debian's packages are all there.
std::optional<std::string> missing_packages(const std::string& packages,
                                            std::vector<std::string> probe);
// In `folder`, which npm has filled.
std::optional<std::string> missing_node_module(const std::filesystem::path& folder,
                                               const std::string& module);

}  // namespace cuckooguard::harness
