// Clients that ask a Sentinel, through the guard: they are told of its ports alone, and come back
// to it after each failover.

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fixtures/guarded_sentinels.h"
#include "fixtures/skip.h"
#include "harness/certificates.h"
#include "harness/child_process.h"
#include "harness/missing.h"
#include "harness/raw_client.h"
#include "harness/redis_command.h"
#include "harness/shop.h"

namespace cuckooguard::harness {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;

class ClientsOfSentinel : public GuardedSentinels {
 protected:
  static constexpr std::size_t kNodePorts = 4;

  explicit ClientsOfSentinel(std::size_t node_ports = kNodePorts)
      : GuardedSentinels({.node_ports = node_ports}) {
    EXPECT_TRUE(eventually([this, node_ports] {
      return node_ports == 0 || count_in(guard_->log(), "event=cluster_node ") >= sentinels_.size();
    })) << guard_->log();
  }

  RawClient sentinel() const { return RawClient::to_port(guard_->sentinel_port()); }
  // Of listen.nodes.
  std::uint16_t port_of(std::size_t node) const {
    const std::string log = guard_->log();
    const std::size_t end = log.find(" leads_to=" + address(node) + "\n");
    const std::size_t begin = log.rfind("port=", end) + 5;
    std::uint16_t port = 0;
    std::from_chars(log.data() + begin, log.data() + end, port);
    return port;
  }
  bool names_a_server(std::string_view said) const {
    for (std::size_t i = 0; i < sentinels_.size(); ++i) {
      for (const std::uint16_t server : {sentinels_.port(i), sentinels_.sentinel_port(i)}) {
        const std::string port = std::to_string(server);
        for (const std::string& form : {bulk(port), ":" + port, "=" + port, " " + port}) {
          if (said.contains(form)) {
            return true;
          }
        }
      }
    }
    return false;
  }
  static std::string address_reply(std::uint16_t port) {
    return "*2\r\n" + bulk("127.0.0.1") + bulk(std::to_string(port));
  }
};

TEST_F(ClientsOfSentinel, are_told_of_the_guard_s_ports_alone) {
  for (const std::string_view version : {"2", "3"}) {
    RawClient client = sentinel();
    client.call({"HELLO", version});
    EXPECT_EQ(client.call({"SENTINEL", "GET-MASTER-ADDR-BY-NAME", "shop"}),
              address_reply(port_of(0)));
    for (const std::string_view what : {"MASTER", "REPLICAS", "SLAVES", "SENTINELS"}) {
      const std::string said = client.call({"SENTINEL", what, "shop"});
      EXPECT_THAT(said, HasSubstr(bulk("ip") + bulk("127.0.0.1") + bulk("port")));
      EXPECT_FALSE(names_a_server(said)) << said;
    }
    EXPECT_FALSE(names_a_server(client.call({"SENTINEL", "MASTERS"})));
    EXPECT_THAT(client.call({"INFO", "sentinel"}),
                HasSubstr("address=127.0.0.1:" + std::to_string(port_of(0)) + ","));
    const std::string replicas = client.call({"SENTINEL", "REPLICAS", "shop"});
    for (const std::size_t node : {1, 2}) {
      const std::string port = std::to_string(port_of(node));
      EXPECT_THAT(replicas, HasSubstr(bulk("name") + bulk("127.0.0.1:" + port)));
    }
    EXPECT_THAT(client.call({"SENTINEL", "SENTINELS", "shop"}),
                HasSubstr(bulk("port") + bulk(std::to_string(guard_->sentinel_port()))));
    EXPECT_EQ(client.call({"PING"}), kPong);
    EXPECT_THAT(client.call({"GET", "x"}), HasSubstr("-ERR unknown command"));
  }
}

TEST_F(ClientsOfSentinel, are_told_of_the_guard_s_ports_by_redis_itself) {
  const std::string replica = std::to_string(port_of(1));
  const std::string role = client().call({"ROLE"});
  EXPECT_THAT(role, HasSubstr(bulk("127.0.0.1") + bulk(replica)));
  EXPECT_FALSE(names_a_server(role)) << role;
  EXPECT_THAT(client().call({"INFO", "replication"}), HasSubstr(":ip=127.0.0.1,port=" + replica));
  const std::string of_replica = RawClient::to_port(port_of(1)).call({"ROLE"});
  EXPECT_THAT(of_replica,
              HasSubstr(bulk("slave") + bulk("127.0.0.1") + ":" + std::to_string(port_of(0))));
  EXPECT_THAT(RawClient::to_port(port_of(1)).call({"INFO", "replication"}),
              HasSubstr("master_port:" + std::to_string(port_of(0)) + "\r\n"));
}

TEST_F(ClientsOfSentinel, hear_of_a_switch_by_the_guard_s_ports) {
  RawClient subscriber = sentinel();
  RawClient pushed = sentinel();
  subscriber.call({"SUBSCRIBE", "+switch-master"});
  pushed.exchange(command({"HELLO", "3"}) + command({"PSUBSCRIBE", "+*"}), 2);
  const std::size_t master = fail_over_by_command();
  const std::string switched = bulk("shop 127.0.0.1 " + std::to_string(port_of(0)) + " 127.0.0.1 " +
                                    std::to_string(port_of(master)));
  EXPECT_EQ(subscriber.read_reply(),
            "*3\r\n" + bulk("message") + bulk("+switch-master") + switched);
  std::string said;
  while (!said.contains("+switch-master")) {
    said = pushed.read_reply();
    EXPECT_FALSE(names_a_server(said)) << said;
  }
  EXPECT_EQ(said, ">4\r\n" + bulk("pmessage") + bulk("+*") + bulk("+switch-master") + switched);
  EXPECT_TRUE(eventually([&] {
    return sentinel().call({"SENTINEL", "GET-MASTER-ADDR-BY-NAME", "shop"}) ==
           address_reply(port_of(master));
  }));
}

TEST_F(ClientsOfSentinel, have_another_one_when_theirs_is_gone) {
  RawClient client = sentinel();
  const std::string own = client.call({"SENTINEL", "MYID"});
  std::size_t which = 0;
  while (sentinels_.ask(which, {"SENTINEL", "MYID"}) != own) {
    ++which;
  }
  sentinels_.kill_sentinel(which);
  EXPECT_EQ(client.read_until_closed(), "");
  std::string other;
  EXPECT_TRUE(eventually([&] {
    try {
      other = sentinel().call({"SENTINEL", "MYID"});
    } catch (const std::runtime_error&) {
      return false;
    }
    return true;
  }));
  EXPECT_NE(other, own);
}

// Whoever may talk to a Sentinel need not be let in by Redis.
TEST_F(ClientsOfSentinel, change_nothing_of_what_is_guarded) {
  RawClient client = sentinel();
  client.send(command({"CLIENT", "REPLY", "OFF"}));
  for (std::uint64_t n = 0; n < 100; ++n) {
    client.send(command({"SET", absent_user(n), "1"}));
  }
  client.send(command({"CLIENT", "REPLY", "ON"}));
  EXPECT_EQ(client.read_reply(), kOk);
  EXPECT_EQ(info_field(*guard_, "users", "keys_learned"), "0");
  for (std::uint64_t n = 0; n < 100; ++n) {
    EXPECT_EQ(guard_->call({"GET", absent_user(n)}), absent_reply());
  }
  EXPECT_THAT(sentinel().call({"GUARD.RELOAD"}), AnyOf(HasSubstr("-NOPERM"), HasSubstr("-ERR")));
}

class WithoutPortsForReplicas : public ClientsOfSentinel {
 protected:
  WithoutPortsForReplicas() : ClientsOfSentinel(0) {}
};

TEST_F(WithoutPortsForReplicas, the_master_has_the_port_of_any_and_the_log_tells_of_replicas) {
  RawClient subscriber = sentinel();
  subscriber.call({"SUBSCRIBE", "+switch-master"});
  const auto told = [this] {
    return sentinel().call({"SENTINEL", "GET-MASTER-ADDR-BY-NAME", "shop"});
  };
  EXPECT_EQ(told(), address_reply(guard_->port()));
  EXPECT_THAT(guard_->log(), HasSubstr("event=cluster_nodes_without_port nodes=2"));
  EXPECT_TRUE(names_a_server(sentinel().call({"SENTINEL", "REPLICAS", "shop"})));
  fail_over_by_command();
  EXPECT_EQ(told(), address_reply(guard_->port()));
  const std::string port = std::to_string(guard_->port());
  EXPECT_EQ(subscriber.read_reply(),
            "*3\r\n" + bulk("message") + bulk("+switch-master") +
                bulk("shop 127.0.0.1 " + port + " 127.0.0.1 " + port));
}

// Of TCP connections that a process has, the ports of the other side.
std::set<std::uint16_t> peers_of(pid_t pid) {
  const std::string process = "/proc/" + std::to_string(pid);
  std::set<std::string> sockets;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(process + "/fd", error)) {
    const std::string link = std::filesystem::read_symlink(entry.path(), error).string();
    if (link.starts_with("socket:[")) {
      sockets.insert(link.substr(8, link.size() - 9));
    }
  }
  std::set<std::uint16_t> ports;
  for (const char* const table : {"/net/tcp", "/net/tcp6"}) {
    std::ifstream lines(process + table);
    for (std::string line; std::getline(lines, line);) {
      std::istringstream words(line);
      std::vector<std::string> all;
      for (std::string word; words >> word;) {
        all.push_back(word);
      }
      if (all.size() > 9 && sockets.contains(all[9])) {
        const std::string port = all[2].substr(all[2].find(':') + 1);
        ports.insert(static_cast<std::uint16_t>(std::stoul(port, nullptr, 16)));
      }
    }
  }
  return ports;
}

