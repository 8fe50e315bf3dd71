// What a follower of streams keeps between runs, in one file: the rows of the tables that it
// follows, where each channel was read to, and which changes were the last.
//
//   blocks     length (4 bytes), bytes, checksum (8) of them and of the block's number
//   first      format, id of the secret of all digests, numbers of channels and tables
//   a channel  topic, partition, place, SeenChanges
//   a table    definition, torn_until, number of rows, isolated rows; then its rows, pairs of 8
//              bytes
//
// Threads: the caller's. Errors: sentences; a file that cannot be used is none. Limits: memory of
// the rows, and kBlockMax.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "stream/streamed_table.h"

namespace cuckooguard::source::stream {

struct KeptStreams {
  static constexpr std::size_t kBlockMax = std::size_t{32} << 20;

  struct Channel {
    std::string topic{};
    std::uint64_t partition = 0;
    std::string place{};
    std::string seen{};
  };
  struct Table {
    std::uint64_t definition = 0;
    StreamedTable::Rows rows{};
    filter::IsolatedRows isolated{};
    std::chrono::milliseconds torn_until{};
  };
  std::vector<Channel> channels{};
  std::vector<Table> tables{};

  // Nothing: there is no file.
  static std::expected<std::optional<KeptStreams>, std::string> read(const std::string& path,
                                                                     std::uint64_t secret);
};

// Of the tables, those that are followed.
std::expected<void, std::string> keep_streams(const std::string& path,
                                              std::uint64_t secret,
                                              std::span<const KeptStreams::Channel> channels,
                                              std::span<const StreamedTable> tables);

}  // namespace cuckooguard::source::stream
