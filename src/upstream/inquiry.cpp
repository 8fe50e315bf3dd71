#include "upstream/inquiry.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <random>
#include <utility>

#include "upstream/command_reply.h"
#include "upstream/not_allowed.h"
#include "upstream/redis_reply.h"

namespace cuckooguard::upstream {
namespace {

using Words = std::vector<std::string>;
using May = std::vector<bool>;

// Redis 7.0 takes 0.1 to 0.2 ms for each, and serves nobody else until it has answered all that it has read of a connection.
constexpr std::size_t kUsersAtOnce = 16;

struct Arguments {
  explicit Arguments(const Words& words) {
    for (const std::string& word : words) {
      texts.push_back(word.data());
      lengths.push_back(word.size());
    }
  }
  int count() const { return static_cast<int>(texts.size()); }

  std::vector<const char*> texts;
  std::vector<std::size_t> lengths;
};

void append(redisContext& redis, const Words& words) {
  Arguments arguments(words);
  redisAppendCommandArgv(
      &redis, arguments.count(), arguments.texts.data(), arguments.lengths.data());
}

void append_users(redisContext& redis, std::span<const std::string> names) {
  for (const std::string& name : names) {
    append(redis, {"ACL", "GETUSER", name});
  }
}

// Null: the connection failed.
Reply next_reply(redisContext& redis) {
  void* reply = nullptr;
  return redisGetReply(&redis, &reply) == REDIS_OK ? Reply(static_cast<redisReply*>(reply))
                                                   : nullptr;
}

std::chrono::seconds idle_timeout_of(const redisReply& reply) {
  int seconds = 0;
  if (const redisReply* const value = value_of(reply, "timeout")) {
    const std::string_view text = text_of(*value);
    std::from_chars(text.data(), text.data() + text.size(), seconds);
  }
  return std::chrono::seconds(seconds);
}

Reply ask_redis(redisContext& redis, const Words& words) {
  Arguments arguments(words);
  return Reply(static_cast<redisReply*>(redisCommandArgv(
      &redis, arguments.count(), arguments.texts.data(), arguments.lengths.data())));
}

std::string random_text() {
  std::random_device device;
  std::uniform_int_distribution<int> letter('a', 'z');
  std::string text(24, ' ');
  std::ranges::generate(text, [&] { return static_cast<char>(letter(device)); });
  return text;
}

// The shortest form of the command that Redis takes, with `key` wherever a key may stand.
Words shortest_form(const AnswerableCommand& command, int arity, const std::string& key) {
  const auto words = static_cast<std::size_t>(std::max(2, std::abs(arity)));
  Words form(std::max(words, command.key_count + 2), key);
  form.front() = command.name;
  if (command.key_count > 0) {
    form[command.key_count] = "1";
  }
  return form;
}

}  // namespace

Inquiry::Inquiry(redisContext& redis, const Questions& questions)
    : redis_(redis), questions_(questions), random_(random_text()) {}

std::optional<Facts> Inquiry::ask(std::span<const std::string> users) {
  Facts facts;
  if (!has_asked_commands_ && !ask_commands(facts)) {
    return std::nullopt;
  }
  append(redis_, {"HELLO"});
  append(redis_, {"DBSIZE"});
  append(redis_, {"CONFIG", "GET", "timeout"});
  append(redis_, {"INFO"});
  const bool tries_again = !no_dryrun_.empty();
  if (tries_again) {
    append(redis_, {"ACL", "DRYRUN", "default", "PING"});
  }
  const auto first = users.first(std::min(users.size(), kUsersAtOnce));
  append_users(redis_, first);
  const Reply hello = next_reply(redis_);
  const Reply size = next_reply(redis_);
  const Reply timeout = next_reply(redis_);
  const Reply info = next_reply(redis_);
  if (tries_again) {
    if (const Reply dryrun = next_reply(redis_)) {
      learn_whether_to_try(*dryrun);
    }
  }
  if (!info || !learn_users(first, facts) || !learn_kind(*hello, facts) ||
      !learn_state(*size, *info, facts)) {
    return std::nullopt;
  }
  facts.idle_timeout = idle_timeout_of(*timeout);
  facts.takes_writes = takes_writes(*info);
  for (auto rest = users.subspan(first.size()); !rest.empty();) {
    const auto next = rest.first(std::min(rest.size(), kUsersAtOnce));
    append_users(redis_, next);
    if (!learn_users(next, facts)) {
      return std::nullopt;
    }
    rest = rest.subspan(next.size());
  }
  note_refusals(*size, *timeout, *info, facts);
  return facts;
}

// In the order of Question.
void Inquiry::note_refusals(const redisReply& size,
                            const redisReply& timeout,
                            const redisReply& info,
                            Facts& facts) const {
  const auto note = [&facts](Question question, std::string_view error) {
    if (is_about_rights(error)) {
      facts.refused.push_back({.question = question, .error = std::string(error)});
    }
  };
  if (!facts.refusal.empty() &&
      !state_of_error(facts.refusal)) {  // nobody is known, whatever it says
    facts.refused.push_back({.question = Question::users, .error = facts.refusal});
  }
  note(Question::commands_of_users, no_dryrun_);
  note(Question::commands, no_commands_);
  note(is_about_rights(error_of(size)) ? Question::state : Question::takes_writes, error_of(info));
  note(Question::idle_timeout, error_of(timeout));
}

void Inquiry::learn_whether_to_try(const redisReply& dryrun) {
  if (!is_about_rights(error_of(dryrun))) {
    no_dryrun_.clear();
    known_.clear();
  }
}

bool Inquiry::learn_users(std::span<const std::string> names, Facts& facts) {
  std::vector<Reply> replies(names.size());
  for (Reply& reply : replies) {
    reply = next_reply(redis_);
    if (!reply) {
      return false;
    }
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (!learn_user(names[i], *replies[i], facts)) {
      return false;
    }
  }
  return true;
}

bool Inquiry::ask_commands(Facts& facts) {
  const Reply all = ask_redis(redis_, {"COMMAND"});
  if (!all || is_error(*all)) {
    // Asked again next time: it may be -BUSY. Not by names: Redis closes a connection that sends more than 10
    // arguments before it has authenticated.
    no_commands_ = all != nullptr ? error_of(*all) : std::string_view();
    return all != nullptr;
  }
  Words info{"COMMAND", "INFO"};
  info.insert(info.end(), questions_.built_in.begin(), questions_.built_in.end());
  const Reply by_name = ask_redis(redis_, info);
  if (!by_name) {
    return false;
  }
  no_commands_ = error_of(*by_name);
  if (is_error(*by_name)) {
    return true;
  }
  has_asked_commands_ = true;
  known_.clear();
  facts.commands = CommandList{.has_built_in = names_there(*by_name, questions_.built_in),
                               .all = commands_of(*all)};
  for (const CommandFacts& command : facts.commands->all) {
    arity_[command.name] = command.arity;
    if (!command.writes || command.has_no_keys) {
      harmless_.insert(command.name);
    }
  }
  return true;
}

bool Inquiry::learn_kind(const redisReply& hello, Facts& facts) {
  std::optional<ServerKind> kind = kind_of_hello(hello);
  if (!kind) {
    const Reply info = ask_redis(redis_, {"INFO"});
    if (!info) {
      return false;
    }
    kind = kind_of_info(*info);
  }
  kind_ = kind ? kind : kind_;
  if (kind_) {
    facts.is_cluster = kind_->is_cluster;
    facts.is_master = kind_->is_master;
  }
  return true;
}

bool Inquiry::learn_state(const redisReply& size, const redisReply& info, Facts& facts) {
  if (!is_error(size)) {
    return true;
  }
  std::optional<ServerState> state = state_of_error(text_of(size));
  if (!state) {
    state = state_of_info(info);
  }
  facts.state = state.value_or(ServerState::available);
  return true;
}

bool Inquiry::learn_user(const std::string& name, const redisReply& getuser, Facts& facts) {
  if (elements_of(getuser).empty()) {  // no such user, or we may not ask
    known_.erase(name);
    if (is_error(getuser) && facts.refusal.empty()) {
      facts.refusal = text_of(getuser);
    }
    return true;
  }
  AclUser acl = acl_user_of(getuser);
  const auto known = known_.find(name);
  if (known != known_.end() && known->second.acl == acl) {
    facts.users.push_back(known->second.facts);
    return true;
  }
  UserFacts user{.name = name};
  if (!ask_what_it_may(acl, user)) {
    return false;
  }
  facts.users.push_back(user);
  known_.insert_or_assign(name, Known{std::move(acl), std::move(user)});
  return true;
}

bool Inquiry::ask_what_it_may(const AclUser& acl, UserFacts& facts) {
  facts.may_write = may_write(acl, harmless_);
  if (!acl.has("on")) {
    return true;
  }
  const bool every_command = may_run_every_command(acl);
  const std::string any_key;
  facts.needs_no_password = acl.has("nopass");
  facts.unrestricted = every_command && key_access(acl, {&any_key, 1}) == KeyAccess::read_write;
  if (facts.unrestricted) {
    return true;
  }
  for (const std::vector<std::string>& prefixes : questions_.keys) {
    facts.keys.push_back(key_access(acl, prefixes));
    facts.reads_no_key.push_back(!may_read_some_key(acl, prefixes));
  }
  const May all(questions_.answerable.size(), true);
  facts.knows_commands = true;
  for (const KeyAccess access : {KeyAccess::read, KeyAccess::read_write}) {
    May& may = access == KeyAccess::read ? facts.commands_on_readable : facts.commands_on_writable;
    const std::optional<std::string> prefix = prefix_with(facts.keys, access);
    if (every_command && access == KeyAccess::read_write) {
      may = all;
    } else if (prefix) {
      const bool can_be_told = !acl.has_selectors && !arity_.empty();
      auto answer = can_be_told ? try_commands(facts.name, *prefix) : May();
      if (!answer) {
        return false;
      }
      facts.knows_commands = facts.knows_commands && !answer->empty();
      may = *std::move(answer);
    }
  }
  return true;
}

std::optional<std::string> Inquiry::prefix_with(const std::vector<KeyAccess>& keys,
                                                KeyAccess access) const {
  const auto found = std::ranges::find(keys, access);
  if (found == keys.end()) {
    return std::nullopt;
  }
  return questions_.keys[static_cast<std::size_t>(found - keys.begin())].front();
}

std::optional<May> Inquiry::try_commands(const std::string& user, const std::string& prefix) {
  if (!no_dryrun_.empty()) {
    return May();
  }
  const std::string key = prefix + random_;
  for (const AnswerableCommand& command : questions_.answerable) {
    const auto arity = arity_.find(command.name);
    Words words{"ACL", "DRYRUN", user};
    std::ranges::move(shortest_form(command, arity == arity_.end() ? 0 : arity->second, key),
                      std::back_inserter(words));
    append(redis_, words);
  }
  May may;
  bool is_told = false;
  for (std::size_t i = 0; i < questions_.answerable.size(); ++i) {
    const Reply reply = next_reply(redis_);
    if (!reply) {
      return std::nullopt;
    }
    if (is_about_rights(error_of(*reply))) {
      no_dryrun_ = error_of(*reply);
    }
    // A refusal is a string, in words; only the status says yes.
    is_told = is_told || !is_error(*reply);
    may.push_back(reply->type == REDIS_REPLY_STATUS && text_of(*reply) == "OK");
  }
  return is_told ? may : May();
}

}  // namespace cuckooguard::upstream