class LibrariesOfSentinel : public ClientsOfSentinel {
 protected:
  // A program that works until `end` is there, through two failovers.
  void run(std::vector<std::string> program) {
    const std::filesystem::path output = directory_ / "output";
    const std::filesystem::path end = directory_ / "end";
    program.push_back(std::to_string(guard_->sentinel_port()));
    program.emplace_back(kAbsentText);
    program.push_back(end.string());
    ChildProcess client(program, {output, directory_ / "errors"});
    std::set<std::uint16_t> peers;
    const auto look = [&] { peers.merge(peers_of(client.pid())); };
    ASSERT_TRUE(eventually([&] {
      look();
      return read_whole_file(output).contains("begun");
    })) << read_whole_file(directory_ / "errors");
    look();
    fail_over_by_command();
    look();
    sentinels_.wait_until_ok();
    const std::size_t master = fail_over_by_crash();
    const std::uint64_t before = sentinels_.node(master).calls("set");
    EXPECT_TRUE(eventually([&] {
      look();
      return sentinels_.node(master).calls("set") > before + 50;
    })) << "it is served again";
    write_whole_file(end, "");
    ASSERT_EQ(client.exit_code(), 0) << read_whole_file(directory_ / "errors");
    const std::string said = read_whole_file(output);
    std::printf("%s", said.substr(0, said.find("\"heard\"")).c_str());
    EXPECT_FALSE(names_a_server(said)) << said;
    EXPECT_THAT(said, HasSubstr("+switch-master shop 127.0.0.1"));
    EXPECT_THAT(said, Not(HasSubstr("\"absent_answered\": 0,")));
    EXPECT_THAT(said, AnyOf(HasSubstr("\"wrong\": 0,"), HasSubstr("\"wrong\":0,")));
    for (std::size_t i = 0; i < sentinels_.size(); ++i) {
      EXPECT_FALSE(peers.contains(sentinels_.port(i)));
      EXPECT_FALSE(peers.contains(sentinels_.sentinel_port(i)));
    }
    EXPECT_TRUE(peers.contains(guard_->sentinel_port()));
    EXPECT_TRUE(peers.contains(port_of(0)));
  }
};

