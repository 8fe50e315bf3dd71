// The folder in which one process keeps its filters between runs.
//
//   DIRECTORY/lock                        held for the process's life
//   DIRECTORY/secret                      what all filters here are hashed with, mode 0600; even if
//                                         that is of another file: this one is its own
//   DIRECTORY/SOURCE.NAMESPACE.TABLE.filter   a filter and its source's position (filter_file.h)
//   DIRECTORY/SOURCE.position             a later one, of filters that have not changed since
//   DIRECTORY/SOURCE.NAME.snapshot        a filter that a fleet's followers fetch (fleet/builder)
//   DIRECTORY/overlays                    keys that were written or added a moment ago
//   DIRECTORY/filled                      filters that applications fill
//   DIRECTORY/cluster-nodes               which port leads to which node of a Redis Cluster
//
// Threads: open() once; then immutable. Errors: a sentence for the operator: no right to write, and
// what gives it (filter/file_descriptor.h), a second process, a secret that is damaged. Limits: a
// file's name is cut at 200 bytes, its hash behind it.
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "filter/file_descriptor.h"
#include "filter/key_hash.h"

namespace cuckooguard::source {

class StorageDirectory {
 public:
  // Makes the folder, if its parent is there, and removes what a killed process has left half
  // written.
  // `secret_file`: with which filters are hashed; empty: with its own secret.
  static std::expected<StorageDirectory, std::string> open(const std::string& path,
                                                           const std::string& secret_file = {});

  const filter::HashSecret& secret() const { return secret_; }
  // No other folder has it: what is named after it elsewhere is this one's.
  const filter::HashSecret& own_secret() const { return own_secret_; }
  std::string filter_path(std::string_view source,
                          std::string_view ns,
                          std::string_view table) const;
  std::string position_path(std::string_view source) const;
  std::string snapshot_path(std::string_view source, std::string_view name) const;
  std::vector<std::string> snapshots(std::string_view source) const;  // paths, of those there are
  std::string nodes_path() const;
  std::string filled_path() const;
  std::string overlays_path() const;
  // What the source has kept, of whatever namespaces and tables; a sentence if some of it is left.
  std::expected<void, std::string> remove_filters(std::string_view source) const;

 private:
  StorageDirectory(std::string path,
                   filter::FileDescriptor lock,
                   const filter::HashSecret& secret,
                   const filter::HashSecret& own_secret);

  std::string path_;
  filter::FileDescriptor lock_;
  filter::HashSecret secret_;
  filter::HashSecret own_secret_;
};

}  // namespace cuckooguard::source
