#include <cstdint>
#include <iostream>

#include <fmt/format.h>

#include "cli/output.h"
#include "filter_tool/commands.h"
#include "filter_tool/whole_file.h"
#include "text/try.h"

namespace cuckooguard::cli {
namespace {

// How many were added; else of which it was refused.
std::expected<std::uint64_t, std::string> add_lines(foreign::Filter& filter, std::istream& lines) {
  std::uint64_t added = 0;
  for (std::string item; std::getline(lines, item); ++added) {
    if (!filter.add(item)) {
      return std::unexpected(item);
    }
  }
  return added;
}

std::expected<std::uint64_t, std::string> add_all(foreign::Filter& filter,
                                                  const std::vector<std::string>& items) {
  for (const std::string& item : items) {
    if (!filter.add(item)) {
      return std::unexpected(item);
    }
  }
  return items.size();
}

}  // namespace

Parser CreateFilter::add(Parser filter) {
  Parser command = filter.add_subcommand("create",
                                         "Create an empty filter of another library, and print the "
                                         "parameters that its application must use");
  command.add_option("file", path, "FILE", "The filter file, which must not exist").required();
  foreign.add(command).required();
  command.add_option(
      "--capacity", wanted.capacity, "N", "Number of items that the filter is sized for");
  command.add_option(
      "--rate", wanted.rate, "R", "False positive rate at that number of items, such as 0.01");
  return command;
}

int CreateFilter::run() const {
  return print(create_filter(*this));
}

Parser AddToFilter::add(Parser filter) {
  Parser command = filter.add_subcommand(
      "add", "Add items to a filter of another library, as that library would");
  command.add_option("file", path, "FILE", "The filter file").required();
  foreign.add(command).required();
  command.add_option(
      "items", items, "ITEM", "Items to add; none or -: read one per line from standard input");
  return command;
}

int AddToFilter::run() const {
  std::ios::sync_with_stdio(false);
  return print(add_to_filter(*this, std::cin));
}

std::expected<std::string, std::string> create_filter(const CreateFilter& options) {
  const auto filter = TRY(options.foreign.make(options.wanted));
  auto file = TRY(FileReplacement::begin(options.path, Existing::refused));
  TRY(file.commit(filter->bytes()));
  return told(filter->facts());
}

std::expected<std::string, std::string> add_to_filter(const AddToFilter& options,
                                                      std::istream& lines) {
  auto file = TRY(FileReplacement::begin(options.path, Existing::replaced));
  const auto filter = TRY(options.foreign.read(options.path));
  const bool is_by_line = options.items.empty() || options.items == std::vector<std::string>{"-"};
  const auto added = is_by_line ? add_lines(*filter, lines) : add_all(*filter, options.items);
  if (!added) {
    return std::unexpected(
        fmt::format("{}: {}", options.path, options.foreign.refused_item(added.error())));
  }
  if (is_by_line && lines.bad()) {
    return std::unexpected("cannot read standard input");
  }
  TRY(file.commit(filter->bytes()));
  return fmt::format("added: {}\n", *added) + told(filter->facts());
}

}  // namespace cuckooguard::cli
