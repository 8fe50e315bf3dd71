#include "follow/checkpoint.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "text/number.h"
#include "text/words.h"

namespace cuckooguard::source {

Definition& Definition::operator<<(std::string_view text) {
  bytes_ += std::to_string(text.size()) + ':';
  bytes_ += text;
  return *this;
}

void Definition::add_templates(const Target& target) {
  const auto templates = target.keyspace.templates(target.ns);
  for (std::size_t i = 0; i < templates.size(); ++i) {
    *this << templates[i].text() << static_cast<std::uint64_t>(target.keyspace.loss(target.ns, i));
  }
}

void Definition::add_filter(const Target& target,
                            std::string_view condition,
                            filter::DeleteMode deletes) {
  const config::Filter& filter = target.settings.filter;
  *this << "condition" << condition << "deletes" << static_cast<std::uint64_t>(deletes) << "filter"
        << std::to_string(filter.false_positive_rate) << filter.capacity.value_or(0);
}

std::uint64_t Definition::hash() const {
  return filter::hash_of_definition(bytes_);
}

namespace {

std::string_view take_line(std::string_view& text) {
  return text::take_word(text, '\n');
}

std::vector<std::string> take_resume(std::string_view& text) {
  std::vector<std::string> lines;
  lines.reserve(kResumeLines);
  for (std::size_t line = 0; line < kResumeLines; ++line) {
    lines.emplace_back(take_line(text));
  }
  return lines;
}

// By the machine's clock; negative if that was set back, or is not known.
std::chrono::nanoseconds age_of(const std::string& path) {
  std::error_code error;
  const auto written = std::filesystem::last_write_time(path, error);
  return error ? std::chrono::nanoseconds(-1)
               : std::chrono::nanoseconds(std::filesystem::file_time_type::clock::now() - written);
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

std::string renewal_text(const std::vector<std::uint64_t>& files,
                         std::string_view resume,
                         std::string_view server) {
  std::string text(resume);
  text += '\n';
  for (const std::uint64_t file : files) {
    text += std::to_string(file) + ' ';
  }
  text += '\n';
  text += server;
  return std::to_string(filter::hash_of_definition(text)) + '\n' + text;
}

std::expected<std::optional<Renewal>, std::string> read_renewal(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file.is_open()) {
    return std::nullopt;
  }
  const std::string whole(std::istreambuf_iterator<char>(file), {});
  std::string_view text = whole;
  const auto checksum = text::number_of<std::uint64_t>(take_line(text));
  if (checksum != filter::hash_of_definition(text)) {
    return std::unexpected(path + ": damaged");
  }
  Renewal renewal{.files = {}, .resume = take_resume(text), .server = {}, .age = age_of(path)};
  std::string_view files = take_line(text);
  for (std::size_t end = 0; (end = files.find(' ')) != std::string_view::npos;) {
    renewal.files.push_back(text::number_of<std::uint64_t>(files.substr(0, end)).value_or(0));
    files.remove_prefix(end + 1);
  }
  renewal.server = text;
  return renewal;
}

std::expected<std::optional<CheckpointFile>, std::string> read_checkpoint_file(
    const std::string& path,
    const filter::HashSecret& secret,
    std::uint64_t definition,
    const std::optional<Renewal>& renewal) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) {
    return std::nullopt;
  }
  const auto age = age_of(path);
  auto file = TRY(in_words(filter::read_filter_file(path, secret, definition)));
  std::string_view text = file.label.source_position;
  std::vector<std::string> resume = take_resume(text);
  const auto largest_id = text::number_of<std::uint64_t>(take_line(text));
  const auto ids_grow = text::number_of<std::uint64_t>(take_line(text));
  if (!largest_id || !ids_grow) {
    return std::unexpected(path + kPositionUnreadable);
  }
  auto isolated = filter::IsolatedRows::parse(file.label.attachment);
  if (!isolated) {
    return std::unexpected(path + ": cannot read its isolated rows");
  }
  CheckpointFile found{.loaded = {.filter = std::move(file.filter),
                                  .largest_id = *largest_id,
                                  .ids_grow = *ids_grow == 1,
                                  .isolated = *std::move(isolated)},
                       .resume = std::move(resume),
                       .server = std::string(text),
                       .age = age};
  if (renewal && std::ranges::count(renewal->files, file.id) > 0) {
    found.resume = renewal->resume;
    found.server = renewal->server;
    found.age = renewal->age;
  }
  return found;
}

}  // namespace cuckooguard::source
