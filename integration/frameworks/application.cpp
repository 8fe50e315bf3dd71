#include "frameworks/application.h"

#include <charconv>
#include <sstream>

#include <gtest/gtest.h>

#include "harness/child_process.h"
#include "harness/deadline.h"
#include "harness/temporary_directory.h"

namespace cuckooguard::harness {
namespace {

constexpr std::string_view kExisting = "1,2,500,999,1000";

std::map<std::string, Step> steps_of(const std::string& output) {
  std::map<std::string, Step> steps;
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);) {
    auto values = values_of(line);
    steps[values["step"]] = {.lookups = number(values["lookups"]),
                             .found = number(values["found"]),
                             .database_queries = number(values["database_queries"])};
  }
  return steps;
}

std::string in_list(const std::vector<std::uint64_t>& ids) {
  std::string list;
  for (const std::uint64_t id : ids) {
    list += (list.empty() ? "" : ",") + std::to_string(id);
  }
  return list;
}

}  // namespace

std::map<std::string, std::string> values_of(const std::string& line) {
  std::map<std::string, std::string> values;
  std::istringstream words(line);
  for (std::string word; words >> word;) {
    const std::size_t equals = word.find('=');
    values[word.substr(0, equals)] = equals == std::string::npos ? "" : word.substr(equals + 1);
  }
  return values;
}

std::uint64_t number(const std::string& text) {
  std::uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

std::string in_hex(std::string_view bytes) {
  std::string hex;
  for (const char byte : bytes) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    const auto value = static_cast<unsigned char>(byte);
    hex += {kDigits[value / 16U], kDigits[value % 16U]};
  }
  return hex;
}

std::map<std::string, Step> run_application(const Application& application,
                                            const GuardedCache& cache,
                                            const Users& users,
                                            Later later) {
  const TemporaryDirectory directory;
  std::vector<std::string> command = application.program;
  command.insert(command.end(),
                 {cache.port(),
                  users.address,
                  std::string(kExisting),
                  in_list(cache.absent_ids(kAbsentLookups))});
  if (later == Later::inserted) {
    command.push_back(std::to_string(kLater));
  }
  ChildProcess program(command, {directory / "output", directory / "errors"});
  const auto output = [&] { return read_whole_file(directory / "output"); };
  const auto has_looked_in_vain = [&] {
    return output().contains("step=absent") || !program.is_running();
  };
  if (later == Later::inserted && eventually(has_looked_in_vain)) {
    users.insert(kLater);
  }
  EXPECT_EQ(program.exit_code(), 0)
      << output() << read_whole_file(directory / "errors") << cache.log();
  return steps_of(output());
}

}  // namespace cuckooguard::harness
