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
      goes_on = !quits_;
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

// Redis's order: does it exist, its arity, authentication, permissions, subscribed, a replica, MULTI.
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
  const auto count = static_cast<int>(words.size());
  if (entry.arity > 0 ? count != entry.arity : count < -entry.arity) {
    return refuse("ERR wrong number of arguments for '" + name + "' command");
  }
  if (!standing_.authenticated && !entry.needs_no_auth) {
    return refuse("NOAUTH Authentication required.");
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
  return (this->*entry.run)(words);
}

// A command that is not even tried spoils the transaction.
std::string RedisConnection::refuse(std::string line) {
  transaction_is_refused_ = standing_.in_multi;
  std::ranges::replace(line, '\r', ' ');
  std::ranges::replace(line, '\n', ' ');
  return error(line);
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
