// Runs one odd thing: a database and a follower of the product's for it alone, on a server that it
// may share with others.
//
//   hidden   a row that was there before a step and is there behind it was answered absent
//            meanwhile. KeyWatch asks for all of them without pause
//   wrong    in the end a namespace is not as expected; or it is exact, and a row is hidden, a row
//            that has gone passes, or the filter counts another number than SQL
//
// Threads: KeyWatch's own, which it shares with whoever runs things. Errors: sentences about what
// is hidden or wrong.
#pragma once

#include <cstddef>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "harness/sql_server.h"
#include "odd_things/odd_namespaces.h"
#include "odd_things/odd_thing.h"

namespace cuckooguard::harness {

// Asks for the keys of all namespaces that are there.
class KeyWatch {
 public:
  KeyWatch();

  void add(OddNamespaces& watched);
  void remove(OddNamespaces& watched);

 private:
  std::mutex mutex_;
  std::vector<OddNamespaces*> watched_;
  std::jthread thread_;  // the last: it uses the others
};

// `number`: another one for each thing on a server.
std::vector<std::string> run_odd_thing(SqlServer& server,
                                       const OddThing& thing,
                                       std::size_t number,
                                       KeyWatch& watch);

}  // namespace cuckooguard::harness
