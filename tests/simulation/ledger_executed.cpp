// What Redis runs of a client, beside what the client has asked for.
#include <algorithm>
#include <set>
#include <utility>

#include "simulation/command_kinds.h"
#include "simulation/ledger.h"
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

}  // namespace

void Ledger::on_executed(const RedisConnection::Executed& executed,
                         const std::shared_ptr<const Wire>& wire,
                         std::uint64_t stream_bytes) {
  for (;; ++aligned_) {
    if (aligned_ == first_ + commands_.size() || !entry(aligned_).is_decided) {
      fail("Redis was sent what the client had not sent: " + printable(executed.raw));
      return;
    }
    Entry& candidate = entry(aligned_);
    if (auto reply = reply_if_run(candidate, executed)) {
      check_connection(candidate, executed, *wire);
      candidate.wire = wire;
      candidate.stream_bytes = stream_bytes;
      note_executed(candidate, executed);
      said_bytes_ += reply->size();
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

void Ledger::note_write_run(const Entry& entry, const RedisConnection::Executed& executed) {
  if (entry.silence != Silence::none) {
    if (world_.shares) {
      note_write(entry);
    }
    return;
  }
  const bool is_refused = executed.reply.starts_with('-');
  const bool is_queued = executed.before.in_multi && executed.after.in_multi;
  for (const std::string& key : keys_of_write(entry)) {
    if (!is_refused) {
      (is_queued ? queued_writes_ : unheard_writes_)
          .push_back({.key = key,
                      .value = std::optional<std::string>(value_of_write(entry)),
                      .wire = entry.wire,
                      .stream_bytes = entry.stream_bytes});
    }
  }
  if (executed.before.in_multi && !executed.after.in_multi) {
    const bool is_carried_out =
        executed.reply.starts_with('*') && !executed.reply.starts_with("*-") && entry.is_learned;
    for (UnheardWrite& write : std::exchange(queued_writes_, {})) {
      if (is_carried_out) {
        write.stream_bytes = entry.stream_bytes;
        unheard_writes_.push_back(std::move(write));
      }
    }
  }
}

void Ledger::note_executed(Entry& entry, const RedisConnection::Executed& executed) {
  const Words& words = entry.sent.words;
  last_wire_ = entry.wire;
  note_write_run(entry, executed);
  if (is_change(words)) {
    standing_ = executed.after;
  }
  if (words.empty() || executed.before.in_multi) {
    return;
  }
  const std::string name = lower(words[0]);
  // A user given before what is refused may stand, or not.
  is_for_good_ = is_for_good_ || (name == "hello" && executed.reply.starts_with('-'));
  if (name == "reset") {
    name_.clear();
  } else if (is_name(words) && executed.reply == simple("OK")) {
    name_ = words[2];
  }
}

// Whoever had it before, it is as the client's own would be, and a Redis that refuses writes is not
// asked for more.
void Ledger::check_connection(const Entry& entry,
                              const RedisConnection::Executed& executed,
                              const Wire& wire) const {
  if (executed.before != standing_) {
    fail("Redis ran " + printable(executed.raw) +
         " on a connection that is not what the client's is");
  }
  const Words& words = entry.sent.words;
  const bool asks_name = words.size() == 2 && lower(words[1]) == "getname";
  if (asks_name && !executed.reply.starts_with('-') && !executed.before.in_multi &&
      executed.reply != (name_.empty() ? nil(standing_.version) : bulk(name_))) {
    fail("the client has another name: " + printable(executed.reply));
  }
  if (world_.shares && wire.retired && last_wire_.get() != &wire && entry.is_alone && !is_bound() &&
      !is_for_good_ && !is_unread_ && *entry.seen > *wire.retired) {
    fail("Redis was sent " + printable(executed.raw) +
         " on a connection on which it had refused writes");
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

// What the client must receive for `entry` if this is how Redis was asked for it; nothing if it was
// not.
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

}  // namespace cuckooguard::simulation
