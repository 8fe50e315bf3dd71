// A model of Redis for the guard's fuzzer: runs the commands that change a connection as Redis
// does, refuses at random, and has the quirks of several releases.
#pragma once

#include <string>
#include <vector>

#include <fuzzer/FuzzedDataProvider.h>

#include "resp/version.h"

namespace cuckooguard::guard {

using Words = std::vector<std::string>;

// One connection as Redis sees it.
struct RedisClient {
  int db = 0;
  resp::Version version = resp::Version::resp2;
  std::string user = "default";
  bool authenticated = false;
  bool in_multi = false;
  bool watching = false;
  std::vector<Words> queue;
};

class ModelOfRedis {
 public:
  explicit ModelOfRedis(FuzzedDataProvider& random) : random_(random) {}

  // Runs the command; the first byte of its reply.
  char run(const Words& words) {
    const std::string& name = words.front();
    const bool refuses = random_.ConsumeProbability<float>() < 0.2F;
    if (name == "MULTI") {
      return refuses || client.in_multi ? '-' : (client.in_multi = true, '+');
    }
    if (name == "EXEC" || name == "DISCARD") {
      return end_multi(name == "EXEC", refuses);
    }
    if (name == "WATCH") {
      return refuses || client.in_multi ? '-' : (client.watching = true, '+');
    }
    if (name == "RESET") {
      return refuses ? '-' : (client = RedisClient{}, '+');
    }
    if (refuses) {
      return refuse(words);
    }
    if (client.in_multi) {
      client.queue.push_back(words);
      return '+';
    }
    return apply(words);
  }

  RedisClient client;

 private:
  char end_multi(bool is_exec, bool refuses) {
    if (!client.in_multi) {
      return '-';
    }
    // Redis 7 leaves MULTI with -EXECABORT; Redis 6.0 may refuse EXEC and stay in it.
    if (refuses && random_.ConsumeBool()) {
      return '-';
    }
    client.in_multi = false;
    client.watching = false;
    if (is_exec && !refuses) {
      for (const Words& queued : client.queue) {
        apply(queued);
      }
    }
    client.queue.clear();
    if (refuses) {
      return '-';
    }
    return is_exec ? (random_.ConsumeBool() ? '*' : '_') : '+';
  }

  // HELLO takes its options one by one: AUTH may have succeeded before what follows is refused.
  char refuse(const Words& words) {
    if (words.front() == "HELLO" && words.size() >= 5 && words[2] == "AUTH" && !client.in_multi &&
        random_.ConsumeBool()) {
      client.user = words[3];
      client.authenticated = true;
    }
    return '-';
  }

  char apply(const Words& words) {
    const std::string& name = words.front();
    if (name == "SELECT" && words.size() == 2) {
      const bool is_db = words[1].size() == 1 && words[1][0] >= '0' && words[1][0] <= '9';
      return is_db ? (client.db = words[1][0] - '0', '+') : '-';
    }
    if (name == "AUTH" && (words.size() == 2 || words.size() == 3)) {
      client.user = words.size() == 3 ? words[1] : "default";
      client.authenticated = true;
      return '+';
    }
    if (name == "HELLO" && words.size() > 1) {
      return hello(words);
    }
    if (name == "UNWATCH") {
      client.watching = false;
      return '+';
    }
    return name == "SELECT" || name == "AUTH" ? '-' : '+';
  }

  char hello(const Words& words) {
    if (words[1] != "2" && words[1] != "3") {
      return '-';
    }
    if (words.size() >= 5 && words[2] == "AUTH") {
      client.user = words[3];
      client.authenticated = true;
    }
    if (words.size() == 3 || words.size() == 4 || words.size() > 5) {
      return '-';
    }
    client.version = words[1] == "3" ? resp::Version::resp3 : resp::Version::resp2;
    return client.version == resp::Version::resp3 ? '%' : '*';
  }

  FuzzedDataProvider& random_;
};

}  // namespace cuckooguard::guard
