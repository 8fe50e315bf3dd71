#include "harness/peer_ports.h"

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <system_error>

namespace cuckooguard::harness {
namespace {

// "socket:[12345]" of each, as /proc/<pid>/fd has it.
std::set<std::string> sockets_of(const std::filesystem::path& process) {
  std::set<std::string> sockets;
  std::error_code gone;
  for (const auto& descriptor : std::filesystem::directory_iterator(process / "fd", gone)) {
    const std::string target = std::filesystem::read_symlink(descriptor.path(), gone).string();
    if (target.starts_with("socket:[")) {
      sockets.insert(target.substr(8, target.size() - 9));
    }
  }
  return sockets;
}

}  // namespace

std::set<std::uint16_t> peer_ports(pid_t pid) {
  const std::filesystem::path process = std::filesystem::path("/proc") / std::to_string(pid);
  const std::set<std::string> sockets = sockets_of(process);
  std::set<std::uint16_t> ports;
  std::ifstream table(process / "net/tcp");
  std::string line;
  std::getline(table, line);  // the columns' names
  while (std::getline(table, line)) {
    std::istringstream columns(line);
    std::string number;
    std::string local;
    std::string remote;  // 0100007F:1B58
    std::string state;
    std::string word;
    columns >> number >> local >> remote >> state;
    for (int i = 0; i < 5; ++i) {  // queues, timer, retransmissions, user, timeout
      columns >> word;
    }
    columns >> word;
    constexpr auto kHexadecimal = 16;
    const bool is_connected = state == "01" || state == "02";  // ESTABLISHED, SYN_SENT
    if (is_connected && sockets.contains(word)) {
      ports.insert(static_cast<std::uint16_t>(
          std::stoul(remote.substr(remote.find(':') + 1), nullptr, kHexadecimal)));
    }
  }
  return ports;
}

}  // namespace cuckooguard::harness