TEST_F(LibrariesOfSentinel, python_redis_goes_on_through_failovers) {
  const std::string python = "/usr/bin/python3";
  SKIP_IF_MISSING(missing_packages("python3-redis", {python, "-c", "import redis.sentinel"}));
  run({python, std::string(CUCKOOGUARD_CLIENTS) + "/python_sentinel.py"});
}

TEST_F(LibrariesOfSentinel, ioredis_goes_on_through_failovers) {
  const std::string folder = CUCKOOGUARD_NODE_FOLDER;
  SKIP_IF_MISSING(missing_node_module(folder, "ioredis"));
  run({"node", std::string(CUCKOOGUARD_CLIENTS) + "/ioredis_sentinel.mjs", folder});
}

class SecuredSentinels : public GuardedSentinels {
 protected:
  SecuredSentinels() : GuardedSentinels(wish()) {}

  static Wish wish() {
    static const TemporaryDirectory kFolder;
    write_certificates(kFolder.path());
    return {.redis = {.arguments = {"--requirepass", "of-redis", "--masterauth", "of-redis"},
                      .password = "of-redis",
                      .sentinel_settings = {"requirepass of-sentinel"},
                      .sentinel_password = "of-sentinel",
                      .tls_folder = kFolder.path()},
            .more_upstream =
                ", control: { password: of-redis }, sentinel_control: { password: "
                "of-sentinel }, tls: { ca: '" +
                (kFolder / "ca.crt").string() + "', server_name: localhost }",
            .node_ports = 4};
  }
};

TEST_F(SecuredSentinels, are_followed_over_tls_and_with_their_passwords) {
  EXPECT_THAT(guard_->call({"GET", absent_user()}), HasSubstr("-NOAUTH"));
  RawClient sentinel = RawClient::to_port(guard_->sentinel_port());
  EXPECT_THAT(sentinel.call({"SENTINEL", "MASTERS"}), HasSubstr("-NOAUTH"));
  EXPECT_THAT(sentinel.call({"AUTH", "of-redis"}), HasSubstr("-WRONGPASS"));
  EXPECT_EQ(sentinel.call({"AUTH", "of-sentinel"}), kOk);
  const std::string told = sentinel.call({"SENTINEL", "GET-MASTER-ADDR-BY-NAME", "shop"});
  EXPECT_THAT(told, Not(HasSubstr(std::to_string(sentinels_.port(0)))));
  const std::size_t master = fail_over_by_crash();
  EXPECT_TRUE(eventually([this] { return answers(); })) << guard_->log();
  EXPECT_EQ(try_guard({"SET", "here", "1"}), kOk);
  EXPECT_EQ(sentinels_.node(master).call({"GET", "here"}), bulk("1"));
}

}  // namespace
}  // namespace cuckooguard::harness
