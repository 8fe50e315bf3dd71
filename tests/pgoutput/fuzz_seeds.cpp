// Makes seeds for pgoutput_fuzz of the recordings: `pgoutput_fuzz_seeds DIRECTORY`; those that add
// coverage are kept by `pgoutput_fuzz -merge=1 tests/fuzz/seeds/pgoutput_fuzz DIRECTORY`.
//
// A seed is one message behind its length in two bytes; of those that begin alike only the first.

#include <cstdio>
#include <fstream>
#include <set>
#include <string>

#include "made_messages.h"
#include "recording.h"

int main(int count, char** arguments) {
  using cuckooguard::pgoutput::big_endian;
  constexpr std::size_t kAlikeBytes = 32;
  constexpr std::size_t kPayloadAt = 25;
  constexpr std::size_t kSeedBytesMax = 1000;
  if (count != 2) {
    std::fputs("pgoutput_fuzz_seeds DIRECTORY\n", stderr);
    return 1;
  }
  std::set<std::string> beginnings;
  for (const char* recording : {"changes", "two_phase", "binary", "streamed"}) {
    for (const std::string& message : cuckooguard::pgoutput::recorded_messages(recording)) {
      const std::size_t head = message[0] == 'w' ? kPayloadAt : 0;
      if (message.size() > kSeedBytesMax ||
          !beginnings.insert(message[0] + message.substr(head, kAlikeBytes)).second) {
        continue;
      }
      std::ofstream output(
          arguments[1] + ("/" + std::string(recording)) + '_' + std::to_string(beginnings.size()),
          std::ios::binary);
      output << big_endian(message.size(), 2) << message;
    }
  }
}
