#include <map>
#include <string>
#include <string_view>

#include <CLI/Version.hpp>
#include <boost/version.hpp>
#include <fmt/format.h>
#include <hiredis/hiredis.h>
#include <xxhash.h>

#include "app/commit.h"
#include "cli/options.h"
#include "cli/output.h"

namespace cuckooguard::cli {
namespace {

// 10203 -> 1.2.3
std::string parts_of(unsigned number) {
  constexpr unsigned kFirst = 10'000;
  constexpr unsigned kSecond = 100;
  return fmt::format("{}.{}.{}", number / kFirst, number / kSecond % kSecond, number % kSecond);
}

#if defined(__clang__)
constexpr std::string_view kCompiler = "clang " __clang_version__;
#else
constexpr std::string_view kCompiler = "g++ " __VERSION__;
#endif

}  // namespace

int ShowVersion::run(const app::Guests& guests) const {
  return print(version_text(guests));
}

std::string version_text(const app::Guests& guests) {
  std::string text = "cuckooguard " CUCKOOGUARD_VERSION "\n";
  const auto line = [&text](std::string_view name, std::string_view value) {
    text += fmt::format("{}: {}\n", name, value);
  };
  line("commit", app::commit());
  line("build", CUCKOOGUARD_BUILD_TYPE);
  line("sanitizers", CUCKOOGUARD_SANITIZERS);
  line("compiler", kCompiler);
  std::map<std::string_view, std::string> libraries{
      {"boost",
       fmt::format(
           "{}.{}.{}", BOOST_VERSION / 100'000, BOOST_VERSION / 100 % 1000, BOOST_VERSION % 100)},
      {"cli11", CLI11_VERSION},
      {"fmt", parts_of(FMT_VERSION)},
      {"hiredis", fmt::format("{}.{}.{}", HIREDIS_MAJOR, HIREDIS_MINOR, HIREDIS_PATCH)},
      {"prometheus-cpp", CUCKOOGUARD_PROMETHEUS_VERSION},
      {"xxhash", parts_of(XXH_VERSION_NUMBER)},
      {"yaml-cpp", CUCKOOGUARD_YAML_CPP_VERSION}};
  for (const app::Library& library : guests.libraries) {
    libraries.emplace(library.name, library.version());
  }
  for (const auto& [name, version] : libraries) {
    line(name, version);
  }
  return text;
}

}  // namespace cuckooguard::cli
