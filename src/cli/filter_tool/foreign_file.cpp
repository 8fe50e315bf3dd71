#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "filter_tool/commands.h"
#include "filter_tool/whole_file.h"
#include "foreign/format.h"
#include "text/printable.h"
#include "text/try.h"
#include "text/words.h"

namespace cuckooguard::cli {
namespace {

foreign::Parameters stated_in(const ForeignFile& file) {
  return {.bits = file.bits,
          .hashes = file.hashes,
          .strategy = file.strategy == foreign::kStrategyNames[1]
                          ? foreign::Strategy::murmur128_mitz_64
                          : foreign::Strategy::murmur128_mitz_32,
          .funnel = file.funnel == foreign::kFunnelNames[1] ? foreign::Funnel::java_long
                                                            : foreign::Funnel::utf8};
}

std::unexpected<std::string> no_format(const ForeignFile& file) {
  return std::unexpected("--format " + file.format + " does not exist");
}

// The flags by which a new filter was described: "--bits and --hashes".
std::string flags_given(const ForeignFile& file, const foreign::Wanted& wanted) {
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
  return text::joined(flags, " and ");
}

std::vector<std::string> names_of(std::span<const std::string_view> names) {
  return {names.begin(), names.end()};
}

}  // namespace

const foreign::Format* ForeignFile::known() const {
  return foreign::find_format(formats, format);
}

Option ForeignFile::add(Parser command) {
  std::vector<std::string> names;
  for (const foreign::Format* const each : formats) {
    if (each->read != nullptr) {
      names.emplace_back(each->name);
    }
  }
  const Option of_library =
      command.add_option("--format", format, "FORMAT", "Format of another library's filter")
          .one_of(names);
  command.add_option(
      "--bits", bits, "N", "Number of bits in the bitmap, as set in the application");
  command.add_option("--hashes", hashes, "N", "Bits set per item (number of hash functions)");
  command.add_option("--strategy", strategy, "NAME", "Guava's hashing strategy, for guava-bitmap")
      .one_of(names_of(foreign::kStrategyNames));
  command.add_option("--funnel", funnel, "NAME", "Guava funnel that the application uses")
      .one_of(names_of(foreign::kFunnelNames));
  return of_library;
}

std::optional<std::string> ForeignFile::missing_flags() const {
  const foreign::Format* const found = known();
  const bool has_bits = found != nullptr && (found->bits || found->has_shape_in_redis());
  const bool has_hashes = found != nullptr && (found->hashes || found->has_shape_in_redis());
  if ((has_bits && bits == 0) || (has_hashes && hashes == 0)) {
    return fmt::format("--format {} needs {}, which the bitmap does not record",
                       format,
                       has_hashes ? "--bits and --hashes" : "--bits");
  }
  return std::nullopt;
}

foreign::FilterOrWhyNot ForeignFile::read_bytes(std::string bytes) const {
  const foreign::Format* const found = known();
  if (found == nullptr || found->read == nullptr) {
    return no_format(*this);
  }
  return found->read(std::move(bytes), stated_in(*this));
}

foreign::FilterOrWhyNot ForeignFile::read(const std::string& path) const {
  if (auto missing = missing_flags()) {
    return std::unexpected(*std::move(missing));
  }
  auto bytes = TRY(read_whole_file(path, kFileBytesMax));
  auto filter = read_bytes(std::move(bytes));
  return filter ? std::move(filter)
                : foreign::FilterOrWhyNot(std::unexpected(path + ": " + filter.error()));
}

foreign::FilterOrWhyNot ForeignFile::make(const Wanted& wanted) const {
  const foreign::Format* const found = known();
  if (found == nullptr || found->make == nullptr) {
    return no_format(*this);
  }
  const auto& [first, second] = found->made_of;
  const std::string given = flags_given(*this, wanted);
  if (given != first && given != second) {
    return std::unexpected(fmt::format("--format {} needs {}{}{}; given: {}",
                                       format,
                                       first,
                                       first == second ? "" : ", or ",
                                       first == second ? "" : second,
                                       given.empty() ? "none of these" : given));
  }
  return found->make(stated_in(*this), wanted);
}

bool ForeignFile::is_bitmap() const {
  return known() != nullptr && known()->is_bitmap();
}

bool ForeignFile::has_shape_in_redis() const {
  return known() != nullptr && known()->has_shape_in_redis();
}

std::string ForeignFile::refused_item(std::string_view item) const {
  return text::printable(item) + " " + std::string(known() == nullptr ? "" : known()->why_no_item);
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
  const auto filter = TRY(file.read(path));
  const foreign::Facts facts = filter->facts();
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
  const auto filter = TRY(file.read(path));
  std::string text;
  for (const std::string& item : items) {
    text += fmt::format("{:<9} {}\n", filter->may_contain(item) ? "may exist" : "absent", item);
  }
  return text;
}

}  // namespace cuckooguard::cli
