#include "simulation/attack_client.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "simulation/command_kinds.h"
#include "simulation/resp_frames.h"
#include "simulation/resp_text.h"

namespace cuckooguard::simulation {
namespace {

constexpr char kFirstMark = 'A';
constexpr std::uint64_t kNumbers = 256;
const std::string kMarkKey = "mark:";

// <client>.<number> behind `prefix`.
std::optional<std::pair<int, std::uint64_t>> written_mark(std::string_view text,
                                                          std::string_view prefix) {
  const std::size_t at = text.find(prefix);
  if (at == std::string_view::npos) {
    return std::nullopt;
  }
  char* end = nullptr;
  const std::string rest(text.substr(at + prefix.size()));
  const auto client = static_cast<int>(std::strtol(rest.c_str(), &end, 10));
  return *end == '.' ? std::optional(std::pair(client, std::strtoull(end + 1, nullptr, 10)))
                     : std::nullopt;
}

// Shared connections carry none but these.
bool may_share_wire(const std::string& name) {
  return is_one_of(name,
                   {"get",
                    "mget",
                    "exists",
                    "strlen",
                    "set",
                    "del",
                    "incr",
                    "append",
                    "echo",
                    "ping",
                    "publish"});
}

bool is_login(const std::string& name) {
  return is_one_of(name, {"auth", "hello", "reset", "quit"});
}

// Of a command that no Redis knows, the guard says why it was refused in MULTI.
bool is_said_in_place_of(const std::string& reply, const std::string& frame) {
  return reply.starts_with("-ERR unknown command 'GUARD.") && frame.starts_with("-ERR '") &&
         frame.contains("of a filter of the guard is not allowed inside MULTI");
}

}  // namespace

AttackClient::AttackClient(SimLoop& loop,
                           AttackRecords& records,
                           AttackSettings settings,
                           Habits habits,
                           std::uint64_t seed)
    : loop_(loop),
      records_(records),
      settings_(settings),
      habits_(habits),
      random_(seed),
      script_(random_.next(), std::move(settings)),
      peer_(loop) {
  peer_.listen({.on_arrival = [this] { on_arrival(); }});
}

void AttackClient::start() {
  came_ = loop_.now();
  standing_.authenticated = records_.redis.users.at("default").password.empty();
  may_be_let_in_ = !standing_.authenticated && records_.closing_since &&
                   !(records_.closed_since && *records_.closed_since <= came_);
  last_authenticated_ = came_;
  think_later();
}

void AttackClient::think_later() {
  if (!thinks_ && !has_left_ && habits_.conduct != Conduct::operates) {
    thinks_ = true;
    const auto most = static_cast<std::uint64_t>(habits_.thinks_max.count());
    loop_.at(std::chrono::microseconds(random_.below(most + 1)), [this] {
      thinks_ = false;
      think();
    });
  }
}

void AttackClient::think() {
  if (has_left_) {
    return;
  }
  if (habits_.bursts == 0) {
    drop_silent();
    if (habits_.awaits_replies && !sent_.empty()) {
      return;
    }
    if (habits_.leaves_half_a_command) {
      peer_.send(script_.half_a_command());
    }
    leave();
    return;
  }
  if (habits_.awaits_replies) {
    drop_silent();
    if (!sent_.empty()) {
      return;  // goes on when they have come
    }
  }
  --habits_.bursts;
  send(script_.next());
  think_later();
}

void AttackClient::mark(SentCommand& command, std::uint64_t number) const {
  const std::string text =
      std::to_string(settings_.client) + "." + std::to_string(number % kNumbers);
  if (const std::size_t at = command.raw.find("@@"); at != std::string::npos) {
    command.raw.replace(at, 2, text);
    for (std::string& word : command.words) {
      if (const std::size_t in = word.find("@@"); in != std::string::npos) {
        word.replace(in, 2, text);
      }
    }
    return;
  }
  if (is_in_other_bytes(lower(command.words.front()))) {
    command.words.push_back(kMarkKey + text);
    command.raw = simulation::command(command.words);
  }
  command.raw[command.raw.size() - 2] = static_cast<char>(kFirstMark + settings_.client);
  command.raw[command.raw.size() - 1] = static_cast<char>(number % kNumbers);
}

std::optional<std::pair<int, std::uint64_t>> AttackClient::mark_of(std::string_view raw,
                                                                   const Words& words) {
  if (words.empty()) {
    return written_mark(raw, "many");
  }
  if (!raw.starts_with('*')) {
    return words.size() > 1 ? written_mark(words[1], "t") : std::nullopt;
  }
  if (!raw.ends_with("\r\n")) {
    const std::string_view end = raw.substr(raw.size() - 2);
    return std::pair(end[0] - kFirstMark, std::uint64_t{static_cast<unsigned char>(end[1])});
  }
  return written_mark(words.back(), kMarkKey);
}

void AttackClient::send(std::vector<SentCommand> commands) {
  std::string bytes;
  for (SentCommand& command : commands) {
    mark(command, sent_count_);
    may_be_closed_ = may_be_closed_ || command.words.empty() || lower(command.words[0]) == "quit";
    bytes += command.raw;
    tell("sends", command.raw);
    if (habits_.conduct == Conduct::good) {
      records_.absent_reads += command.words.size() == 2 && command.words[0] == "GET" &&
                                       AttackScript::is_absent(command.words[1])
                                   ? 1
                                   : 0;
    }
    sent_.push_back({.number = sent_count_++, .command = std::move(command), .at = loop_.now()});
  }
  peer_.send(bytes);
}

// It runs as what the client is.
void AttackClient::check_standing(const RedisConnection::Executed& executed,
                                  const std::string& name) {
  const Standing& is = executed.before;
  if (is.authenticated && !standing_.authenticated && !may_be_let_in_ &&
      !executed.reply.starts_with('-') &&
      (!is_login(name) || (name == "hello" && executed.words.size() < 4))) {
    fail("a client without login was let in");
  }
  if (!is.authenticated && standing_.authenticated && !records_.logins_have_changed) {
    fail("a client has lost its login");
  }
  const bool is_same = is.db == standing_.db && is.version == standing_.version &&
                       is.in_multi == standing_.in_multi && is.watching == standing_.watching &&
                       is.has_channels == standing_.has_channels;
  if (!is_same || (is.authenticated && standing_.authenticated && is.user != standing_.user)) {
    fail("a command ran as another client's would");
  }
}

void AttackClient::follow_standing(const RedisConnection::Executed& executed,
                                   const std::string& name) {
  if (standing_.authenticated) {
    last_authenticated_ = loop_.now();
    // It came before; on a connection of its own it would not have been asked.
    may_be_let_in_ = may_be_let_in_ || !executed.before.authenticated;
  }
  if (standing_.user != executed.after.user) {
    became_ = loop_.now();
  }
  standing_ = executed.after;
  if (name == "reset" && !standing_.authenticated) {
    may_be_let_in_ =
        records_.closing_since && !(records_.closed_since && *records_.closed_since <= loop_.now());
  }
}

void AttackClient::on_executed(const RedisConnection::Executed& executed,
                               std::uint64_t number,
                               int wire) {
  ++records_.executed;
  tell("redis runs", executed.raw);
  tell(executed.before.authenticated ? "redis says" : "redis says, to a client without login,",
       executed.reply);
  const std::string name = executed.words.empty() ? "" : lower(executed.words.front());
  if (!may_share_wire(name)) {
    records_.bound[wire].insert(settings_.client);
  }
  check_standing(executed, name);
  follow_standing(executed, name);
  next_to_execute_ += (number - next_to_execute_) % kNumbers;
  const auto found = std::ranges::find(sent_, next_to_execute_, &Sent::number);
  const bool is_expected = found != sent_.end() && !found->is_executed;
  if (!is_expected) {
    if (!has_left_) {
      fail("Redis was sent what has been answered, or what no client has sent");
    }
    return;
  }
  ++next_to_execute_;
  if (!executed.words.empty() && !is_in_other_bytes(name) &&
      executed.words != found->command.words) {
    fail("Redis was sent another command", &*found);
  }
  found->is_executed = true;
  found->reply = name == "mget" && executed.words.size() < found->command.words.size() &&
                         executed.reply.starts_with('*')
                     ? merged(*found, executed)
                     : std::string(executed.reply);
  // Of who came before a login was needed nobody can tell whether Redis would still let it in.
  const bool may_be_a_stranger = records_.closing_since && settings_.user.empty();
  if (habits_.conduct == Conduct::good && name == "get" && !executed.reply.starts_with('-') &&
      !may_be_a_stranger && AttackScript::is_absent(executed.words[1])) {
    ++records_.absent_reads_passed;
  }
  for (const auto& [db, key] : records_.redis.changed_keys) {
    ++writes_;
    own_written_[key] = {.number = found->number, .when = loop_.now()};
    found->wrote.push_back(key);
    if (executed.reply.empty() || has_left_) {
      note_written(key);
    }
  }
}

// What Redis was not asked for must be absent; the rest is Redis's.
std::string AttackClient::merged(const Sent& sent, const RedisConnection::Executed& executed) {
  std::string reply = header('*', sent.command.words.size() - 1);
  const std::string_view said = executed.reply;
  std::size_t at = said.find("\r\n") + 2;
  std::size_t next = 1;
  for (std::size_t i = 1; i < sent.command.words.size(); ++i) {
    const std::string& key = sent.command.words[i];
    if (next < executed.words.size() && executed.words[next] == key) {
      const std::size_t bytes = frame_bytes(said.substr(at));
      reply += said.substr(at, bytes);
      at += bytes;
      ++next;
      continue;
    }
    if (const char* const why = why_not_absent(sent, key)) {
      fail(std::string("a key was left out, but ") + why, &sent);
    }
    reply += key.starts_with("item:") ? bulk("*") : nil(executed.before.version);
  }
  return reply;
}

void AttackClient::note_written(const std::string& key) {
  if (writes_ <= AttackRecords::kShare) {
    records_.written[key] = {.by = settings_.client, .surely = loop_.now()};
  }
}

// Replies that are not sent: CLIENT REPLY.
void AttackClient::drop_silent() {
  while (!sent_.empty() && sent_.front().is_executed && sent_.front().reply.empty()) {
    finish(sent_.front());
    sent_.pop_front();
  }
}

void AttackClient::finish(const Sent& sent) {
  for (const std::string& key : sent.wrote) {
    note_written(key);
  }
  if (habits_.conduct == Conduct::reader) {
    records_.slowest_read = std::max(records_.slowest_read, loop_.now() - sent.at);
  }
}

void AttackClient::on_arrival() {
  received_ += peer_.read();
  std::size_t at = 0;
  while (!has_left_ && loop_.failure().empty()) {
    const std::size_t bytes = frame_bytes(std::string_view(received_).substr(at));
    if (bytes == std::string::npos) {
      fail("it received what is no RESP: " + printable(std::string_view(received_).substr(at)));
      return;
    }
    if (bytes == 0) {
      break;
    }
    judge(received_.substr(at, bytes));
    at += bytes;
  }
  received_.erase(0, at);
  if (has_left_) {
    return;
  }
  if (peer_.at_end() || peer_.is_reset()) {
    if (!may_be_closed_ && !records_.logins_have_changed) {
      fail("it was closed without a reason");
    }
    leave();
    return;
  }
  if (habits_.awaits_replies) {
    drop_silent();
    if (sent_.empty()) {
      think_later();
    }
  }
}

void AttackClient::judge(const std::string& frame) {
  ++records_.replies;
  tell("received", frame);
  drop_silent();
  if (!sent_.empty() && is_said_in_place_of(sent_.front().reply, frame)) {
    sent_.front().reply = frame;
  }
  if (!sent_.empty() && sent_.front().is_executed && sent_.front().reply.starts_with(frame)) {
    Sent& sent = sent_.front();
    sent.reply.erase(0, frame.size());
    if (on_reply_) {
      on_reply_(sent.command.words, frame);
    }
    if (sent.reply.empty()) {
      finish(sent);
      sent_.pop_front();
    }
    return;
  }
  if (frame.starts_with('>') || frame.starts_with("*3\r\n$7\r\nmessage\r\n")) {
    ++records_.pushes_received;
    pushes_.push_back(frame);
    return;
  }
  if (sent_.empty()) {
    fail("it received what it has not asked for: " + printable(frame));
  } else if (sent_.front().is_executed) {
    fail("it received " + printable(frame) + " instead of " + printable(sent_.front().reply),
         &sent_.front());
  } else {
    judge_local(sent_.front(), frame);
    sent_.pop_front();
  }
}

bool AttackClient::was_answered_by_redis_at(io::TimePoint when) const {
  return standing_.authenticated || may_be_let_in_ || last_authenticated_ >= when;
}

void AttackClient::leave() {
  has_left_ = true;
  peer_.close();
}

// A push must have come by a connection that was this client's alone.
void AttackClient::check_at_rest() {
  for (const std::string& push : pushes_) {
    const auto found = records_.pushes.find(push);
    const bool is_own =
        found != records_.pushes.end() && std::ranges::any_of(found->second, [this](int wire) {
          const auto bound = records_.bound.find(wire);
          return bound != records_.bound.end() && bound->second.contains(settings_.client);
        });
    if (!is_own) {
      fail("it received a push that was not for it: " + printable(push));
      return;
    }
  }
  drop_silent();
  if (!has_left_ && !sent_.empty()) {
    fail("it waits for a reply for ever", &sent_.front());
  }
}

// For people.
void AttackClient::tell(const char* what, std::string_view bytes) const {
  if (records_.told == settings_.client) {
    std::printf("%9.6f %s (%s, %s, db %d, RESP%d%s) %s\n",
                std::chrono::duration<double>(loop_.now().time_since_epoch()).count(),
                what,
                standing_.user.c_str(),
                standing_.authenticated ? "logged in" : "no login",
                standing_.db,
                standing_.version,
                standing_.in_multi ? ", MULTI" : "",
                printable(bytes).c_str());
  }
}

void AttackClient::fail(const std::string& what, const Sent* sent) {
  constexpr const char* kNames[] = {"good", "reader", "refused", "hostile", "operator"};
  std::string text = "client " + std::to_string(settings_.client) + " (" +
                     kNames[static_cast<std::size_t>(habits_.conduct)] + "): " + what;
  if (sent != nullptr) {
    text += ", at command " + std::to_string(sent->number) + ": " + printable(sent->command.raw);
  }
  loop_.fail(text);
}

}  // namespace cuckooguard::simulation
