// Of an AttackClient: what it may be told that Redis has not said.
#include <algorithm>

#include "simulation/attack_client.h"
#include "simulation/command_kinds.h"
#include "simulation/resp_frames.h"
#include "simulation/resp_text.h"

namespace cuckooguard::simulation {
namespace {

bool is_a_zero(const std::string& element) {
  return element == ":0\r\n" || element == "#f\r\n";
}

// Of `get`, `mget` and `exists`, where no key is there.
std::string absent_reply(const Words& words, const std::string& name, int version) {
  if (name == "exists") {
    return integer(0);
  }
  std::string reply = name == "mget" ? header('*', words.size() - 1) : "";
  for (std::size_t i = 1; i < words.size(); ++i) {
    reply += words[i].starts_with("item:") ? bulk("*") : nil(version);
  }
  return reply;
}

}  // namespace

// Redis has not been asked.
void AttackClient::judge_local(const Sent& sent, const std::string& frame) {
  ++records_.answered;
  next_to_execute_ = std::max(next_to_execute_, sent.number + 1);  // else numbers would come round
  if (sent.command.words.empty()) {
    fail("it received " + printable(frame) + " to what is no command", &sent);
    return;
  }
  const std::string name = lower(sent.command.words[0]);
  if (is_of_filter(name)) {
    judge_filter(sent, name, frame);
    return;
  }
  if (!was_answered_by_redis_at(sent.at) && !frame.starts_with("-NOAUTH")) {
    fail("it is answered without login: " + printable(frame), &sent);
  }
  if (name.starts_with("guard.") || records_.refused_greetings.contains(frame)) {
    return;
  }
  for (std::size_t i = 1; i < sent.command.words.size(); ++i) {
    const std::string& key = sent.command.words[i];
    if (const char* const why = why_not_absent(sent, key)) {
      fail("it is told that a key is absent, but " + std::string(why) + ": " + printable(key),
           &sent);
    }
  }
  const bool is_known = name == "get" || is_read_of_many(name);
  if (!is_known || (frame != absent_reply(sent.command.words, name, 2) &&
                    frame != absent_reply(sent.command.words, name, 3))) {
    fail("it received " + printable(frame) + ", which Redis has not said", &sent);
  }
}

// That an item may exist says nothing to anybody.
void AttackClient::judge_filter(const Sent& sent,
                                const std::string& name,
                                const std::string& frame) {
  if (frame.starts_with("-NOAUTH") || frame.starts_with("-NOPERM") ||
      frame.starts_with("-ERR rights unknown")) {
    return;
  }
  const Words& words = sent.command.words;
  const std::string head = header('*', words.size() - 2);
  constexpr std::size_t kElement = 4;
  if (!frame.starts_with(head) || frame.size() != head.size() + kElement * (words.size() - 2)) {
    fail("it received " + printable(frame) + ", which is no reply to it", &sent);
    return;
  }
  for (std::size_t i = 2; i < words.size(); ++i) {
    const bool is_zero = is_a_zero(frame.substr(head.size() + kElement * (i - 2), kElement));
    if (is_zero != (name == "bf.mexists")) {
      continue;  // it may exist, or has been there
    }
    if (!was_answered_by_redis_at(sent.at)) {
      fail("it is told of an item without login: " + words[i], &sent);
    }
    if (const char* const why = why_not_absent(sent, "user:" + words[i])) {
      fail("it is told that an item is absent, but " + std::string(why) + ": " + words[i], &sent);
    }
  }
}

const char* AttackClient::why_not_absent(const Sent& sent, const std::string& key) const {
  if (!key.starts_with("user:") && !key.starts_with("item:")) {
    return "no namespace has it";
  }
  if (std::ranges::find(*settings_.existing_keys, key) != settings_.existing_keys->end()) {
    return "the row exists";
  }
  const auto denied = records_.denied_since.find(standing_.user);
  if (denied != records_.denied_since.end() && denied->second < sent.at && became_ < sent.at) {
    return "the user may not read it";
  }
  if (!records_.redis.values.contains({0, key})) {
    return nullptr;
  }
  const auto is_recent = [&sent](io::TimePoint when) {
    return sent.at < when + AttackRecords::kRemembered;
  };
  const auto own = own_written_.find(key);
  if (own != own_written_.end() && own->second.number < sent.number &&
      is_recent(own->second.when) && writes_ <= AttackRecords::kShare) {
    return "the client has written it";
  }
  const auto written = records_.written.find(key);
  if (written != records_.written.end() && written->second.surely < sent.at &&
      is_recent(written->second.surely)) {
    return "it was written through the guard";
  }
  return nullptr;
}

}  // namespace cuckooguard::simulation
