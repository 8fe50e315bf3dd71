#include "simulation/redis_connection.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>

#include "simulation/redis_requests.h"
#include "simulation/resp_text.h"

namespace cuckooguard::simulation {
namespace {

std::string lower(std::string text) {
  std::ranges::transform(text, text.begin(), [](char byte) {
    return static_cast<char>(std::tolower(static_cast<unsigned char>(byte)));
  });
  return text;
}

bool is_known_acl_word(const std::string& word) {
  return word == "setuser" || word == "deluser" || word == "whoami" || word == "load";
}

}  // namespace

RedisConnection::RedisConnection(RedisStore& store, std::uint64_t id) : store_(store), id_(id) {
  standing_.authenticated = store_.users.at("default").password.empty();
}

bool RedisConnection::run(std::string& input,
                          std::string& output,
                          const std::function<void(const Executed&)>& on_executed) {
  std::size_t at = 0;
  bool goes_on = true;
  while (goes_on && at < input.size()) {
    const std::string_view rest = std::string_view(input).substr(at);
    Request request = next_request(rest);
    if (request.parsed == Parsed::incomplete) {
      break;
    }
    if (request.parsed == Parsed::command && must_wait(request.words)) {
      break;
    }
    std::string reply;
    const Standing before = standing_;
    if (request.parsed == Parsed::malformed) {
      reply = error(request.refusal);
      request.consumed = rest.size();
      request.words.clear();
      goes_on = false;
    } else if (request.parsed == Parsed::command) {
      const std::string said = run_command(request.words);
      if (!replies_off_ && skip_ == 0) {
        reply = said;
      }
      skip_ = std::max(0, skip_ - 1);
      goes_on = !quits_ && store_.users.contains(standing_.user);
      standing_.subscribed = is_bound_to_channels();
      standing_.has_channels = !channels_.empty();
    }
    output += reply;
    if (request.parsed != Parsed::nothing) {
      on_executed({rest.substr(0, request.consumed), request.words, reply, before, standing_});
    }
    at += request.consumed;
  }
  input.erase(0, at);
  return goes_on;
}

// True while BLPOP waits: at its end it is run, and finds nothing.
bool RedisConnection::must_wait(const Words& words) {
  if (is_paused(words)) {
    return true;
  }
  constexpr std::size_t kWords = 3;
  const bool may_block = words.size() == kWords && lower(words[0]) == "blpop" &&
                         standing_.authenticated && !standing_.in_multi && !standing_.subscribed;
  if (!may_block) {
    return false;
  }
  if (!blocked_until_) {
    const std::chrono::duration<double> time(std::strtod(words[2].c_str(), nullptr));
    blocked_until_ = store_.now + std::chrono::duration_cast<std::chrono::nanoseconds>(time);
  }
  if (store_.now < *blocked_until_) {
    return true;
  }
  blocked_until_.reset();
  return false;
}

// By CLIENT PAUSE WRITE.
bool RedisConnection::is_paused(const Words& words) {
  const auto found = commands().find(lower(words[0]));
  if (found != commands().end() && store_.now < store_.writes_paused_until) {
    const bool writes =
        found->second.writes ||
        (found->first == "exec" && std::ranges::any_of(queued_, [](const Words& queued) {
           return commands().at(lower(queued[0])).writes;
         }));
    is_paused_ = writes && standing_.authenticated && may_run(found->second) &&
                 (!standing_.in_multi || found->first == "exec");
    if (is_paused_) {
      blocked_until_ = store_.writes_paused_until;
      return true;
    }
  }
  if (is_paused_) {
    is_paused_ = false;
    blocked_until_.reset();
  }
  return false;
}

// Redis's order: does it exist, its arity, authentication, permissions, subscribed, a replica,
// MULTI.
std::string RedisConnection::run_command(const Words& words) {
  const std::string name = lower(words[0]);
  const auto found = commands().find(name);
  if (found == commands().end()) {
    std::string text = "ERR unknown command '" + words[0] + "', with args beginning with: ";
    for (std::size_t i = 1; i < words.size(); ++i) {
      text.append("'").append(words[i]).append("' ");
    }
    return refuse(text);
  }
  const Entry& entry = found->second;
  if (name == "acl" && words.size() > 1 && !is_known_acl_word(lower(words[1]))) {  // whoever asks
    return refuse("ERR unknown subcommand '" + words[1] + "'. Try ACL HELP.");
  }
  const auto count = static_cast<int>(words.size());
  if (entry.arity > 0 ? count != entry.arity : count < -entry.arity) {
    return refuse("ERR wrong number of arguments for '" + name + "' command");
  }
  if (!standing_.authenticated && !entry.needs_no_auth) {
    return refuse("NOAUTH Authentication required.");
  }
  if (!may_run(entry)) {
    return refuse("NOPERM this user has no permissions to run the '" + name + "' command");
  }
  if (!may_touch(entry, words)) {
    return refuse(
        "NOPERM this user has no permissions to access one of the keys used as arguments");
  }
  if (is_bound_to_channels() && name != "subscribe" && name != "unsubscribe" && name != "ping" &&
      name != "quit" && name != "reset") {
    return refuse("ERR Can't execute '" + name +
                  "': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in "
                  "this context");
  }
  if (is_replica_ && entry.writes) {
    return refuse("READONLY You can't write against a read only replica.");
  }
  return queue_or_run(entry, words);
}

std::string RedisConnection::queue_or_run(const Entry& entry, const Words& words) {
  if (standing_.in_multi && !entry.runs_in_multi) {
    queued_.push_back(words);
    return simple("QUEUED");
  }
  note_read(entry, words);
  return (this->*entry.run)(words);
}

// A command that is not even tried spoils the transaction.
std::string RedisConnection::refuse(std::string line) {
  transaction_is_refused_ = standing_.in_multi;
  std::ranges::replace(line, '\r', ' ');
  std::ranges::replace(line, '\n', ' ');
  return error(line);
}

bool RedisConnection::may_run(const Entry& entry) const {
  return entry.needs_no_auth || (store_.users.at(standing_.user).rights & entry.right) != 0;
}

void RedisConnection::note_read(const Entry& entry, const Words& words) {
  if (tracking_.is_on && !tracking_.broadcasts && entry.first_key > 0 && !entry.writes) {
    tracking_.keys.insert(words.begin() + entry.first_key, words.end());
  }
}

bool RedisConnection::may_touch(const Entry& entry, const Words& words) const {
  const std::string& prefix = store_.users.at(standing_.user).key_prefix;
  if (prefix.empty() || entry.first_key == 0) {
    return true;
  }
  const auto first = words.begin() + entry.first_key;
  const auto last = entry.many_keys ? words.end() : first + 1;
  return std::all_of(
      first, last, [&prefix](const std::string& key) { return key.starts_with(prefix); });
}

}  // namespace cuckooguard::simulation
