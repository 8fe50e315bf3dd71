// A cluster of two nodes, aa and bb, whose listeners are on ports 7101 and 7102, and cc, which has
// none; and RESP to write replies of.
#pragma once

#include <string>
#include <string_view>

#include "cluster/topology_reply.h"

namespace cuckooguard::cluster {

inline std::string bulk(std::string_view text) {
  return "$" + std::to_string(text.size()) + "\r\n" + std::string(text) + "\r\n";
}

inline std::string integer(int value) {
  return ":" + std::to_string(value) + "\r\n";
}

template <typename... Values>
std::string array(const Values&... values) {
  return ("*" + std::to_string(sizeof...(values)) + "\r\n" + ... + values);
}

template <typename... Values>
std::string map(const Values&... values) {
  return ("%" + std::to_string(sizeof...(values) / 2) + "\r\n" + ... + values);
}

inline Node made_node(std::string id, std::string host, std::uint16_t port) {
  Node node;
  node.id = std::move(id);
  node.host = std::move(host);
  node.port = port;
  return node;
}

inline Addresses made_addresses() {
  Addresses addresses;
  addresses.add(made_node("aa", "10.0.0.1", 7001), 7101);
  addresses.add(made_node("bb", "10.0.0.2", 7002), 7102);
  addresses.add(made_node("cc", "10.0.0.3", 7003), 0);
  return addresses;
}

inline ClientView made_client() {
  return {.host = "guard", .host_of_this_node = "10.0.0.1"};
}

}  // namespace cuckooguard::cluster
