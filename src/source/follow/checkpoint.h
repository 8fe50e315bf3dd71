// What is kept of one followed table between runs: its filter, and how far the log is in it, in one
// file. While a filter does not change, how far the log is by now is written to a file of its own,
// a small one, for all such tables of a source (Renewal).
//
// A file is used only if all of this is as it was: templates, columns, condition, the table's
// definition, how deletes are handled, the filter's settings (hash_of_definition), the secret; and
// the server, unless several addresses say that it is one of a cluster. Then the log goes on behind
// the file's position; a server that does not have what comes there any more says so, and the table
// is read anew.
//
// Threads: values. Errors: a file that cannot be used is no error but a reason, for the log.
// Limits: filter::kSourcePositionMax bytes for position and identity: a longer position is not
// kept.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "filter/cuckoo_filter.h"
#include "filter/filter_file.h"
#include "filter/isolated_rows.h"
#include "filter/key_hash.h"
#include "source/filter_load.h"
#include "source/source.h"
#include "text/try.h"

namespace cuckooguard::source {

// What a checkpoint's filter is of, in bytes that are hashed: if any of it has changed since, the
// file is of no use (filter/filter_file.h).
class Definition {
 public:
  // Each text with its length, so that no two lists of texts are the same bytes.
  Definition& operator<<(std::string_view text);
  Definition& operator<<(std::uint64_t number) { return *this << std::to_string(number); }

  void add_templates(const Target& target);
  // Which rows are in the filter, and how.
  void add_filter(const Target& target, std::string_view condition, filter::DeleteMode deletes);

  std::uint64_t hash() const;

 private:
  std::string bytes_;
};

// What a file says of the log: its kind, a position, and the position's last group, a line each.
inline constexpr std::size_t kResumeLines = 3;
inline constexpr const char* kPositionUnreadable = ": cannot read its position";

template <class Log>
struct Checkpoint {
  FilterLoad::Loaded loaded;
  typename Log::Position position;
  typename Log::Group last_group;
  std::string server;  // which it was that was followed
  std::chrono::nanoseconds
      age{};  // of the file, by the machine's clock; negative: that was set back
};

// How a file is labelled.
struct CheckpointFacts {
  std::string resume;  // kResumeLines lines
  std::uint64_t largest_id;
  bool ids_grow;
  std::string_view server;
};
filter::FilterFileLabel checkpoint_label(const CheckpointFacts& facts, std::uint64_t definition);

// Files that were good at their position, and are at a later one as they are: nothing of what they
// have has changed. Of a file that has been written again since nothing is said.
struct Renewal {
  std::vector<std::uint64_t> files;  // filter::FilterFile's id
  std::vector<std::string> resume;   // kResumeLines
  std::string server;
  std::chrono::nanoseconds age{};  // Checkpoint's
};
// `resume`: kResumeLines lines.
std::string renewal_text(const std::vector<std::uint64_t>& files,
                         std::string_view resume,
                         std::string_view server);
// Nothing if there is no file.
std::expected<std::optional<Renewal>, std::string> read_renewal(const std::string& path);

struct CheckpointFile {
  FilterLoad::Loaded loaded;
  std::vector<std::string> resume;  // kResumeLines
  std::string server;
  std::chrono::nanoseconds age{};
};
// Nothing if there is no file. `renewal`: if it has the file, that is as it says.
std::expected<std::optional<CheckpointFile>, std::string> read_checkpoint_file(
    const std::string& path,
    const filter::HashSecret& secret,
    std::uint64_t definition,
    const std::optional<Renewal>& renewal);

// Log::resume_text(position, group) gives the lines, Log::parse_resume(lines) the two again, if it
// can.
template <class Log>
std::expected<std::optional<Checkpoint<Log>>, std::string> read_checkpoint(
    const std::string& path,
    const filter::HashSecret& secret,
    std::uint64_t definition,
    const std::optional<Renewal>& renewal = std::nullopt) {
  std::optional<CheckpointFile> found =
      TRY(read_checkpoint_file(path, secret, definition, renewal));
  if (!found) {
    return std::nullopt;
  }
  auto at = Log::parse_resume(found->resume);
  if (!at || !at->first.covers(at->second.id())) {
    return std::unexpected(path + kPositionUnreadable);
  }
  return Checkpoint<Log>{.loaded = std::move(found->loaded),
                         .position = std::move(at->first),
                         .last_group = std::move(at->second),
                         .server = std::move(found->server),
                         .age = found->age};
}

}  // namespace cuckooguard::source
