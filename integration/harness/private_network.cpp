#include "harness/private_network.h"

#include <initializer_list>
#include <stdexcept>
#include <vector>

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include "harness/child_process.h"
#include "harness/missing.h"
#include "harness/temporary_directory.h"

namespace cuckooguard::harness {
namespace {

constexpr const char* kOwnNetwork = "/proc/thread-self/ns/net";
constexpr const char* kIp = "/usr/sbin/ip";
constexpr const char* kNobody = "02:00:00:00:00:01";
constexpr const char* kVoidTable = "66";
constexpr const char* kCuts = "1";  // these rules' preference

void ip(std::initializer_list<std::string> arguments) {
  std::vector<std::string> command{kIp};
  command.insert(command.end(), arguments);
  const Ended ended = run_program(std::move(command));
  if (ended.exit_code != 0) {
    throw std::runtime_error("ip: " + ended.standard_error);
  }
}

}  // namespace

std::optional<std::string> PrivateNetwork::missing() {
  if (::geteuid() != 0) {
    return "a network of one's own needs root";
  }
  if (auto program = missing_program(kIp, "iproute2")) {
    return program;
  }
  // As in the constructor.
  const std::string probe = std::string(kIp) +
                            " link add void type veth peer name void_end && "
                            "echo 1 >/proc/sys/net/ipv4/conf/void/route_localnet";
  return run_program({"/usr/bin/unshare", "--net", "sh", "-c", probe}).exit_code == 0
             ? std::nullopt
             : std::optional<std::string>("the kernel gives no network of one's own here");
}

PrivateNetwork::PrivateNetwork() {
  if (missing()) {
    return;
  }
  before_ = ::open(kOwnNetwork, O_RDONLY | O_CLOEXEC);
  if (before_ < 0 || ::unshare(CLONE_NEWNET) != 0) {
    throw std::runtime_error("no network of one's own");
  }
  ip({"link", "set", "lo", "up"});
  // Where what is cut off goes: to nobody, which its sender is not told.
  ip({"link", "add", "void", "type", "veth", "peer", "name", "void_end"});
  ip({"link", "set", "void", "up"});
  ip({"link", "set", "void_end", "up"});
  write_whole_file("/proc/sys/net/ipv4/conf/void/route_localnet", "1");
  ip({"neigh", "add", "127.0.0.1", "lladdr", kNobody, "dev", "void", "nud", "permanent"});
  ip({"route", "add", "default", "dev", "void", "table", kVoidTable});
  // Rules in front of the one that delivers to the machine itself.
  ip({"rule", "add", "pref", "1000", "lookup", "local"});
  ip({"rule", "del", "pref", "0", "lookup", "local"});
}

PrivateNetwork::~PrivateNetwork() {
  if (before_ >= 0) {
    ::setns(before_, CLONE_NEWNET);
    ::close(before_);
  }
}

void PrivateNetwork::cut(std::string_view from, std::uint16_t to) {
  const std::string source(from);
  const std::string port = std::to_string(to);
  if (to == 0) {
    ip({"rule", "add", "pref", kCuts, "from", source, "lookup", kVoidTable});
  } else {
    ip({"rule",
        "add",
        "pref",
        kCuts,
        "from",
        source,
        "ipproto",
        "tcp",
        "dport",
        port,
        "lookup",
        kVoidTable});
  }
  ++cuts_;
}

void PrivateNetwork::heal() {
  for (; cuts_ > 0; --cuts_) {
    ip({"rule", "del", "pref", kCuts});
  }
}

}  // namespace cuckooguard::harness
