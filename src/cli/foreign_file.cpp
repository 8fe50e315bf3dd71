#include <algorithm>
#include <array>
#include <limits>
#include <string_view>
#include <utility>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/options.h"
#include "cli/whole_file.h"
#include "foreign/go_zero.h"
#include "foreign/redisson.h"
#include "foreign/seiflotfy.h"
#include "keyspace/printable.h"

namespace cuckooguard::cli {
namespace {

foreign::GuavaFunnel funnel_of(const ForeignFile& file) {
  return file.funnel == "long" ? foreign::GuavaFunnel::java_long : foreign::GuavaFunnel::utf8;
}

foreign::Shape shape_of(const ForeignFile& file) {
  return {.bits = file.bits, .hashes = file.hashes};
}

std::int64_t java_long(std::uint64_t capacity) {
  return static_cast<std::int64_t>(
      std::min<std::uint64_t>(capacity, std::numeric_limits<std::int64_t>::max()));
}

foreign::FilterOrWhyNot read_go_zero(std::string bytes, const ForeignFile& file) {
  return foreign::read_go_zero(std::move(bytes), file.bits);
}

foreign::FilterOrWhyNot read_redisson(std::string bytes, const ForeignFile& file) {
  return foreign::read_redisson(std::move(bytes), shape_of(file));
}

foreign::FilterOrWhyNot read_guava(std::string bytes, const ForeignFile& file) {
  return foreign::read_guava(std::move(bytes), funnel_of(file));
}

foreign::FilterOrWhyNot read_guava_bitmap(std::string bytes, const ForeignFile& file) {
  return foreign::read_guava_bitmap(
      std::move(bytes),
      {.shape = shape_of(file),
       .strategy = file.strategy == "murmur128_mitz_64" ? foreign::GuavaStrategy::murmur128_mitz_64
                                                        : foreign::GuavaStrategy::murmur128_mitz_32,
       .funnel = funnel_of(file)});
}

foreign::FilterOrWhyNot read_seiflotfy(std::string bytes, const ForeignFile& /*file*/) {
  return foreign::read_seiflotfy(std::move(bytes));
}

using Wanted = ForeignFile::Wanted;

foreign::FilterOrWhyNot make_go_zero(const ForeignFile& file, const Wanted& /*wanted*/) {
  return read_go_zero({}, file);
}

foreign::FilterOrWhyNot make_redisson(const ForeignFile& /*file*/, const Wanted& wanted) {
  const auto shape = foreign::redisson_shape(java_long(wanted.capacity), wanted.rate);
  return shape ? foreign::read_redisson({}, *shape) : std::unexpected(shape.error());
}

foreign::FilterOrWhyNot make_guava(const ForeignFile& file, const Wanted& wanted) {
  const auto shape = foreign::guava_shape(java_long(wanted.capacity), wanted.rate);
  return shape ? foreign::make_guava(*shape, funnel_of(file)) : std::unexpected(shape.error());
}

foreign::FilterOrWhyNot make_guava_bitmap(const ForeignFile& file, const Wanted& wanted) {
  if (wanted.capacity == 0) {
    return read_guava_bitmap({}, file);
  }
  const auto shape = foreign::guava_shape(java_long(wanted.capacity), wanted.rate);
  if (!shape) {
    return std::unexpected(shape.error());
  }
  ForeignFile shaped = file;
  shaped.bits = shape->bits;
  shaped.hashes = shape->hashes;
  return read_guava_bitmap({}, shaped);
}

foreign::FilterOrWhyNot make_seiflotfy(const ForeignFile& /*file*/, const Wanted& wanted) {
  return foreign::make_seiflotfy(wanted.capacity);
}

struct Format {
  std::string_view name;
  std::string_view told_by;                 // flags with what its bytes do not tell
  std::array<std::string_view, 2> made_of;  // one of them
  std::string_view why_no_item;             // that add() refuses
  bool is_bitmap;
  foreign::FilterOrWhyNot (*read)(std::string bytes, const ForeignFile& file);
  foreign::FilterOrWhyNot (*make)(const ForeignFile& file, const Wanted& wanted);
};

constexpr std::string_view kShape = "--bits and --hashes";
constexpr std::string_view kPlan = "--capacity and --rate";
constexpr std::string_view kNoLong = "is no whole number of 64 bits, as --funnel long wants it";

constexpr std::array kFormats = std::to_array<Format>({
    {.name = "go-zero",
     .told_by = "--bits",
     .made_of = {"--bits", "--bits"},
     .why_no_item = "",
     .is_bitmap = true,
     .read = read_go_zero,
     .make = make_go_zero},
    {.name = "redisson",
     .told_by = kShape,
     .made_of = {kPlan, kPlan},
     .why_no_item = "",
     .is_bitmap = true,
     .read = read_redisson,
     .make = make_redisson},
    {.name = "guava",
     .told_by = "",
     .made_of = {kPlan, kPlan},
     .why_no_item = kNoLong,
     .is_bitmap = false,
     .read = read_guava,
     .make = make_guava},
    {.name = "guava-bitmap",
     .told_by = kShape,
     .made_of = {kPlan, kShape},
     .why_no_item = kNoLong,
     .is_bitmap = true,
     .read = read_guava_bitmap,
     .make = make_guava_bitmap},
    {.name = "seiflotfy",
     .told_by = "",
     .made_of = {"--capacity", "--capacity"},
     .why_no_item = "has no room: the filter is full",
     .is_bitmap = false,
     .read = read_seiflotfy,
     .make = make_seiflotfy},
});

const Format* format_of(const ForeignFile& file) {
  const auto* const found = std::ranges::find(kFormats, file.format, &Format::name);
  return found == kFormats.end() ? nullptr : found;
}

std::unexpected<std::string> no_format(const ForeignFile& file) {
  return std::unexpected("--format " + file.format + " is none");
}

// The flags by which a new filter was described: "--bits and --hashes".
std::string flags_given(const ForeignFile& file, const Wanted& wanted) {
  std::vector<std::string_view> flags;
  const auto add = [&](bool is_given, std::string_view flag) {
    if (is_given) {
      flags.push_back(flag);
    }
  };
  add(file.bits != 0, "--bits");
  add(file.hashes != 0, "--hashes");
  add(wanted.capacity != 0, "--capacity");
  add(wanted.rate != 0, "--rate");
  return fmt::format("{}", fmt::join(flags, " and "));
}

}  // namespace

CLI::Option* ForeignFile::add(CLI::App& command) {
  std::vector<std::string> names;
  names.reserve(kFormats.size());
  for (const Format& each : kFormats) {
    names.emplace_back(each.name);
  }
  CLI::Option* const of_library =
      command
          .add_option("--format",
                      format,
                      "Of another library: " + fmt::format("{}", fmt::join(names, ", ")))
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
  return of_library;
}

std::optional<std::string> ForeignFile::missing_flags() const {
  const Format* const known = format_of(*this);
  if (known != nullptr && ((known->told_by.contains("--bits") && bits == 0) ||
                           (known->told_by.contains("--hashes") && hashes == 0))) {
    return fmt::format(
        "--format {} needs {}, which the bitmap does not tell", format, known->told_by);
  }
  return std::nullopt;
}

foreign::FilterOrWhyNot ForeignFile::read_bytes(std::string bytes) const {
  const Format* const known = format_of(*this);
  if (known == nullptr) {
    return no_format(*this);
  }
  return known->read(std::move(bytes), *this);
}

foreign::FilterOrWhyNot ForeignFile::read(const std::string& path) const {
  if (auto missing = missing_flags()) {
    return std::unexpected(*std::move(missing));
  }
  auto bytes = read_whole_file(path, kFileBytesMax);
  if (!bytes) {
    return std::unexpected(bytes.error());
  }
  auto filter = read_bytes(*std::move(bytes));
  return filter ? std::move(filter)
                : foreign::FilterOrWhyNot(std::unexpected(path + ": " + filter.error()));
}

foreign::FilterOrWhyNot ForeignFile::make(const Wanted& wanted) const {
  const Format* const known = format_of(*this);
  if (known == nullptr) {
    return no_format(*this);
  }
  const auto& [first, second] = known->made_of;
  const std::string given = flags_given(*this, wanted);
  if (given != first && given != second) {
    return std::unexpected(fmt::format("--format {} is made of {}{}{}; given: {}",
                                       format,
                                       first,
                                       first == second ? "" : ", or of ",
                                       first == second ? "" : second,
                                       given.empty() ? "none of them" : given));
  }
  return known->make(*this, wanted);
}

bool ForeignFile::is_bitmap() const {
  const Format* const known = format_of(*this);
  return known != nullptr && known->is_bitmap;
}

std::string ForeignFile::refused_item(std::string_view item) const {
  const Format* const known = format_of(*this);
  return keyspace::printable(item) + " " + std::string(known == nullptr ? "" : known->why_no_item);
}

std::string told(const foreign::Facts& facts) {
  const bool is_cuckoo = facts.items.has_value();
  return fmt::format("format: {}\n{}: {}\nhashes: {}\nfill: {:.4f}\nfalse_positive_rate: {:.6f}\n",
                     facts.format,
                     is_cuckoo ? "slots" : "bits",
                     facts.bits_or_slots,
                     facts.hashes,
                     facts.fill,
                     facts.false_positive_rate);
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
