#include <CLI/Version.hpp>
#include <boost/version.hpp>
#include <fmt/format.h>
#include <hiredis/hiredis.h>
#include <mysql.h>
#include <spdlog/version.h>
#include <sqlite3.h>
#include <xxhash.h>
#include <zlib.h>
#include <zstd.h>

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

int ShowVersion::run() const {
  return print(version_text());
}

std::string version_text() {
  std::string text = "cuckooguard " CUCKOOGUARD_VERSION "\n";
  const auto line = [&text](std::string_view name, std::string_view value) {
    text += fmt::format("{}: {}\n", name, value);
  };
  line("commit", app::commit());
  line("build", CUCKOOGUARD_BUILD_TYPE);
  line("sanitizers", CUCKOOGUARD_SANITIZERS);
  line("compiler", kCompiler);
  line("boost",
       fmt::format(
           "{}.{}.{}", BOOST_VERSION / 100'000, BOOST_VERSION / 100 % 1000, BOOST_VERSION % 100));
  line("cli11", CLI11_VERSION);
  line("fmt", parts_of(FMT_VERSION));
  line("hiredis", fmt::format("{}.{}.{}", HIREDIS_MAJOR, HIREDIS_MINOR, HIREDIS_PATCH));
  line("mariadb-connector-c", mysql_get_client_info());
  line("prometheus-cpp", CUCKOOGUARD_PROMETHEUS_VERSION);
  line("spdlog", fmt::format("{}.{}.{}", SPDLOG_VER_MAJOR, SPDLOG_VER_MINOR, SPDLOG_VER_PATCH));
  line("sqlite", sqlite3_libversion());
  line("xxhash", parts_of(XXH_VERSION_NUMBER));
  line("yaml-cpp", CUCKOOGUARD_YAML_CPP_VERSION);
  line("zlib", zlibVersion());
  line("zstd", ZSTD_versionString());
  return text;
}

}  // namespace cuckooguard::cli
