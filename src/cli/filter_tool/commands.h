// `cuckooguard filter`: looks into filter files; makes, fills and moves those of other libraries.
#pragma once

#include <chrono>
#include <cstdint>
#include <expected>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/flags.h"
#include "cli/redis_call.h"
#include "config/sources.h"
#include "foreign/filter.h"
#include "foreign/format.h"
#include "formats/formats.h"

namespace cuckooguard::cli {

void add_filter_commands(Parser app, Commands& commands);

// A filter of another library, as `cuckooguard filter` is told of it: how it is read, of a file or
// of what Redis has, and made.
//
// Threads: the main thread's; files are only read. Errors: a sentence. Limits: kFileBytesMax.
struct ForeignFile {
  static constexpr std::uint64_t kFileBytesMax = std::uint64_t{16} << 30U;

  std::string format;  // empty: it is one of the guard's own
  std::uint64_t bits = 0;
  std::uint32_t hashes = 0;
  std::string strategy = "murmur128_mitz_32";
  std::string funnel = "utf8";
  foreign::Formats formats = foreign::all_formats();

  bool is_given() const { return !format.empty(); }
  Option add(Parser command);                        // `--format` itself
  std::optional<std::string> missing_flags() const;  // in words
  // Of this file.
  foreign::FilterOrWhyNot read(const std::string& path) const;
  // Without a look at missing_flags().
  foreign::FilterOrWhyNot read_bytes(std::string bytes) const;

  // An empty one; what it is made of, and what must not be said of it, is the format's.
  using Wanted = foreign::Wanted;
  foreign::FilterOrWhyNot make(const Wanted& wanted) const;

  bool is_bitmap() const;  // of Redis
  bool has_shape_in_redis() const;
  // Why add() has refused an item.
  std::string refused_item(std::string_view item) const;
  const foreign::Format* known() const;  // null: not one of `formats`
};

// The parameters of a filter that an application, and every later command, must know, one
// `name: value` per line, and how full it is.
std::string told(const foreign::Facts& facts);

// What the filter says of itself, one `name: value` per line.
std::expected<std::string, std::string> inspect_foreign(const ForeignFile& file,
                                                        const std::string& path);
// One line per item: `absent` or `may exist`, and the item.
std::expected<std::string, std::string> query_foreign(const ForeignFile& file,
                                                      const std::string& path,
                                                      const std::vector<std::string>& items);

// `cuckooguard filter create|add`: filters of other libraries, in files, without those libraries.
//
// Threads: the main thread's. Errors: a sentence, and the file is as it was; only run() prints.
// Limits: an item of standard input is a line, held as a whole.

// `cuckooguard filter create FILE --format FORMAT`, and what the format is made of
struct CreateFilter {
  std::string path;
  ForeignFile foreign{};
  ForeignFile::Wanted wanted{};

  Parser add(Parser filter);
  int run() const;
};

// `cuckooguard filter add FILE --format FORMAT [ITEM...]`
struct AddToFilter {
  std::string path;
  std::vector<std::string> items;  // none, or "-": the lines of standard input
  ForeignFile foreign{};

  Parser add(Parser filter);
  int run() const;
};

// Its parameters for the application.
std::expected<std::string, std::string> create_filter(const CreateFilter& options);

// How many, and how full the filter is now. A line is an item as it stands there, an empty one too.
std::expected<std::string, std::string> add_to_filter(const AddToFilter& options,
                                                      std::istream& lines);

// `cuckooguard filter import|export`: bitmaps of other libraries, from Redis into files and back.
//
// A bitmap only ever gains bits. What an application adds while one is read may be missing in the
// file, and one that is replaced meanwhile is refused; what is added between import and export,
// Redis loses.
//
// Threads: the main thread's. Errors: a sentence, and what was to be written is as it was; only
// run() prints. Limits: 512 MiB, as Redis's strings; kTimeout for each reply.

// Where the bitmap is, or is to be.
struct RedisKey {
  static constexpr std::chrono::seconds kTimeout{10};

  std::optional<config::Address> address;
  std::string key;
  std::uint32_t db = 0;
  Login login{};  // the password of REDISCLI_AUTH, if no file has one
  TlsFlags tls{};

  void add(Parser command);
  std::expected<RedisCall, std::string> open() const;  // logged in, in its db
};

// `cuckooguard filter import FILE --format FORMAT --redis ADDRESS --key KEY`
struct ImportFilter {
  std::string path;
  bool force = false;  // into a file that exists
  ForeignFile foreign{};
  RedisKey redis{};

  Parser add(Parser filter);
  int run() const;
};

// `cuckooguard filter export FILE --format FORMAT --redis ADDRESS --key KEY`
struct ExportFilter {
  std::string path;
  ForeignFile foreign{};
  RedisKey redis{};

  Parser add(Parser filter);
  int run() const;
};

// The parameters that later commands need. For Redisson the hash beside the key has them.
std::expected<std::string, std::string> import_filter(const ImportFilter& options);

// In pieces into a key beside it, then RENAME: nobody sees half of it. With it, in one MULTI,
// Redisson's hash, unless it says the same already.
std::expected<std::string, std::string> export_filter(const ExportFilter& options);

// `cuckooguard filter inspect|query`: what a filter file says, for an operator who asks "is this
// key in it?".
//
// Threads: the main thread's; files are only read. Errors: a sentence; only run() prints.

// `cuckooguard filter inspect FILE [--format FORMAT]`
struct InspectFilter {
  std::string path;
  ForeignFile foreign{};

  Parser add(Parser filter);
  int run() const;
};

// `cuckooguard filter query FILE --secret FILE --template TEMPLATE KEY...`, or of another library's
// `cuckooguard filter query FILE --format FORMAT ITEM...`
struct QueryFilter {
  std::string path;
  std::string secret_path;
  std::string key_template;
  std::vector<std::string> keys;  // or items
  ForeignFile foreign{};

  Parser add(Parser filter);
  int run() const;
};

// One `name: value` per line. All checksums have been verified; the secret is not needed.
std::expected<std::string, std::string> inspect_filter(const InspectFilter& options);

// One line per key: what the file says of it (`absent`, `may exist`, or `unguarded`: no key of the
// template), and the key.
std::expected<std::string, std::string> query_filter(const QueryFilter& options);

}  // namespace cuckooguard::cli
