#include "follow/checkpoint.h"

#include <algorithm>
#include <charconv>
#include <filesystem>

namespace cuckooguard::source {
namespace {

// The first line of `text`, taken from it.
std::string_view take_line(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

std::optional<std::uint64_t> number_in(std::string_view line) {
  std::uint64_t number = 0;
  const auto end = std::from_chars(line.data(), line.data() + line.size(), number);
  return end.ec == std::errc() && end.ptr == line.data() + line.size() ? std::optional(number)
                                                                       : std::nullopt;
}

}  // namespace

filter::FilterFileLabel checkpoint_label(const CheckpointFacts& facts, std::uint64_t definition) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return {.source_position = facts.resume + '\n' + std::to_string(facts.largest_id) + '\n' +
                             (facts.ids_grow ? "1" : "0") + '\n' + std::string(facts.server),
          .definition_hash = definition,
          .created = static_cast<std::uint64_t>(
              std::chrono::duration_cast<std::chrono::seconds>(now).count())};
}

std::expected<std::optional<CheckpointFile>, std::string> read_checkpoint_file(
    const std::string& path, const filter::HashSecret& secret, std::uint64_t definition) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) {
    return std::nullopt;
  }
  const auto written = std::filesystem::last_write_time(path, error);
  const auto age = std::filesystem::file_time_type::clock::now() - written;
  auto file = filter::read_filter_file(path, secret, definition);
  if (!file) {
    return std::unexpected(file.error().what);
  }
  std::string_view text = file->label.source_position;
  std::vector<std::string> resume;
  resume.reserve(kResumeLines);
  for (std::size_t line = 0; line < kResumeLines; ++line) {
    resume.emplace_back(take_line(text));
  }
  const auto largest_id = number_in(take_line(text));
  const auto ids_grow = number_in(take_line(text));
  if (!largest_id || !ids_grow) {
    return std::unexpected(path + kPositionUnreadable);
  }
  auto isolated = filter::IsolatedRows::parse(file->label.attachment);
  if (!isolated) {
    return std::unexpected(path + ": its isolated rows cannot be read");
  }
  return CheckpointFile{
      .loaded = {.filter = std::move(file->filter),
                 .largest_id = *largest_id,
                 .ids_grow = *ids_grow == 1,
                 .isolated = *std::move(isolated)},
      .resume = std::move(resume),
      .server = std::string(text),
      .age = error ? std::chrono::nanoseconds(-1) : std::chrono::nanoseconds(age)};
}

}  // namespace cuckooguard::source
