#include "soak/checked_client.h"

#include <array>
#include <exception>
#include <utility>

#include "fixtures/same_bytes.h"
#include "fixtures/side_by_side.h"
#include "harness/redis_command.h"

namespace cuckooguard::soak {

using harness::bulk;
using harness::command;

CheckedClient::CheckedClient(SoakWorld& world, std::size_t number, std::uint32_t seed)
    : world_(world), number_(number), seed_(seed), random_(seed), mix_(seed + 1, number) {}

void CheckedClient::run() {
  while (!world_.is_over()) {
    try {
      live();
    } catch (const std::exception& error) {
      compare(asked_, error.what(), "no error");
    }
  }
}

void CheckedClient::live() {
  Both both{world_.guarded(), world_.straight()};
  if (choose(10) == 0) {
    same(both, command({"GET", own_key("plain")}) + command({"RESET"}), 2);
  }
  log_in(both);
  for (std::size_t left = 1 + choose(25); left > 0 && !world_.is_over(); --left) {
    if (choose(3) == 0) {
      interlude(both);
    }
    pipeline(both);
  }
  if (choose(2) == 0) {
    leave_in_the_middle(both);
  }
}

// RESET is also the end of a login, and Redis closes whoever is owed more than a little then: that
// is for interlude().
void CheckedClient::log_in_instead_of_reset(std::string& request) {
  const std::string login = command({"AUTH", "soak", kPassword});
  for (const std::string& reset : {command({"RESET"}), std::string("RESET\r\n")}) {
    for (std::size_t at = request.find(reset); at != std::string::npos; at = request.find(reset)) {
      request.replace(at, reset.size(), login);
    }
  }
}

void CheckedClient::log_in(Both& both) {
  same(both, command({"AUTH", "soak", kPassword}), 1);
}

void CheckedClient::pipeline(Both& both) {
  const std::string end = "end of " + std::to_string(number_) + "." + std::to_string(++pipelines_);
  std::string request = mix_.pipeline();
  log_in_instead_of_reset(request);
  request += command({"ECHO", end});
  asked_ = request;
  const std::vector<std::size_t> cuts = mix_.cuts(request.size());
  both.straight.send(request);
  both.guarded.send_cut(request, cuts);
  const std::string expected = both.straight.read_through(bulk(end));
  compare(request, both.guarded.read_through(bulk(end)), expected);
  world_.count(mix_.commands() - std::exchange(counted_, mix_.commands()));
}

// What a pipeline of the mix has not: changes whose replies are waited for, so that what follows
// shares again.
void CheckedClient::interlude(Both& both) {
  mix_.was_changed();
  switch (choose(8)) {
    case 0:
      same(both, command({"AUTH", "soak", "open"}), 1);
      return;
    case 1:
      same(both, command({"AUTH", "limited", "open"}) + command({"GET", own_key("plain")}), 2);
      return;
    case 2:
      same(both, command({"AUTH", "soak", "wrong"}) + command({"ACL", "WHOAMI"}), 2);
      return;
    case 3:
      same(both, command({"HELLO", choose(2) == 0 ? "2" : "3", "AUTH", "soak", "open"}), 1);
      return;
    case 4:
      same(both, command({"SELECT", choose(2) == 0 ? "0" : "1"}), 1);
      return;
    case 5:
      broken_watch(both);
      return;
    case 6:
      transaction_in_pieces(both);
      return;
    default:
      same(both, command({"RESET"}), 1);
      log_in(both);
  }
}

// Somebody else's SET, on a connection that is shared, is between WATCH and MULTI.
void CheckedClient::broken_watch(Both& both) {
  const std::string key = "user:" + own_key("watched");
  const std::string text = std::to_string(choose(100));
  same(
      both, command({"RESET"}) + command({"AUTH", "soak", kPassword}) + command({"WATCH", key}), 3);
  if (choose(2) == 0) {
    Both other{world_.guarded(), world_.straight()};
    same(other, command({"AUTH", "soak", kPassword}) + command({"SET", key, text}), 2);
  }
  same(both,
       command({"MULTI"}) + command({"APPEND", key, "+"}) + command({"EXEC"}) +
           command({"GET", key}),
       4);
}

void CheckedClient::transaction_in_pieces(Both& both) {
  const std::string key = own_key("counter");
  same(both, command({"INCR", key}) + command({"MULTI"}), 2);
  for (std::size_t left = choose(3); left > 0; --left) {
    same(both,
         command({"INCR", key}) + command({"GET", harness::absent_user(choose(1000))}) +
             (choose(4) == 0 ? command({"GET"}) : command({"PING"})),
         3);
  }
  same(both, command({choose(3) == 0 ? "DISCARD" : "EXEC"}) + command({"INCR", key}), 2);
}

// Its replies must not become anybody's, nor what it leaves behind. Redis without the guard is told
// nothing of it.
void CheckedClient::leave_in_the_middle(Both& both) {
  const std::string key = std::string(kNeighboursKeys) + own_key("left");
  constexpr std::array<std::string_view, 8> kBefore{"PING",
                                                    "MULTI",
                                                    "SELECT 1",
                                                    "HELLO 3",
                                                    "WATCH plain:left",
                                                    "SUBSCRIBE left",
                                                    "AUTH soak open",
                                                    "BLPOP none 5"};
  std::string request = std::string(kBefore[choose(kBefore.size())]) + "\r\n";
  for (std::size_t left = choose(40); left > 0; --left) {
    request += choose(3) == 0 ? command({"SET", key, std::string(choose(3000), 'l')})
                              : command({"GET", harness::user(1 + choose(2000))});
  }
  request.resize(choose(request.size() + 1));
  both.guarded.send(request);
  world_.count(1);
}

void CheckedClient::same(Both& both, std::string_view request, std::size_t replies) {
  asked_ = request;
  const std::string expected = both.straight.exchange(request, replies);
  compare(request, both.guarded.exchange(request, replies), expected);
  world_.count(replies);
}

void CheckedClient::compare(std::string_view request,
                            const std::string& is,
                            const std::string& should_be) {
  const auto same = harness::same_bytes(harness::without_connection_id(is),
                                        harness::without_connection_id(should_be));
  if (!same) {
    world_.mismatch("client " + std::to_string(number_) + ", seed " + std::to_string(seed_) +
                        ", pipeline " + std::to_string(pipelines_),
                    std::string(same.message()) + "\n  asked     " + harness::shown(request));
  }
}

std::string CheckedClient::own_key(std::string_view name) const {
  return std::string(name) + "@" + std::to_string(number_);
}

}  // namespace cuckooguard::soak
