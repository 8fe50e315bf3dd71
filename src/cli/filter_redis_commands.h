// `cuckooguard filter import|export`: bitmaps of other libraries, from Redis into files and back.
//
// A bitmap only ever gains bits. What an application adds while one is read may be missing in the
// file, and one that is replaced meanwhile is refused; what is added between import and export,
// Redis loses.
//
// Threads: the main thread's. Errors: a sentence, and what was to be written is as it was; only
// run() prints. Limits: 512 MiB, as Redis's strings; kTimeout for each reply.
#pragma once

#include <chrono>
#include <expected>
#include <optional>
#include <string>

#include "cli/flags.h"
#include "cli/foreign_file.h"
#include "cli/redis_call.h"
#include "config/config.h"

namespace cuckooguard::cli {

// Where the bitmap is, or is to be.
struct RedisKey {
  static constexpr std::chrono::seconds kTimeout{10};

  std::optional<config::Address> address;
  std::string key;
  std::uint32_t db = 0;
  Login login{};  // the password of REDISCLI_AUTH, if no file has one
  TlsFlags tls{};

  void add(CLI::App& command);
  std::expected<RedisCall, std::string> open() const;  // logged in, in its db
};

// `cuckooguard filter import FILE --format FORMAT --redis ADDRESS --key KEY`
struct ImportFilter {
  std::string path;
  bool force = false;  // into a file that exists
  ForeignFile foreign{};
  RedisKey redis{};

  CLI::App& add(CLI::App& filter);
  int run() const;
};

// `cuckooguard filter export FILE --format FORMAT --redis ADDRESS --key KEY`
struct ExportFilter {
  std::string path;
  ForeignFile foreign{};
  RedisKey redis{};

  CLI::App& add(CLI::App& filter);
  int run() const;
};

// What later commands must be told of the file. Of Redisson the hash beside the key says it.
std::expected<std::string, std::string> import_filter(const ImportFilter& options);

// In pieces into a key beside it, then RENAME: nobody sees half of it. With it, in one MULTI,
// Redisson's hash, unless it says the same already.
std::expected<std::string, std::string> export_filter(const ExportFilter& options);

}  // namespace cuckooguard::cli
