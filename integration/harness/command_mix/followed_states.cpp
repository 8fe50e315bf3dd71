// States of a connection that the guard follows from a plain one: from any other it might relay the
// connection unread from there on, and would not learn of the keys that it writes.
#include "harness/command_mix.h"

namespace cuckooguard::harness {

std::string CommandMix::some() {
  std::string bytes;
  for (std::size_t left = 1 + choose(8); left > 0; --left) {
    bytes += choose(2) == 0 ? read() : of_some_type();
  }
  return bytes;
}

// What is announced of keys comes from this connection's own commands, in their order: no BCAST,
// which waits until Redis has time. Since Redis 7.2 a message to oneself comes behind PUBLISH's
// reply instead of before it, and an answer of the guard's may overtake it: PING keeps them apart.
std::string CommandMix::followed_state() {
  switch (choose(6)) {
    case 0:
      return counted({"CLIENT", "REPLY", "OFF"}) + some() + counted({"CLIENT", "REPLY", "ON"});
    case 1:
      return counted({"CLIENT", "REPLY", "SKIP"}) + (choose(2) == 0 ? read() : of_some_type());
    case 2:
      return counted({"SUBSCRIBE", channel()}) + some() + counted({"PING"}) +
             counted({"UNSUBSCRIBE", channel()});
    case 3:
      return counted({"HELLO", "3"}) + counted({"SUBSCRIBE", channel()}) + some() +
             counted({"PUBLISH", channel(), value()}) + counted({"PING"}) + some() +
             counted({"UNSUBSCRIBE", channel()});
    case 4:
      return counted({"CLIENT", "TRACKING", "ON"}) + some() +
             counted({"CLIENT", "TRACKING", "OFF"});
    default:
      return counted({"HELLO", "3"}) +
             (choose(3) == 0 ? counted({"CLIENT", "TRACKING", "ON", "NOLOOP"})
                             : counted({"CLIENT", "TRACKING", "ON"})) +
             some() + (choose(2) == 0 ? transaction() : some()) +
             counted({"CLIENT", "TRACKING", "OFF"});
  }
}

}  // namespace cuckooguard::harness
