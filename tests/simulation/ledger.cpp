#include "simulation/ledger.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "simulation/command_kinds.h"
#include "simulation/resp_text.h"

namespace cuckooguard::simulation {
namespace {

constexpr const char* kUndecided = "it is not decided yet";

}  // namespace

void Ledger::on_sent(SentCommand command) {
  sent_bytes_ += command.raw.size();
  ++world_.counts.commands;
  commands_.push_back({.sent = std::move(command), .end = sent_bytes_});
}

void Ledger::on_read_by_proxy(std::size_t bytes) {
  if (is_let_go_) {
    return;
  }
  proxy_bytes_read_ += bytes;
  while (decided_ < first_ + commands_.size() && entry(decided_).end <= proxy_bytes_read_) {
    Entry& next = entry(decided_);
    note_seen(next, decided_);
    decide(next, decided_);
    ++decided_;
  }
  if (decided_ < first_ + commands_.size()) {
    Entry& next = entry(decided_);
    if (!next.seen && next.end - next.sent.raw.size() < proxy_bytes_read_) {
      note_seen(next, decided_);
    }
  }
}

void Ledger::note_seen(Entry& entry, std::uint64_t command) const {
  if (!entry.seen) {
    entry.seen = world_.loop.now();
    entry.is_alone = command == first_ && expected_.empty() && said_.empty();
  }
}

void Ledger::decide(Entry& entry, std::uint64_t command) {
  entry.is_decided = true;
  entry.change = change_;
  entry.silence = silence_;
  entry.is_learned = !is_unread_ && (silence_ == Silence::none || why_not_known() == nullptr);
  entry.read = world_.loop.now();
  const auto& words = entry.sent.words;
  words_in_flight_ += words.size() + 2;
  if (is_answerable_read(words)) {
    for (std::size_t i = 1; i < words.size(); ++i) {
      entry.keys.push_back({words[i], kUndecided});
    }
    entry.why_not = kUndecided;
    judge_read(entry, command);
    world_.counts.could_be_answered += may_be_answered(entry) ? 1 : 0;
  } else {
    entry.why_not = "it is no read";
    note_write_read(entry, command);
  }
  note_what_binds(words);
  note_size(entry);
  if (is_change(words)) {
    change_ = command;
  }
  if (is_change(words) || is_name(words)) {
    // With too much in flight it cannot remember one more change, nor see one that has no reply.
    is_unread_ =
        is_unread_ || silence_ != Silence::none || words_in_flight_ >= world_.inflight_per_client;
  }
  is_unread_ = is_unread_ || may_end_reading(words);
  pass_silence(words);
}

// One that wants no reply counts at once, and in `mode: shared`, where others may go before it,
// once Redis runs it.
void Ledger::note_write_read(const Entry& entry, std::uint64_t command) {
  if (entry.silence != Silence::none && !world_.shares) {
    note_write(entry);
  }
  for (const std::string& key : keys_of_write(entry)) {
    if (SimShop::is_learned(key, value_of_write(entry))) {
      own_writes_.emplace(key, command);
    }
  }
}

void Ledger::on_replies_read() {
  std::erase_if(unheard_writes_, [this](const UnheardWrite& write) {
    if (write.stream_bytes > write.wire->read) {
      return false;
    }
    world_.shop.on_write(write.key, write.value, world_.loop.now());
    return true;
  });
}

// CLIENT REPLY holds for what stands behind it, SKIP for one command. Where Redis does not take it
// (inside MULTI, without AUTH) the proxy has stopped looking and answers nothing.
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

bool Ledger::is_settled(const std::optional<std::uint64_t>& change) const {
  if (!change || *change < first_) {
    return true;
  }
  const Entry& entry = commands_[*change - first_];
  return entry.wire && entry.stream_bytes <= entry.wire->read;
}

// As of now. What could have been answered once may have been.
void Ledger::judge_read(Entry& entry, std::uint64_t command) const {
  const char* const why_not = why_not_now(entry);
  if (why_not == nullptr) {
    entry.version = standing_.version;
  }
  if (entry.why_not != nullptr) {
    entry.why_not = why_not;
  }
  for (KeyVerdict& key : entry.keys) {
    if (key.why_not != nullptr) {
      key.why_not = why_not != nullptr ? why_not : why_not_absent(key.key, command);
    }
  }
}

void Ledger::decide_again() {
  for (std::uint64_t command = std::max(aligned_, first_); command < decided_; ++command) {
    Entry& undecided = entry(command);
    note_size(undecided);
    if (!undecided.keys.empty() && !may_be_answered(undecided)) {
      judge_read(undecided, command);
    }
  }
}

const char* Ledger::why_not_absent(const std::string& key, std::uint64_t command) const {
  const auto next = own_writes_.lower_bound({key, command});
  if (next != own_writes_.begin() && std::prev(next)->first == key) {
    const Entry& write = commands_[std::prev(next)->second - first_];
    const bool is_replied_to = write.wire && write.stream_bytes <= write.wire->read;
    const bool is_remembered = write.silence == Silence::none
                                   ? !is_replied_to
                                   : world_.loop.now() <= learned_at(write) + SimShop::kOverlayTtl;
    if (is_remembered) {
      return "the client has written the key itself";
    }
  }
  return world_.shop.why_not_absent(key, standing_.db);
}

const char* Ledger::why_not_now(const Entry& entry) const {
  if (!is_settled(entry.change)) {
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
  if (entry.silence != Silence::none) {
    return "the client has switched replies off";
  }
  return why_not_known();
}

const char* Ledger::why_not_known() const {
  if (!standing_.authenticated) {
    return "the client has not authenticated";
  }
  return world_.shop.why_not_user(standing_.user);
}

// What the proxy learns of it, unless Redis refuses.
std::span<const std::string> Ledger::keys_of_write(const Entry& entry) {
  const Words& words = entry.sent.words;
  const std::string name = words.size() < 2 || !entry.is_learned ? "" : lower(words[0]);
  if (!is_one_of(name, {"set", "incr", "append", "del"})) {
    return {};
  }
  return std::span(words).subspan(1, name == "del" ? words.size() - 1 : 1);
}

bool Ledger::is_large(const Entry& entry) {
  return entry.sent.raw.size() > resp::kWholeCommandBytesMax;
}

std::optional<std::string_view> Ledger::value_of_write(const Entry& entry) {
  const Words& words = entry.sent.words;
  return words.size() > 2 && !is_large(entry) && lower(words[0]) == "set"
             ? std::optional<std::string_view>(words[2])
             : std::nullopt;
}

// A large command is learned from while it passes.
io::TimePoint Ledger::learned_at(const Entry& entry) {
  return is_large(entry) ? *entry.seen : entry.read;
}

void Ledger::note_write(const Entry& entry) const {
  for (const std::string& key : keys_of_write(entry)) {
    world_.shop.on_write(key, value_of_write(entry), learned_at(entry));
  }
}

// Changes inside a transaction take effect at its end, or never, and so does what the proxy could
// know of them.
void Ledger::note_what_binds(const Words& words) {
  const bool may_be_in_multi = standing_.in_multi || !is_settled(change_);
  const bool is_transaction =
      !words.empty() &&
      is_one_of(lower(words[0]), {"multi", "exec", "discard", "watch", "unwatch"});
  is_for_good_ =
      is_for_good_ || (may_end_reading(words) && !is_subscription(words)) ||
      ((is_change(words) || is_subscription(words)) && may_be_in_multi && !is_transaction);
}

// Redis may close a connection because of it, unless somebody is known to have logged in there.
void Ledger::note_size(const Entry& entry) {
  const bool is_known = is_settled(entry.change) && standing_.authenticated &&
                        (needs_login_ || standing_.user != "default" ||
                         world_.shop.knows_that_no_password_is_needed());
  is_for_good_ =
      is_for_good_ || (!is_known && !is_large(entry) && may_be_too_large(entry.sent.words));
}

Ledger::Loss Ledger::loss_with(const Wire& wire) const {
  bool may_be = false;
  for (std::uint64_t command = first_; command < first_ + commands_.size(); ++command) {
    const Entry& entry = commands_[command - first_];
    if (!entry.seen) {
      break;
    }
    if (entry.wire.get() == &wire && entry.stream_bytes > wire.read) {
      return Loss::certain;
    }
    may_be = may_be || (!entry.wire && command >= aligned_);  // not run: nobody knows where it is
  }
  if (last_wire_.get() == &wire) {
    if (is_bound() && is_settled(change_)) {
      return Loss::certain;
    }
    // If nobody else has used it since, it may be the client's own: as long as Redis is not known
    // to let others be in its state.
    may_be = may_be || wire.client == world_.client;
  }
  return may_be ? Loss::perhaps : Loss::nothing;
}

bool Ledger::may_be_answered(const Entry& entry) {
  return entry.is_decided && !entry.keys.empty() &&
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

void Ledger::on_push(std::string_view bytes) {
  ++world_.counts.pushes;
  said_bytes_ += bytes.size();
  said_.push_back({std::string(bytes)});
}

void Ledger::on_received(std::string_view bytes) {
  heard_at_ = world_.loop.now();
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
    received_bytes_ += expects_redis_ ? count : 0;
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
    expects_redis_ = true;
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
  expects_redis_ = false;
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
  for (const std::string& key : keys_of_write(commands_.front())) {
    own_writes_.erase({key, first_});
  }
  commands_.pop_front();
  ++first_;
  heard_at_ = world_.loop.now();
}

bool Ledger::is_blpop(const Entry& entry) {
  return !entry.sent.words.empty() && lower(entry.sent.words[0]) == "blpop";
}

std::optional<io::TimePoint> Ledger::waits_since() {
  skip_silence();
  if (decided_ <= first_ || is_blpop(commands_.front())) {
    return std::nullopt;
  }
  return std::max(commands_.front().read, heard_at_);
}

bool Ledger::is_blocked() const {
  return std::ranges::any_of(commands_, is_blpop);
}

bool Ledger::is_done_as_read() {
  skip_silence();
  const bool is_within = decided_ < first_ + commands_.size() && entry(decided_).seen.has_value();
  return is_unread_ || (!is_within && decided_ <= first_ && has_all_of_redis());
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
