// Replies that a RoutedTransport gives itself, without a node. Lines of RESP.
#pragma once

#include <string_view>

namespace cuckooguard::routing {

// Redis's own words.
inline constexpr std::string_view kCrossSlot =
    "-CROSSSLOT Keys in request don't hash to the same slot\r\n";
inline constexpr std::string_view kNotServed = "-CLUSTERDOWN Hash slot not served\r\n";
inline constexpr std::string_view kExecAbort =
    "-EXECABORT Transaction discarded because of previous errors.\r\n";

// Behind the command's name.
inline constexpr std::string_view kOnlySubscriptions =
    "': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this "
    "context\r\n";

inline constexpr std::string_view kMoving =
    "-TRYAGAIN The slot of this command is moving, and it was not run (cuckooguard)\r\n";
inline constexpr std::string_view kMovingScript =
    "-TRYAGAIN The slot of this command is moving, or a script returned TRYAGAIN: the command may "
    "have run in part (cuckooguard)\r\n";
inline constexpr std::string_view kMovingLarge =
    "-TRYAGAIN The slot of this command is moving, and it is too large to be sent twice "
    "(cuckooguard)\r\n";
inline constexpr std::string_view kOvertaken =
    "-TRYAGAIN The slot of this command is moving, and a later one has been run before it; it was "
    "not run (cuckooguard)\r\n";
inline constexpr std::string_view kMovingTransaction =
    "-TRYAGAIN The slot of this transaction is moving: run it again (cuckooguard)\r\n";
inline constexpr std::string_view kTooLarge =
    "-ERR this command is too large for a port that serves a whole cluster: the limit is 64 KiB "
    "(cuckooguard, docs/cluster.md)\r\n";
inline constexpr std::string_view kNotInTransaction =
    "-ERR this command is not supported inside MULTI on a port that serves a whole cluster "
    "(cuckooguard, docs/cluster.md)\r\n";
inline constexpr std::string_view kUnknownShards =
    "-ERR name the channels, which may be on several nodes (cuckooguard, docs/cluster.md)\r\n";

inline constexpr std::string_view kSilentNode =
    "-ERR not all masters have replied within 30 s; some may have run this command, or may run it "
    "yet (cuckooguard)\r\n";
inline constexpr std::string_view kJoinedTooLarge =
    "-ERR this reply is larger than 16 MiB: use SCAN with a smaller COUNT, or ask the nodes "
    "(cuckooguard, docs/cluster.md)\r\n";
inline constexpr std::string_view kCursorTooLarge =
    "-ERR a node's cursor is too large for a port that serves a whole cluster: SCAN the nodes "
    "(cuckooguard, docs/cluster.md)\r\n";

}  // namespace cuckooguard::routing
