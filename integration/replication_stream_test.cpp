// SYNC and PSYNC: behind them Redis sends what is no reply, without an end. A replica may follow
// through the guard.

#include <charconv>
#include <string>

#include <gtest/gtest.h>

#include "fixtures/side_by_side.h"
#include "harness/redis_command.h"

namespace cuckooguard::harness {
namespace {

ShopSettings replicating() {
  return {
      .redis_arguments = {"--repl-diskless-sync-delay", "0", "--repl-ping-replica-period", "3600"}};
}

class ReplicationStream : public SideBySide {
 protected:
  ReplicationStream() : SideBySide(replicating()) {
    tell_both({"SET", "large", std::string(200'000, 'x')});
    Connection client = connect();
    client.expect_answered();
  }
};

// "$<bytes>\r\n" and an RDB of so many bytes without an end of its own, after as many empty lines
// as Redis likes.
std::string read_rdb(RawClient& client) {
  while (client.read_exactly(1) == "\n") {
  }
  std::string length = client.read_through("\r\n");
  std::size_t bytes = 0;
  std::from_chars(length.data(), length.data() + length.size(), bytes);
  return client.read_exactly(bytes);
}

// What two like servers may write differently: times, memory, ids.
std::string kind_of_rdb(const std::string& rdb) {
  return rdb.substr(0, 9) + (rdb.contains("user:1") ? " user:1" : "") +
         (rdb.contains("large") ? " large" : "");
}

// Commands that others send after the snapshot, as Redis passes them on.
std::string read_stream(RawClient& client) {
  return client.read_through(bulk("last"));
}

TEST_F(ReplicationStream, sync_gives_the_snapshot_and_then_the_writes) {
  same_both_ways([](Side& side) {
    RawClient replica = side.connect();
    replica.send("SYNC\r\n");
    std::string seen = kind_of_rdb(read_rdb(replica));
    RawClient writer = side.connect();
    writer.exchange(command({"SET", absent_user(), "x"}) + command({"SELECT", "2"}) +
                        command({"INCR", "n"}) + command({"SET", "end", "last"}),
                    4);
    seen += read_stream(replica);
    constexpr std::size_t kMagicBytes = 9;  // REDIS0010, VALKEY080: of each release
    EXPECT_TRUE(seen.substr(kMagicBytes).starts_with(" user:1 large*")) << shown(seen);
    return seen;
  });
  connect().expect_answered();
}

TEST_F(ReplicationStream, psync_gives_the_offset_the_snapshot_and_then_the_writes) {
  same_both_ways([](Side& side) {
    RawClient replica = side.connect();
    std::string seen = replica.call({"PING"});
    seen += replica.call({"REPLCONF", "listening-port", "1"});
    seen += replica.call({"REPLCONF", "capa", "psync2"});
    replica.send(command({"PSYNC", "?", "-1"}));
    const std::string begin = replica.read_through("\r\n");
    EXPECT_TRUE(begin.starts_with("+FULLRESYNC ")) << shown(begin);
    seen += kind_of_rdb(read_rdb(replica));
    RawClient writer = side.connect();
    writer.exchange(command({"SET", absent_user(), "x"}) + command({"SET", "end", "last"}), 2);
    return seen + read_stream(replica);
  });
}

// With `capa eof` the snapshot's end is a mark of 40 random bytes.
TEST_F(ReplicationStream, psync_without_a_length_gives_the_mark_twice) {
  same_both_ways([](Side& side) {
    RawClient replica = side.connect();
    std::string seen = replica.call({"REPLCONF", "capa", "eof", "capa", "psync2"});
    replica.send(command({"PSYNC", "?", "-1"}));
    replica.read_through("\r\n");
    replica.read_through("$EOF:");
    const std::string mark = replica.read_through("\r\n").substr(0, 40);
    seen += kind_of_rdb(replica.read_through(mark));
    // Redis begins with the writes at the first acknowledgement after it has seen its child end.
    EXPECT_TRUE(eventually(
        [&] { return side.redis.call({"INFO", "replication"}).contains("state=online"); }));
    replica.send(command({"REPLCONF", "ACK", "0"}));
    RawClient writer = side.connect();
    writer.exchange(command({"SET", absent_user(), "x"}) + command({"SET", "end", "last"}), 2);
    return seen + read_stream(replica);
  });
}

TEST_F(ReplicationStream, a_replica_follows_through_the_guard) {
  RedisServer replica({"--replicaof",
                       "127.0.0.1",
                       std::to_string(shop().guard().port()),
                       "--repl-diskless-sync-delay",
                       "0"});
  ASSERT_TRUE(eventually([&] { return replica.info("replication", "master_link_status") == "up"; }))
      << shop().guard().log();
  RawClient writer = shop().client();
  std::string request;
  constexpr std::size_t kWrites = 5000;
  for (std::size_t i = 0; i < kWrites; ++i) {
    request += command({"SET", absent_user(i), std::string(i % 300, 'v')});
  }
  writer.exchange(request, kWrites);
  EXPECT_EQ(writer.call({"WAIT", "1", "0"}), ":1\r\n");
  EXPECT_EQ(replica.call({"DEBUG", "DIGEST"}), shop().redis().call({"DEBUG", "DIGEST"}));
  EXPECT_EQ(replica.call({"GET", absent_user(299)}), bulk(std::string(299, 'v')));
  connect().expect_answered();
}

}  // namespace
}  // namespace cuckooguard::harness
