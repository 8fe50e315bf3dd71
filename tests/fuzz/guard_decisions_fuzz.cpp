// A client sends random commands through the guard to a model of Redis, whose replies come back
// whenever they like.
//
// The model runs each command when it is sent, as Redis would, and so knows what the guard can only
// learn from replies: db, version, user, MULTI, WATCH. It refuses at random, and quirks of several
// releases of Redis are among its refusals.
//
// must: - what the guard answers, Redis would have answered at that very moment, with a missing
//         key, to that client: never in MULTI, in another db or version, to a restricted user,
//         without a fresh filter, once replies are unread
//       - a key in the filter, or written through the guard a moment ago, is never absent
//       - the plan of a merge fits the request that is sent

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <fuzzer/FuzzedDataProvider.h>

#include "guard/guarded_shop.h"
#include "guard_redis_model.h"
#include "resp/arguments.h"
#include "resp/request_scanner.h"

namespace cuckooguard::guard {
namespace {

void require(bool holds, const char* what) {
  if (!holds) {
    std::fprintf(stderr, "broken: %s\n", what);
    std::abort();
  }
}

class Run {
 public:
  Run(GuardedShop& shop, FuzzedDataProvider& random)
      : shop_(shop), random_(random), redis_(random) {}

  void step() {
    switch (random_.ConsumeIntegralInRange(0, 9)) {
      case 0:
      case 1:
        reply();
        break;
      case 2:
        change_the_world();
        break;
      case 3:
        stream();
        break;
      default:
        send(command());
    }
  }

 private:
  std::string key() {
    static constexpr std::string_view kPrefixes[] = {
        "user:", "item:", "order:", "cart:", "order:x", "other:", ""};
    return std::string(random_.PickValueInArray(kPrefixes)) +
           std::to_string(random_.ConsumeIntegralInRange(1, 140));
  }

  Words command() {
    static constexpr std::string_view kReads[] = {
        "GET", "MGET", "MGET", "EXISTS", "TOUCH", "TTL", "SUNION", "HMGET"};
    static constexpr std::string_view kWrites[] = {"SET", "DEL", "MSET", "HSET", "MODULE.SET"};
    static const std::vector<Words> kChanges = {{"MULTI"},
                                                {"EXEC"},
                                                {"DISCARD"},
                                                {"WATCH", "k"},
                                                {"UNWATCH"},
                                                {"RESET"},
                                                {"SELECT", "0"},
                                                {"SELECT", "2"},
                                                {"SELECT", "x"},
                                                {"SELECT"},
                                                {"AUTH"},
                                                {"AUTH", "pw"},
                                                {"AUTH", "bob", "pw"},
                                                {"AUTH", "alice", "pw"},
                                                {"HELLO"},
                                                {"HELLO", "2"},
                                                {"HELLO", "3"},
                                                {"HELLO", "4"},
                                                {"HELLO", "3", "AUTH", "bob", "pw"},
                                                {"HELLO", "2", "AUTH", "alice", "pw"},
                                                {"HELLO", "3", "AUTH", "bob", "pw", "BOGUS"},
                                                {"HELLO", "3", "AUTH", "bob"}};
    Words words;
    switch (random_.ConsumeIntegralInRange(0, 7)) {
      case 0:
      case 1:
        return kChanges[random_.ConsumeIntegralInRange<std::size_t>(0, kChanges.size() - 1)];
      case 2:
        words.emplace_back(random_.PickValueInArray(kWrites));
        break;
      case 3:
        if (random_.ConsumeProbability<float>() < 0.02F) {
          return {"CLIENT", "TRACKING", "on"};
        }
        words.push_back(random_.ConsumeRandomLengthString(8));
        break;
      default:
        words.emplace_back(random_.PickValueInArray(kReads));
    }
    for (int keys = random_.ConsumeIntegralInRange(0, 4); keys > 0; --keys) {
      words.push_back(key());
      if (words.front() == "MSET" || words.front() == "SET") {
        words.emplace_back(random_.ConsumeBool() ? "*" : "value");
      }
    }
    return words;
  }

