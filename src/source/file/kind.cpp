#include "file/kind.h"

#include <algorithm>
#include <variant>

#include "file/record_reader.h"
#include "text/try.h"

namespace cuckooguard::source {
namespace {

// A look is one stat: 100 per second are no load.
constexpr std::chrono::nanoseconds kPollMost = std::chrono::milliseconds(10);
constexpr int kPollsPerMaxLag = 10;

const config::FileSource& own(const config::Source& settings) {
  return std::get<config::FileSource>(settings.kind);
}

std::vector<Refusal> check(const config::Source& settings,
                           std::span<const Target> targets,
                           const Clock& clock) {
  return FileOrigin(own(settings), clock).check(targets);
}

std::expected<SourceParts, std::vector<Refusal>> make(const SourceSettings& making) {
  const std::chrono::nanoseconds max_lag = making.settings.max_lag;
  return SourceParts{
      .follower = make_rescan(std::make_unique<FileOrigin>(own(making.settings), making.clock),
                              std::min(kPollMost, max_lag / kPollsPerMaxLag),
                              false,
                              making)};
}

std::expected<std::vector<TableSize>, std::string> count_rows(const config::Source& source,
                                                              const Target& /*target*/) {
  const config::FileSource& settings = own(source);
  auto file = TRY(InputFile::open(settings.path));
  RecordReader records(settings.format,
                       [&file](std::span<char> buffer) { return file.read(buffer); });
  std::uint64_t rows = 0;
  for (;;) {
    const auto next = records.next();
    if (!next) {
      return std::unexpected(settings.path + ": " + next.error());
    }
    if (next->empty()) {
      break;
    }
    ++rows;
  }
  const bool has_header = settings.format == config::FileFormat::csv && rows > 0;
  return std::vector{TableSize{.table = "", .rows = rows - (has_header ? 1 : 0)}};
}

std::expected<std::vector<KeyedTable>, std::string> list_tables(const config::Source& source) {
  TRY(InputFile::open(own(source).path));
  return {};
}

}  // namespace

constexpr SourceKind kFile{.name = "file",
                           .is = is_of<config::FileSource>,
                           .check = check,
                           .make = make,
                           .count_rows = count_rows,
                           .list_tables = list_tables};

}  // namespace cuckooguard::source
