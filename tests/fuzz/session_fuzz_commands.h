// What the clients of session_fuzz ask for, of the fuzzer's bytes: reads of keys that exist, cannot
// exist, or only look like it; writes, some of them large; and whatever changes a connection.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include <fuzzer/FuzzedDataProvider.h>

namespace cuckooguard::proxy {

class FuzzedCommands {
 public:
  using Words = std::vector<std::string>;

  explicit FuzzedCommands(FuzzedDataProvider& random) : random_(random) {}

  Words next() {
    static const std::vector<Words> kOthers{{"MULTI"},
                                            {"MULTI"},
                                            {"EXEC"},
                                            {"EXEC"},
                                            {"DISCARD"},
                                            {"WATCH", "free:1"},
                                            {"UNWATCH"},
                                            {"RESET"},
                                            {"SELECT", "0"},
                                            {"SELECT", "2"},
                                            {"SELECT", "99"},
                                            {"HELLO"},
                                            {"HELLO", "2"},
                                            {"HELLO", "3"},
                                            {"HELLO", "3", "AUTH", "app", "word"},
                                            {"AUTH", "app", "word"},
                                            {"AUTH", "limited", "word"},
                                            {"AUTH", "app", "wrong"},
                                            {"CLIENT", "REPLY", "OFF"},
                                            {"CLIENT", "REPLY", "SKIP"},
                                            {"CLIENT", "REPLY", "ON"},
                                            {"CLIENT", "REPLY", "ON"},
                                            {"CLIENT", "SETNAME", "x"},
                                            {"SUBSCRIBE", "a"},
                                            {"SUBSCRIBE", "a", "b"},
                                            {"UNSUBSCRIBE", "a"},
                                            {"UNSUBSCRIBE"},
                                            {"PING"},
                                            {"NOSUCH", "user:7"},
                                            {"MONITOR"},
                                            {"QUIT"}};
    switch (choose(12)) {
      case 0:
      case 1:
      case 2:
      case 3:
        return {"GET", key()};
      case 4:
        return many({"MGET"});
      case 5:
        return many({"EXISTS"});
      case 6:
        return {"SET", key(), value()};
      case 7:
        return many({"DEL"});
      case 8:
        return random_.ConsumeBool() ? Words{"INCR", key()} : Words{"APPEND", key(), value()};
      case 9:
        return {"ECHO", value()};
      default:
        return kOthers[choose(kOthers.size())];
    }
  }

 private:
  std::size_t choose(std::size_t below) {
    return random_.ConsumeIntegralInRange<std::size_t>(0, below - 1);
  }

  std::string key() {
    static const std::array<std::string, 12> kKeys{"user:7",
                                                   "user:007",
                                                   "user:410",
                                                   "item:t7",
                                                   "item:none",
                                                   "order:x",
                                                   "order:9999",
                                                   "cart:none",
                                                   "draft:none",
                                                   "list:1",
                                                   "free:1",
                                                   ""};
    return choose(2) == 0 ? "user:" + std::to_string(1'000'000'000 + choose(64))
                          : kKeys[choose(kKeys.size())];
  }

  std::string value() {
    switch (choose(12)) {
      case 0:
        return std::string(70'000 + choose(200'000), 'v');
      case 1:
        return std::string(choose(20'000), 'v');
      case 2:
        return "*";
      default:
        return random_.ConsumeRandomLengthString(16);
    }
  }

  Words many(Words words) {
    for (std::size_t left = 1 + choose(5); left > 0; --left) {
      words.push_back(key());
    }
    return words;
  }

  FuzzedDataProvider& random_;
};

}  // namespace cuckooguard::proxy