  void send(const Words& words) {
    const std::vector<std::string_view> views(words.begin(), words.end());
    constexpr std::size_t room = std::size_t{1} << 20U;
    const bool may_answer = random_.ConsumeProbability<float>() < 0.95F;
    const Decision decision = shop_.guard->decide(shop_.guard->ask(views, shop_.client, shop_.now),
                                                  may_answer ? room : 0);
    require(may_answer || decision.action == Action::forward || decision.action == Action::unread,
            "an answer without room for it");
    require(!is_unread_ || decision.action == Action::unread,
            "a decision though replies are unread");
    is_unread_ = decision.action == Action::unread;
    if (decision.action == Action::forward) {
      forward(words, decision);
    } else if (decision.action == Action::answer) {
      check_answer(words, decision);
    } else if (decision.action != Action::unread) {
      check_rewrite(words, decision);
    }
  }

  void forward(const Words& words, const Decision& decision) {
    const char type = redis_.run(words);
    if (decision.change != nullptr) {
      shop_.client.sent(*decision.change);
      replies_.push_back({.change = *decision.change, .type = type, .number = ++sent_});
    } else if (decision.awaits_reply) {
      await(words, type);
    }
  }

  // Of a write; it counts when the reply has come.
  void await(const Words& words, char type) {
    shop_.client.writes()->await(++sent_);
    replies_.push_back({.type = type,
                        .number = sent_,
                        .keys = keys_written(words),
                        .is_queued = redis_.client.in_multi});
  }

  void reply() {
    if (replies_.empty()) {
      return;
    }
    const Reply reply = replies_.front();
    replies_.pop_front();
    if (reply.change) {
      shop_.client.replied(*reply.change, reply.type);
    } else {
      shop_.client.replied_to(reply.number, reply.type == '-');
      for (const std::string& key : reply.keys) {
        if (reply.type != '-' && !reply.is_queued) {
          written_[key] = shop_.now;
        }
      }
    }
    shop_.learn();
  }

