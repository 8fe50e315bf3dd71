// A kind of server whose databases are in memory (source/follow/toy_server.h), in as few lines as
// it takes: what a kind adds to what follow/ has for all. Its configuration is a file's: the path
// is a host's name.
//
// Threads: as in follow/; hosts are named before sources are made of them, and outlive those.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "source/feeds.h"
#include "source/follow/toy_server.h"
#include "source/follower.h"
#include "source/source_kind.h"

namespace cuckooguard::source {

// Where the names of configurations lead to, while it lives; one at a time.
class ToyNetwork {
 public:
  explicit ToyNetwork(std::map<std::string, const ToyHost*> hosts);
  ToyNetwork(const ToyNetwork&) = delete;
  ToyNetwork& operator=(const ToyNetwork&) = delete;
  ~ToyNetwork();
};

extern const SourceKind kToy;

// What a source of this kind has in its thread.
std::unique_ptr<Follower> make_toy_follower(const ToyHost& host, Feeds feeds, Clock clock);

}  // namespace cuckooguard::source
