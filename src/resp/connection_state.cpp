#include "resp/connection_state.h"

#include <initializer_list>
#include <string_view>

#include "resp/reply_writer.h"

namespace cuckooguard::resp {
namespace {

void add(Greeting& greeting, std::initializer_list<std::string_view> command) {
  append_command(greeting.commands, {command.begin(), command.size()});
  ++greeting.replies;
}

void add_version(Greeting& greeting, Version version, const Login* login) {
  const std::string_view number = version == Version::resp3 ? "3" : "2";
  if (login == nullptr) {
    add(greeting, {"HELLO", number});
  } else {
    const std::string_view user(login->user);
    add(greeting,
        {"HELLO",
         number,
         "AUTH",
         user.empty() ? std::string_view("default") : user,
         login->secret});
  }
}

// The two forms are not the same: without a password only one of them is refused, old servers know
// only the other one.
void add_login(Greeting& greeting, const Login& login) {
  if (login.user.empty()) {
    add(greeting, {"AUTH", login.secret});
  } else {
    add(greeting, {"AUTH", login.user, login.secret});
  }
}

void add_labels(Greeting& greeting, const Labels& from, const Labels& to) {
  if (from.name != to.name) {
    add(greeting, {"CLIENT", "SETNAME", to.name});
  }
  if (from.library != to.library) {
    add(greeting, {"CLIENT", "SETINFO", "LIB-NAME", to.library});
  }
  if (from.library_version != to.library_version) {
    add(greeting, {"CLIENT", "SETINFO", "LIB-VER", to.library_version});
  }
}

}  // namespace

std::optional<Greeting> greeting(const ConnectionState& from, const ConnectionState& to) {
  if (from.login && !to.login) {
    return std::nullopt;
  }
  Greeting greeting;
  const bool logs_in = from.login != to.login;
  if (from.version != to.version) {
    add_version(greeting, to.version, logs_in ? &*to.login : nullptr);
  } else if (logs_in) {
    add_login(greeting, *to.login);
  }
  if (from.db != to.db) {
    add(greeting, {"SELECT", std::to_string(to.db)});
  }
  if (from.reads_replica != to.reads_replica) {
    add(greeting, {to.reads_replica ? "READONLY" : "READWRITE"});
  }
  const std::size_t others = greeting.replies;
  add_labels(greeting, from.labels, to.labels);
  greeting.labels = greeting.replies - others;
  return greeting;
}

}  // namespace cuckooguard::resp
