// Makes seeds for binlog_events_fuzz of the recordings: `binlog_fuzz_seeds DIRECTORY`; those that
// add coverage are kept by `binlog_events_fuzz -merge=1 tests/fuzz/seeds/binlog_events_fuzz
// DIRECTORY`.
//
// A seed is a transaction without checksums behind the byte that says whose it is; of those with
// the same types of events and columns in a row only the first, and none that is large.

#include <cstdio>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "drain.h"
#include "recording.h"

namespace cuckooguard::binlog {
namespace {

constexpr std::size_t kSeedBytesMax = 6000;

bool begins_transaction(EventType type) {
  return type == EventType::mariadb_gtid || type == EventType::mysql_gtid ||
         type == EventType::mysql_gtid_tagged;
}

class Seeds {
 public:
  explicit Seeds(std::string directory) : directory_(std::move(directory)) {}

  void take(const std::string& recording) {
    std::string seed;
    std::string shape;
    for (const std::string& event : recorded_events(recording)) {
      const auto type = static_cast<EventType>(event[4]);
      if (begins_transaction(type)) {
        write(recording, seed, shape);
        seed.clear();
        shape.clear();
      }
      if (type != EventType::format_description) {
        const bool has_checksum = recording.find("unchecked") == std::string::npos;
        seed += has_checksum ? without_checksum(event) : event;
        shape += std::to_string(static_cast<int>(type)) + ' ';
        shape += type == EventType::table_map ? event : "";
      }
    }
    write(recording, seed, shape);
  }

 private:
  void write(const std::string& recording, const std::string& seed, const std::string& shape) {
    if (seed.empty() || seed.size() > kSeedBytesMax || !shapes_.insert(shape).second) {
      return;
    }
    const std::string name = recording + '_' + std::to_string(shapes_.size());
    std::ofstream output(directory_ + '/' + name, std::ios::binary);
    output << (recording.starts_with("mariadb") ? '\1' : '\0') << seed;
  }

  std::string directory_;
  std::set<std::string> shapes_;
};

}  // namespace
}  // namespace cuckooguard::binlog

int main(int count, char** arguments) {
  if (count != 2) {
    std::fputs("binlog_fuzz_seeds DIRECTORY\n", stderr);
    return 1;
  }
  cuckooguard::binlog::Seeds seeds(arguments[1]);
  for (const char* recording : {"mariadb_types",
                                "mariadb_types_full",
                                "mariadb_images",
                                "mariadb_statements",
                                "mariadb_compressed",
                                "mysql_types",
                                "mysql_types_full",
                                "mysql_images",
                                "mysql_statements",
                                "mysql_gtids",
                                "mysql_compressed"}) {
    seeds.take(recording);
  }
}
