// A cache-aside application on hiredis, with a thread and a connection per client of the herd
// (herd.h).
//
//   herd_hiredis PORT HERD CLIENTS
//
// PORT is Redis's, or the guard's. A thread that is told to die closes its connection to Redis.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <hiredis/hiredis.h>

#include "harness/raw_client.h"
#include "harness/run_main.h"

namespace cuckooguard::harness {
namespace {

constexpr int kTtl = 300;  // seconds

struct Free {
  void operator()(redisContext* context) const { redisFree(context); }
  void operator()(redisReply* reply) const { freeReplyObject(reply); }
};

std::string ask(RawClient& herd, const std::string& line) {
  herd.send(line + "\n");
  std::string answer = herd.read_through("\n");
  answer.pop_back();
  return answer;
}

class Redis {
 public:
  explicit Redis(int port) : context_(redisConnect("127.0.0.1", port)) {}

  // A connection that was lost is made anew, as clients do.
  template <typename... Arguments>
  std::unique_ptr<redisReply, Free> call(const char* format, Arguments... arguments) {
    constexpr int kAttempts = 20;
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
      std::unique_ptr<redisReply, Free> reply(
          // NOLINTNEXTLINE(cppcoreguidelines-pro-type-vararg): as of hiredis's interface
          static_cast<redisReply*>(redisCommand(context_.get(), format, arguments...)));
      if (reply != nullptr && reply->type != REDIS_REPLY_ERROR) {
        return reply;
      }
      std::fprintf(stderr, "Redis: %s\n", reply == nullptr ? context_->errstr : reply->str);
      if (reply == nullptr) {
        redisReconnect(context_.get());
      }
    }
    std::exit(1);  // NOLINT(concurrency-mt-unsafe): it ends for all
  }

 private:
  std::unique_ptr<redisContext, Free> context_;
};

void be_client(int port, std::uint16_t herd_port) {
  constexpr std::string_view kRead = "read ";
  Redis redis(port);
  RawClient herd = RawClient::to_port(herd_port);
  std::string order = ask(herd, "ready");
  while (order != "end") {
    const std::string id = order.substr(kRead.size());
    const auto begin = SteadyClock::now();
    const auto cached = redis.call("GET user:%s", id.c_str());
    std::string value(cached->str == nullptr ? "" : cached->str, cached->len);
    if (cached->type == REDIS_REPLY_NIL) {
      value = ask(herd, "load " + id);
      if (value == "die") {
        return;
      }
      redis.call("SET user:%s %s EX %d", id.c_str(), value.c_str(), kTtl);
    }
    const auto took = SteadyClock::now() - begin;
    const auto microseconds = std::chrono::duration_cast<std::chrono::microseconds>(took).count();
    order = ask(herd, "took " + std::to_string(microseconds) + " " + value);
  }
}

int run(int port, std::uint16_t herd_port, int clients) {
  std::vector<std::jthread> threads;
  for (int i = 0; i < clients; ++i) {
    threads.emplace_back(be_client, port, herd_port);
  }
  return 0;
}

}  // namespace
}  // namespace cuckooguard::harness

int main(int count, char** arguments) {
  const std::vector<std::string> words(arguments, arguments + count);
  return cuckooguard::harness::run_main("herd_hiredis", [&words] {
    return cuckooguard::harness::run(std::stoi(words.at(1)),
                                     static_cast<std::uint16_t>(std::stoi(words.at(2))),
                                     std::stoi(words.at(3)));
  });
}
