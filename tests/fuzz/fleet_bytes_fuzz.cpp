// Any bytes as what a fleet has in Redis: they are nothing, or what was read of them is the same
// when it is written and read again. What builders sign is tried as it is, which nobody has signed,
// and once more with a signature, so that what stands behind that is reached.
//
// Byte 0: as what. The rest: the bytes.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "fleet/chain.h"
#include "fleet/entry.h"
#include "fleet/layout.h"
#include "fleet/replica.h"
#include "fleet_states.h"

namespace {

using namespace cuckooguard::fleet;

constexpr std::string_view kManifestDomain = "cuckooguard fleet manifest 1";  // as chain.cpp has it

const FuzzKeys& keys() {
  static const FuzzKeys kKeys;
  return kKeys;
}

// Whatever is not 0 is yes, which is written as 1.
bool is_written_again(std::string_view bytes, std::string_view again) {
  return std::ranges::equal(bytes, again, [](char here, char there) {
    return here == there || (here != 0 && there == 1);
  });
}

// It comes to the same, and nothing comes and goes.
void check(const TableChange& change) {
  const NetChange net(change);
  std::vector<std::uint64_t> left;
  std::ranges::set_intersection(net.inserted, net.erased, std::back_inserter(left));
  require(change.inserted.empty() || change.erased.empty() || left.empty());
  const auto sum = [](std::vector<std::uint64_t> all, const std::vector<std::uint64_t>& more) {
    all.insert(all.end(), more.begin(), more.end());
    std::ranges::sort(all);
    return all;
  };
  require(sum(net.inserted, change.erased) == sum(change.inserted, net.erased));
}

void read_as_entry(const std::string& text) {
  require(!read_entry(text, keys().verifying));
  const std::string bytes = signed_bytes(text, keys().signing);
  const auto read = read_entry(bytes, keys().verifying);
  if (!read) {
    return;
  }
  require(read->tag == hash_of(text));
  require(is_written_again(text, text_of(read->entry)));
  std::ranges::for_each(read->entry.tables, [](const TableChange& change) { check(change); });
}

// Were it another domain, no manifest would be read here, and nobody would notice.
bool is_domain() {
  const std::string empty = signed_manifest({}, keys().signing);
  return empty == with_signature(kManifestDomain,
                                 empty.substr(0, empty.size() - kSignatureBytes),
                                 keys().signing);
}

// Of what has no order it has one of its own, and nothing twice.
void read_as_manifest(const std::string& text) {
  static const bool kIsDomain = is_domain();
  require(kIsDomain && !read_manifest(text, keys().verifying));
  const auto manifest =
      read_manifest(with_signature(kManifestDomain, text, keys().signing), keys().verifying);
  if (!manifest) {
    return;
  }
  const std::string written = signed_manifest(*manifest, keys().signing);
  require(written.size() <= text.size() + kSignatureBytes);
  const auto again = read_manifest(written, keys().verifying);
  require(again && manifest->begin == again->begin && manifest->snapshots == again->snapshots);
  for (const Snapshot& snapshot : manifest->snapshots) {
    require(manifest->find(snapshot.table)->table == snapshot.table);
  }
}

void read_as_list(const std::string& text) {
  if (const auto list = read_list(text)) {
    require(is_written_again(text, text_of(*list)));
    for (const TableList::Namespace& each : list->namespaces) {
      require(list->find(each.name)->name == each.name);
    }
  }
}

// A lag that is longer than any is written as the longest.
void read_as_ask(const std::string& bytes) {
  const auto ask = read_ask(bytes);
  if (!ask) {
    return;
  }
  const std::string written = bytes_of(*ask);
  const auto again = read_ask(written);
  require(again && bytes_of(*again) == written && written.size() == bytes.size());
  require(written == bytes || (ask->lag && again->lag == ask->lag));
  require(!words_of(*ask, 0).empty());
}

void read_as_answer(const std::string& bytes) {
  const auto answer = read_answer(bytes);
  require(!answer || bytes_of(*answer) == bytes);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) {
    return 0;
  }
  constexpr std::array kReaders{
      read_as_entry, read_as_manifest, read_as_list, read_as_ask, read_as_answer};
  kReaders.at(data[0] %
              kReaders.size())(std::string(reinterpret_cast<const char*>(data) + 1, size - 1));
  return 0;
}
