#include "cli/foreign_file.h"

#include <array>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string_view>
#include <utility>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "foreign/go_zero.h"
#include "foreign/redisson.h"
#include "foreign/seiflotfy.h"

namespace cuckooguard::cli {
namespace {

// What a format needs to be told of a bitmap, since the bitmap does not.
struct Format {
  std::string_view name;
  bool needs_bits;
  bool needs_hashes;
  foreign::FilterOrWhyNot (*read)(std::string bytes, const ForeignFile& file);
};

foreign::GuavaFunnel funnel_of(const ForeignFile& file) {
  return file.funnel == "long" ? foreign::GuavaFunnel::java_long : foreign::GuavaFunnel::utf8;
}

foreign::Shape shape_of(const ForeignFile& file) {
  return {.bits = file.bits, .hashes = file.hashes};
}

constexpr std::array kFormats = std::to_array<Format>({
    {"go-zero",
     true,
     false,
     [](std::string bytes, const ForeignFile& file) {
       return foreign::read_go_zero(std::move(bytes), file.bits);
     }},
    {"redisson",
     true,
     true,
     [](std::string bytes, const ForeignFile& file) {
       return foreign::read_redisson(std::move(bytes), shape_of(file));
     }},
    {"guava",
     false,
     false,
     [](std::string bytes, const ForeignFile& file) {
       return foreign::read_guava(std::move(bytes), funnel_of(file));
     }},
    {"guava-bitmap",
     true,
     true,
     [](std::string bytes, const ForeignFile& file) {
       return foreign::read_guava_bitmap(
           std::move(bytes),
           {.shape = shape_of(file),
            .strategy = file.strategy == "murmur128_mitz_64"
                            ? foreign::GuavaStrategy::murmur128_mitz_64
                            : foreign::GuavaStrategy::murmur128_mitz_32,
            .funnel = funnel_of(file)});
     }},
    {"seiflotfy",
     false,
     false,
     [](std::string bytes, const ForeignFile& /*file*/) {
       return foreign::read_seiflotfy(std::move(bytes));
     }},
});

std::expected<std::string, std::string> bytes_of(const std::string& path) {
  std::error_code error;
  const std::uintmax_t size = std::filesystem::file_size(path, error);
  if (error) {
    return std::unexpected(path + ": " + error.message());
  }
  if (size > ForeignFile::kFileBytesMax) {
    return std::unexpected(path + ": a filter of more than 16 GiB is not read");
  }
  std::string bytes(size, '\0');
  std::ifstream file(path, std::ios::binary);
  if (!file.read(bytes.data(), static_cast<std::streamsize>(size))) {
    return std::unexpected(path + ": it cannot be read");
  }
  return bytes;
}

}  // namespace

void ForeignFile::add(CLI::App& command) {
  std::vector<std::string> names;
  names.reserve(kFormats.size());
  for (const Format& each : kFormats) {
    names.emplace_back(each.name);
  }
  command
      .add_option(
          "--format", format, "Of another library: " + fmt::format("{}", fmt::join(names, ", ")))
      ->check(CLI::IsMember(names))
      ->type_name("FORMAT");
  command.add_option("--bits", bits, "Of a bitmap, as the application has it")->type_name("N");
  command.add_option("--hashes", hashes, "Bits of an item in a bitmap")->type_name("N");
  command.add_option("--strategy", strategy, "Of guava-bitmap")
      ->check(CLI::IsMember({"murmur128_mitz_32", "murmur128_mitz_64"}))
      ->type_name("NAME");
  command.add_option("--funnel", funnel, "How the application gave items to Guava")
      ->check(CLI::IsMember({"utf8", "long"}))
      ->type_name("NAME");
}

foreign::FilterOrWhyNot ForeignFile::read(const std::string& path) const {
  for (const Format& each : kFormats) {
    if (each.name != format) {
      continue;
    }
    if ((each.needs_bits && bits == 0) || (each.needs_hashes && hashes == 0)) {
      return std::unexpected(fmt::format("--format {} needs {}, which the bitmap does not tell",
                                         format,
                                         each.needs_hashes ? "--bits and --hashes" : "--bits"));
    }
    auto bytes = bytes_of(path);
    if (!bytes) {
      return std::unexpected(bytes.error());
    }
    auto filter = each.read(*std::move(bytes), *this);
    return filter ? std::move(filter)
                  : foreign::FilterOrWhyNot(std::unexpected(path + ": " + filter.error()));
  }
  return std::unexpected("--format " + format + " is none");
}

std::expected<std::string, std::string> inspect_foreign(const ForeignFile& file,
                                                        const std::string& path) {
  const auto filter = file.read(path);
  if (!filter) {
    return std::unexpected(filter.error());
  }
  const foreign::Facts facts = (*filter)->facts();
  std::string text = fmt::format("file: {}\nformat: {}\nbytes: {}\nbits_or_slots: {}\nhashes: {}\n",
                                 path,
                                 facts.format,
                                 facts.bytes,
                                 facts.bits_or_slots,
                                 facts.hashes);
  if (facts.items) {
    text += fmt::format("items: {}\n", *facts.items);
  }
  return text + fmt::format("fill: {:.4f}\nfalse_positive_rate: {:.6f}\n",
                            facts.fill,
                            facts.false_positive_rate);
}

std::expected<std::string, std::string> query_foreign(const ForeignFile& file,
                                                      const std::string& path,
                                                      const std::vector<std::string>& items) {
  const auto filter = file.read(path);
  if (!filter) {
    return std::unexpected(filter.error());
  }
  std::string text;
  for (const std::string& item : items) {
    text += fmt::format("{:<9} {}\n", (*filter)->may_contain(item) ? "may exist" : "absent", item);
  }
  return text;
}

}  // namespace cuckooguard::cli