  void change_the_world() {
    const auto ns = random_.ConsumeIntegralInRange<std::uint32_t>(0, 3);
    switch (random_.ConsumeIntegralInRange(0, 4)) {
      case 0:
        shop_.now += std::chrono::milliseconds(random_.ConsumeIntegralInRange(1, 30'000));
        break;
      case 1:
        fresh_until_[ns] = shop_.now + std::chrono::seconds(random_.ConsumeIntegralInRange(-1, 40));
        shop_.filters[ns]->set_fresh_until(fresh_until_[ns]);
        break;
      case 2:
        unrestricted_ = {"alice"};
        if (random_.ConsumeBool()) {
          unrestricted_.insert("default");
        }
        no_password_ = random_.ConsumeBool();
        shop_.facts.publish_users(
            shop_.facts.epoch(),
            {.unrestricted = unrestricted_, .default_needs_no_password = no_password_});
        break;
      case 3:
        shop_.spaces[ns].mode =
            random_.ConsumeBool() ? config::Mode::enforce : config::Mode::observe;
        break;
      default:
        shop_.client.access(*shop_.facts.snapshot(), shop_.facts);
    }
  }

  void stream() {
    resp::Scan scan;
    scan.outcome = resp::ScanOutcome::chunk;
    const Words words = command();
    const std::vector<std::string_view> views(words.begin(), words.end());
    const std::size_t cut = random_.ConsumeIntegralInRange<std::size_t>(1, views.size());
    scan.argument_total = views.size();
    scan.begins = true;
    scan.ends = cut == views.size();
    stream_chunk(scan, std::span(views).first(cut));
    if (!scan.ends) {
      scan.begins = false;
      scan.ends = true;
      scan.first_argument = cut;
      stream_chunk(scan, std::span(views).subspan(cut));
    }
    if (!is_unread_) {
      const RedisClient before = redis_.client;
      const char type = redis_.run(words);
      if (streamed_keys_) {
        await(words, type);
      }
      require(before.db == redis_.client.db && before.version == redis_.client.version &&
                  before.user == redis_.client.user && before.in_multi == redis_.client.in_multi,
              "a streamed change of the connection went unseen");
    }
  }

  void stream_chunk(const resp::Scan& scan, std::span<const std::string_view> arguments) {
    const Decision decision = shop_.guard->stream(scan, arguments, shop_.client, shop_.now);
    require(!is_unread_ || decision.action == Action::unread, "a chunk though replies are unread");
    is_unread_ = decision.action == Action::unread;
    streamed_keys_ = decision.awaits_reply || (!scan.begins && streamed_keys_);
  }

  static std::vector<std::string> keys_written(const Words& words) {
    std::vector<std::string> keys;
    const bool has_values = words.front() == "MSET" || words.front() == "SET";
    const bool is_write = has_values || words.front() == "DEL" || words.front() == "MODULE.SET";
    const std::size_t step = has_values ? 2 : 1;
    const std::size_t end = words.front() == "SET" ? 2 : words.size();
    for (std::size_t i = 1; is_write && i < std::min(end, words.size()); i += step) {
      const bool says_absent = has_values && i + 1 < words.size() && words[i + 1] == "*" &&
                               words[i].starts_with("item:");
      if (!says_absent) {
        keys.push_back(words[i]);
      }
    }
    return keys;
  }

  void check_absent(std::string_view key) {
    const RedisClient& redis = redis_.client;
    require(!redis.in_multi && !redis.watching, "answered inside MULTI or after WATCH");
    require(redis.authenticated ? unrestricted_.contains(redis.user)
                                : no_password_ && unrestricted_.contains("default"),
            "answered to a restricted user");
    const std::uint32_t ns = namespace_of(key);
    require(redis.db == shop_.spaces[ns].db, "answered in another db");
    require(shop_.now < fresh_until_[ns], "answered by a filter that is not fresh");
    require(shop_.spaces[ns].mode == config::Mode::enforce, "answered in observe");
    require(!exists(ns, key.substr(key.find(':') + 1)), "an existing key was hidden");
    require(std::ranges::none_of(replies_,
                                 [key](const Reply& reply) {
                                   return std::ranges::find(reply.keys, key) != reply.keys.end();
                                 }),
            "a key whose write is in flight was hidden");
    const auto written = written_.find(std::string(key));
    require(written == written_.end() || shop_.now > written->second + seconds(60),
            "a key just written was hidden");
  }

  static std::uint32_t namespace_of(std::string_view key) {
    const std::string_view name = key.substr(0, key.find(':'));
    require(name == "user" || name == "item" || name == "order" || name == "cart",
            "a key of no namespace was answered");
    return name == "user" ? 0 : name == "item" ? 1 : name == "order" ? 2 : 3;
  }

  // See the table in guarded_shop.h; up to 110, users are fresh.
  static bool exists(std::uint32_t ns, std::string_view value) {
    if (ns == GuardedShop::kItems) {
      return false;
    }
    if (ns == GuardedShop::kCarts) {
      return value == "7";
    }
    const int last = ns == GuardedShop::kUsers ? 110 : 100;
    return !value.starts_with('x') && std::stoi(std::string(value)) <= last;
  }

  std::string_view absent_bytes(std::string_view key) const {
    const bool is_resp3 = redis_.client.version == resp::Version::resp3;
    return key.starts_with("item:") ? kStar : is_resp3 ? kNil3 : kNil2;
  }

  void check_answer(const Words& words, const Decision& decision) {
    require(words.size() > 1 && decision.reply == expected_answer(words), "the bytes of an answer");
    // Behind HMGET's key stand fields.
    const std::size_t end = words.front() == "HMGET" ? 2 : words.size();
    for (std::size_t i = 1; i < end; ++i) {
      check_absent(words[i]);
    }
  }

  std::string expected_answer(const Words& words) const {
    const std::string& name = words.front();
    const bool is_resp3 = redis_.client.version == resp::Version::resp3;
    if (name == "EXISTS" || name == "TOUCH") {
      return ":0\r\n";
    }
    if (name == "TTL") {
      return words.size() == 2 ? ":-2\r\n" : "an error";
    }
    if (name == "SUNION") {
      return is_resp3 ? "~0\r\n" : "*0\r\n";
    }
    if (name == "HMGET") {
      std::string nils = "*" + std::to_string(words.size() - 2) + "\r\n";
      for (std::size_t i = 2; i < words.size(); ++i) {
        nils += is_resp3 ? kNil3 : kNil2;
      }
      return words.size() > 2 ? nils : "an error";
    }
    if (name == "GET") {
      return words.size() == 2 ? std::string(absent_bytes(words[1])) : "an error";
    }
    std::string elements = "*" + std::to_string(words.size() - 1) + "\r\n";
    for (std::size_t i = 1; i < words.size(); ++i) {
      elements += absent_bytes(words[i]);
    }
    return elements;
  }

  // What is sent, and what is put in, are together the client's keys in their order.
  void check_rewrite(const Words& words, const Decision& decision) {
    resp::RequestScanner scanner;
    resp::Arguments sent;
    const resp::Scan scan = scanner.next(decision.request, sent);
    require(scan.outcome == resp::ScanOutcome::command &&
                scan.consumed == decision.request.size() && sent.size() > 1 &&
                sent.size() < words.size() && sent[0] == words[0],
            "the request of a rewrite");
    const bool merges = decision.action == Action::merge;
    require(merges == (words.front() == "MGET"), "which command is merged");
    require(!merges || decision.elements.size() == words.size() - 1, "the elements of a merge");
    std::size_t next = 1;
    for (std::size_t i = 1; i < words.size(); ++i) {
      const bool is_sent = next < sent.size() && sent[next] == words[i];
      if (merges) {
        require(is_sent == !decision.elements[i - 1].has_value(), "the place of an element");
        require(is_sent || *decision.elements[i - 1] == absent_bytes(words[i]), "an element");
      }
      next += is_sent ? 1 : 0;
      if (!is_sent) {
        check_absent(words[i]);
      }
    }
    require(next == sent.size(), "keys of the request that are not the client's");
  }

  struct Reply {
    std::optional<redis::StateChange> change{};
    char type = '+';
    std::uint64_t number = 0;
    std::vector<std::string> keys{};  // written
    bool is_queued = false;
  };

  GuardedShop& shop_;
  FuzzedDataProvider& random_;
  ModelOfRedis redis_;
  std::deque<Reply> replies_;
  std::map<std::string, TimePoint> written_;
  std::set<std::string, std::less<>> unrestricted_ = {"default"};
  bool no_password_ = true;
  std::vector<TimePoint> fresh_until_ = std::vector<TimePoint>(4, shop_.now + seconds(1));
  bool is_unread_ = false;
  bool streamed_keys_ = false;
  std::uint64_t sent_ = 0;
};

}  // namespace
}  // namespace cuckooguard::guard

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace cuckooguard::guard;
  FuzzedDataProvider random(bytes, size);
  static GuardedShop shop;
  // What the last run has left in the overlays has expired.
  shop.now += std::chrono::minutes(10);
  shop.guard->ended(shop.client, shop.now);
  shop.now += std::chrono::minutes(10);
  shop.client.ended();
  shop.client = Client();
  shop.facts.publish_users(shop.facts.epoch(),
                           {.unrestricted = {"default"}, .default_needs_no_password = true});
  for (std::size_t ns = 0; ns < shop.spaces.size(); ++ns) {
    shop.spaces[ns].mode = cuckooguard::config::Mode::enforce;
    shop.filters[ns]->set_fresh_until(shop.now + seconds(1));
  }
  Run run(shop, random);
  while (random.remaining_bytes() > 0) {
    run.step();
  }
  return 0;
}
