#include "simulation/ledger.h"

#include <algorithm>
#include <set>
#include <utility>

#include "simulation/command_kinds.h"
#include "simulation/resp_text.h"

namespace cuckooguard::simulation {
namespace {

// Of the elements of an array in RESP, each a bulk string or a nil.
std::string_view first_element(std::string_view elements) {
  const std::size_t line_end = elements.find('\n') + 1;
  if (elements.starts_with("_") || elements.starts_with("$-")) {
    return elements.substr(0, line_end);
  }
  return elements.substr(0,
                         line_end + std::stoul(std::string(elements.substr(1, line_end - 3))) + 2);
}

std::string printable(std::string_view bytes) {
  std::string text;
  for (const char byte : bytes.substr(0, 120)) {
    if (byte == '\r' || byte == '\n') {
      text += byte == '\r' ? "\\r" : "\\n";
    } else {
      text += byte >= ' ' && byte <= '~' ? byte : '?';
    }
  }
  return text;
}

}  // namespace

void Ledger::on_sent(SentCommand command) {
  sent_bytes_ += command.raw.size();
  ++world_.counts.commands;
  commands_.push_back({.sent = std::move(command), .end = sent_bytes_});
}

void Ledger::on_read_by_proxy(std::size_t bytes) {
  proxy_bytes_read_ += bytes;
  while (decided_ < first_ + commands_.size() && entry(decided_).end <= proxy_bytes_read_) {
    Entry& next = entry(decided_);
    next.seen = next.seen.value_or(world_.loop.now());
    decide(next, decided_);
    ++decided_;
  }
  if (decided_ < first_ + commands_.size()) {
    Entry& next = entry(decided_);
    if (!next.seen && next.end - next.sent.raw.size() < proxy_bytes_read_) {
      next.seen = world_.loop.now();
    }
  }
}

void Ledger::decide(Entry& entry, std::uint64_t command) {
  entry.is_decided = true;
  const auto& words = entry.sent.words;
  words_in_flight_ += words.size() + 2;
  if (is_answerable_read(words)) {
    decide_read(entry);
  } else {
    entry.why_not = "it is no read";
    note_write(entry);
  }
  if (is_change(words)) {
    change_ = Change{.command = command};
    // With too much in flight it cannot remember one more change, nor see one that has no reply.
    is_unread_ =
        is_unread_ || silence_ != Silence::none || words_in_flight_ >= world_.inflight_per_client;
  }
  is_unread_ = is_unread_ || may_end_reading(words);
  pass_silence(words);
}

// CLIENT REPLY holds for what stands behind it, SKIP for one command. Where Redis does not take it (inside MULTI,
// without AUTH) the proxy has stopped looking and answers nothing.
void Ledger::pass_silence(const Words& words) {
  const std::string mode = reply_mode(words);
  if (mode == "off") {
    silence_ = Silence::off;
  } else if (mode == "skip" && silence_ != Silence::off) {
    silence_ = Silence::next;
  } else if (mode == "on" || silence_ == Silence::next ||
             (words.size() == 1 && lower(words[0]) == "reset")) {
    silence_ = Silence::none;
  }
}

void Ledger::decide_read(Entry& entry) const {
  entry.why_not = why_not_now();
  entry.version = standing_.version;
  bool all_absent = entry.why_not == nullptr;
  for (std::size_t i = 1; i < entry.sent.words.size(); ++i) {
    const std::string& key = entry.sent.words[i];
    entry.keys.push_back({key, world_.shop.why_not_absent(key, standing_.db)});
    all_absent = all_absent && entry.keys.back().why_not == nullptr;
  }
  world_.counts.could_be_answered += all_absent ? 1 : 0;
}

const char* Ledger::why_not_now() const {
  if (change_ && (!change_->is_done || change_->stream_bytes > redis_bytes_read_)) {
    return "a change of the connection is in flight";
  }
  if (standing_.in_multi) {
    return "the client is inside MULTI";
  }
  if (standing_.watching) {
    return "the client watches keys";
  }
  if (standing_.subscribed) {
    return "the client is subscribed";
  }
  if (silence_ != Silence::none) {
    return "the client has switched replies off";
  }
  if (!standing_.authenticated) {
    return "the client has not authenticated";
  }
  return world_.shop.why_not_user(standing_.user);
}

// Keys of writes are learned as they pass by, whatever Redis says to the write.
void Ledger::note_write(const Entry& entry) const {
  const Words& words = entry.sent.words;
  if (is_unread_ || words.size() < 2) {
    return;
  }
  const std::string name = lower(words[0]);
  if (!is_one_of(name, {"set", "incr", "append", "del"})) {
    return;
  }
  // A large command is learned from while it passes.
  const bool is_large = entry.sent.raw.size() > resp::kWholeCommandBytesMax;
  const io::TimePoint learned = is_large ? *entry.seen : world_.loop.now();
  if (name == "set") {
    const bool has_value = words.size() > 2 && !is_large;
    world_.shop.on_write(
        words[1], has_value ? std::optional<std::string_view>(words[2]) : std::nullopt, learned);
    return;
  }
  const std::size_t keys_end = name == "del" ? words.size() : 2;
  for (std::size_t i = 1; i < keys_end; ++i) {
    world_.shop.on_write(words[i], std::nullopt, learned);
  }
}

bool Ledger::may_be_answered(const Entry& entry) const {
  return entry.is_decided && entry.why_not == nullptr &&
         std::ranges::all_of(entry.keys,
                             [](const KeyVerdict& key) { return key.why_not == nullptr; });
}

std::string Ledger::answer_to(const Entry& entry, const SimShop& shop) {
  const std::string name = lower(entry.sent.words[0]);
  if (name == "exists") {
    return integer(0);
  }
  std::string reply = name == "mget" ? header('*', entry.keys.size()) : "";
  for (const KeyVerdict& key : entry.keys) {
    reply += shop.absent_reply(key.key, entry.version);
  }
  return reply;
}

void Ledger::on_executed(const RedisConnection::Executed& executed, std::uint64_t stream_bytes) {
  for (;; ++aligned_) {
    if (aligned_ == first_ + commands_.size() || !entry(aligned_).is_decided) {
      fail("Redis was sent what the client had not sent: " + printable(executed.raw));
      return;
    }
    const Entry& candidate = entry(aligned_);
    if (auto reply = reply_if_run(candidate, executed)) {
      const auto& words = candidate.sent.words;
      if (change_ && change_->command == aligned_) {
        *change_ = {.command = aligned_, .is_done = true, .stream_bytes = stream_bytes};
      }
      if (is_change(words)) {
        standing_ = executed.after;
      }
      said_.push_back({std::move(*reply), aligned_});
      ++aligned_;
      return;
    }
    if (!may_be_answered(candidate)) {
      fail("Redis was sent " + printable(executed.raw) + " where it should have been sent " +
           printable(candidate.sent.raw) + why_wrong(candidate, executed.words));
      return;
    }
    ++world_.counts.answered;
  }
}

// Names a key that was left out and must not have been.
std::string Ledger::why_wrong(const Entry& entry, const Words& asked) {
  if (entry.why_not != nullptr) {
    return std::string("; ") + entry.why_not;
  }
  for (const KeyVerdict& key : entry.keys) {
    if (key.why_not != nullptr && std::ranges::find(asked, key.key) == asked.end()) {
      return "; " + printable(key.key) + " was left out although " + key.why_not;
    }
  }
  return {};
}

// What the client must receive for `entry` if this is how Redis was asked for it; nothing if it was not.
std::optional<std::string> Ledger::reply_if_run(const Entry& entry,
                                                const RedisConnection::Executed& executed) const {
  if (entry.sent.words.empty() || executed.words.empty()) {
    // Redis throws away what it has once it refuses: how much that is depends on the cuts.
    return entry.sent.words.empty() && executed.words.empty()
               ? std::optional(std::string(executed.reply))
               : std::nullopt;
  }
  if (executed.raw == entry.sent.raw) {
    return std::string(executed.reply);
  }
  const std::string name = lower(entry.sent.words[0]);
  if (entry.why_not != nullptr || executed.words[0] != entry.sent.words[0] ||
      !is_one_of(name, {"mget", "exists"})) {
    return std::nullopt;
  }
  return merged(entry, executed);
}

std::optional<std::string> Ledger::merged(const Entry& entry,
                                          const RedisConnection::Executed& executed) const {
  if (executed.raw != command(executed.words)) {
    return std::nullopt;
  }
  const std::set<std::string> asked(executed.words.begin() + 1, executed.words.end());
  std::size_t at = 1;
  const bool is_array = executed.reply.starts_with('*');
  std::string_view rest = executed.reply.substr(is_array ? executed.reply.find('\n') + 1 : 0);
  std::string reply = header('*', entry.keys.size());
  for (const KeyVerdict& key : entry.keys) {
    if (!asked.contains(key.key)) {
      if (key.why_not != nullptr) {
        return std::nullopt;
      }
      reply += world_.shop.absent_reply(key.key, entry.version);
      continue;
    }
    if (at == executed.words.size() || executed.words[at] != key.key) {
      return std::nullopt;
    }
    ++at;
    if (is_array) {
      const std::string_view element = first_element(rest);
      reply.append(element);
      rest.remove_prefix(element.size());
    }
  }
  if (at != executed.words.size() || at > entry.keys.size()) {
    return std::nullopt;
  }
  ++world_.counts.shortened;
  return lower(entry.sent.words[0]) == "exists" || !is_array ? std::string(executed.reply) : reply;
}

void Ledger::on_push(std::string_view bytes) {
  ++world_.counts.pushes;
  said_.push_back({std::string(bytes)});
}

void Ledger::on_received(std::string_view bytes) {
  while (!bytes.empty()) {
    skip_silence();
    if (expected_.empty() && !find_expected(bytes.front())) {
      return;
    }
    const std::size_t count = std::min(bytes.size(), expected_.size());
    if (bytes.substr(0, count) != expected_.view().substr(0, count)) {
      fail("the client received " + printable(bytes) + " where it should have received " +
           printable(expected_.view()) + ", of " + describe_next());
      return;
    }
    bytes.remove_prefix(count);
    expected_.take(count);
    if (expected_.empty() && !expects_push_) {
      ++world_.counts.replies;
      pop_answered();
    }
  }
}

// Decides what the client must receive next, of which `first` is the first byte.
bool Ledger::find_expected(char first) {
  expects_push_ = false;
  const bool is_redis_next = !said_.empty() && said_.front().command == first_;
  const bool is_push_next = !said_.empty() && !said_.front().command && first == '>';
  if (is_redis_next || is_push_next) {
    expects_push_ = is_push_next;
    expected_.append(said_.front().bytes);
    said_.pop_front();
    return true;
  }
  if (commands_.empty()) {
    fail("the client received a reply to nothing");
    return false;
  }
  const Entry& next = commands_.front();
  if (!may_be_answered(next)) {
    const auto key = std::ranges::find_if(
        next.keys, [](const KeyVerdict& verdict) { return verdict.why_not != nullptr; });
    const char* const why = next.why_not != nullptr  ? next.why_not
                            : key != next.keys.end() ? key->why_not
                                                     : "the proxy has not read it";
    fail("the proxy answered " + describe_next() + " although " + why);
    return false;
  }
  if (aligned_ <= first_) {
    aligned_ = first_ + 1;
    ++world_.counts.answered;
  }
  expected_.append(answer_to(next, world_.shop));
  return true;
}

// Commands that Redis has run without saying anything.
void Ledger::skip_silence() {
  while (expected_.empty() && !said_.empty() && said_.front().command == first_ &&
         said_.front().bytes.empty()) {
    said_.pop_front();
    pop_answered();
  }
}

void Ledger::pop_answered() {
  words_in_flight_ -= commands_.front().sent.words.size() + 2;
  commands_.pop_front();
  ++first_;
}

bool Ledger::is_complete() {
  skip_silence();
  return commands_.empty() && has_all_of_redis();
}

bool Ledger::has_all_of_redis() {
  skip_silence();
  return expected_.empty() && said_.empty();
}

std::string Ledger::describe_next() const {
  if (commands_.empty()) {
    return "nothing";
  }
  const Entry& next = commands_.front();
  return "command " + std::to_string(first_) + ": " + printable(next.sent.raw);
}

}  // namespace cuckooguard::simulation
