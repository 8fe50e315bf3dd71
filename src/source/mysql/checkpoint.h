// What is kept of one followed table between runs: its filter, and how far the log is in it, in one
// file.
//
// A file is used only if all of this is as it was: templates, columns, condition, the table's
// definition, how deletes are handled, the filter's settings (hash_of_definition), the secret; and
// the server, unless several addresses say that it is one of a cluster. Then the log goes on behind
// the file's position; a server that does not have what comes there any more says so, and the table
// is read anew.
//
// Threads: values. Errors: a file that cannot be used is no error but a reason, for the log.
// Limits: filter::kSourcePositionMax bytes for position and identity: a longer GTID set is not
// kept.
#pragma once

#include <chrono>
#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "filter/cuckoo_filter.h"
#include "filter/filter_file.h"
#include "mysql/log_group.h"
#include "mysql/log_position.h"
#include "mysql/table.h"
#include "source/filter_load.h"
#include "source/source.h"

namespace cuckooguard::source {

struct Checkpoint {
  FilterLoad::Loaded loaded;
  LogPosition position;
  LogGroup last_group;
  std::string server;  // server_identity()
  std::chrono::nanoseconds
      age{};  // of the file, by the machine's clock; negative: that was set back
};

std::uint64_t definition_hash(const Target& target, const MysqlTable& plan);

// How a file is labelled.
struct CheckpointFacts {
  const LogPosition& position;
  const LogGroup& last_group;  // that it covers
  std::uint64_t largest_id;
  bool ids_grow;
  std::string_view server;
};
filter::FilterFileLabel checkpoint_label(const CheckpointFacts& facts, std::uint64_t definition);

// Nothing if there is no file.
std::expected<std::optional<Checkpoint>, std::string> read_checkpoint(
    const std::string& path, const filter::HashSecret& secret, std::uint64_t definition);

}  // namespace cuckooguard::source
