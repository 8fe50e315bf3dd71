#include "mysql/checkpoint.h"

#include <charconv>
#include <chrono>
#include <filesystem>
#include <utility>

#include "filter/sizing.h"
#include "source/chosen_deletes.h"

namespace cuckooguard::source {
namespace {

constexpr std::string_view kMariaDb = "mariadb";
constexpr std::string_view kMySql = "mysql";

// Each text with its length, so that no two lists of texts are the same bytes.
class Definition {
 public:
  Definition& operator<<(std::string_view text) {
    bytes_ += std::to_string(text.size()) + ':';
    bytes_ += text;
    return *this;
  }
  Definition& operator<<(std::uint64_t number) { return *this << std::to_string(number); }

  std::uint64_t hash() const { return filter::hash_of_definition(bytes_); }

 private:
  std::string bytes_;
};

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

std::uint64_t definition_hash(const Target& target, const MysqlTable& plan) {
  Definition definition;
  definition << "cuckooguard mysql 2";
  const auto templates = target.keyspace.templates(target.ns);
  for (std::size_t i = 0; i < templates.size(); ++i) {
    definition << templates[i].text()
               << static_cast<std::uint64_t>(target.keyspace.loss(target.ns, i));
  }
  definition << "columns" << plan.schema << plan.name;
  for (const MysqlColumn& column : plan.columns) {
    definition << column.name << column.column_type << column.charset << column.collation
               << std::uint64_t{column.nullable} << column.primary_key;
  }
  definition << "identity";
  for (const std::size_t place : plan.identity) {
    definition << place;
  }
  const config::Filter& filter = target.settings.filter;
  definition << "condition" << plan.condition.text() << "deletes"
             << static_cast<std::uint64_t>(chosen_deletes(filter.deletes, plan.identity_is_unique))
             << "filter" << std::to_string(filter.false_positive_rate)
             << filter.capacity.value_or(0);
  return definition.hash();
}

filter::FilterFileLabel checkpoint_label(const CheckpointFacts& facts, std::uint64_t definition) {
  std::string position(facts.position.is_mariadb() ? kMariaDb : kMySql);
  position += '\n' + facts.position.text() + '\n' + facts.last_group.text() + '\n' +
              std::to_string(facts.largest_id) + '\n' + (facts.ids_grow ? "1" : "0") + '\n' +
              std::string(facts.server);
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return {.source_position = std::move(position),
          .definition_hash = definition,
          .created = static_cast<std::uint64_t>(
              std::chrono::duration_cast<std::chrono::seconds>(now).count())};
}

std::expected<std::optional<Checkpoint>, std::string> read_checkpoint(
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
  const bool is_mariadb = take_line(text) == kMariaDb;
  auto position = LogPosition::parse(take_line(text), is_mariadb);
  auto last_group = LogGroup::parse(take_line(text), is_mariadb);
  const auto largest_id = number_in(take_line(text));
  const auto ids_grow = number_in(take_line(text));
  if (!position || !last_group || !position->covers(last_group->gtid) || !largest_id || !ids_grow) {
    return std::unexpected(path + ": its position cannot be read");
  }
  auto isolated = filter::IsolatedRows::parse(file->label.attachment);
  if (!isolated) {
    return std::unexpected(path + ": its isolated rows cannot be read");
  }
  return Checkpoint{.loaded = {.filter = std::move(file->filter),
                               .largest_id = *largest_id,
                               .ids_grow = *ids_grow == 1,
                               .isolated = *std::move(isolated)},
                    .position = *std::move(position),
                    .last_group = *std::move(last_group),
                    .server = std::string(text),
                    .age = error ? std::chrono::nanoseconds(-1) : std::chrono::nanoseconds(age)};
}

}  // namespace cuckooguard::source
