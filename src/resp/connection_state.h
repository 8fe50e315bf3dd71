// The state of a connection to Redis, and the commands that bring another one into the same state.
//
//   a client's connection:  HELLO 3 AUTH shop word SETNAME web   SELECT 2
//   one that replaces it:   the same, by greeting(fresh, told)
//
// Threads: plain values. Errors: greeting() is nullopt where only a new connection could be meant.
// Limits: as long as the commands it was learned from. It holds a secret: it is never logged.
// Source: Redis 7.0.15 networking.c (helloCommand, clientCommand), acl.c (authCommand).
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "resp/version.h"

namespace cuckooguard::resp {

struct Login {
  std::string user{};  // empty: AUTH with a password alone, which is the user "default"'s
  std::string secret{};

  bool operator==(const Login&) const = default;
};

// Without influence on commands: CLIENT SETNAME, CLIENT SETINFO.
struct Labels {
  std::string name{};
  std::string library{};
  std::string library_version{};

  bool operator==(const Labels&) const = default;
};

struct ConnectionState {
  Version version = Version::resp2;
  std::optional<Login> login{};  // nullopt: whoever Redis takes a new connection for
  int db = 0;
  bool reads_replica = false;  // READONLY
  Labels labels{};

  bool operator==(const ConnectionState&) const = default;
};

// Commands with one reply each, all of them errors or accepted.
struct Greeting {
  std::string commands{};
  std::size_t replies = 0;
  std::size_t labels = 0;  // of these, the last, which tell labels
};

// What brings a connection from the state `from` into the state `to`. Only a new connection can log
// somebody out.
std::optional<Greeting> greeting(const ConnectionState& from, const ConnectionState& to);

}  // namespace cuckooguard::resp
