#include "upstream/inquiry.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <random>
#include <utility>

#include "upstream/command_reply.h"
#include "upstream/redis_reply.h"

namespace cuckooguard::upstream {
namespace {

using Words = std::vector<std::string>;

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
  if ((!has_asked_commands_ && !ask_commands(facts)) || !ask_kind(facts) || !ask_state(facts) ||
      !ask_idle_timeout(facts)) {
    return std::nullopt;
  }
  for (const std::string& name : users) {
    if (!ask_user(name, facts)) {
      return std::nullopt;
    }
  }
  return facts;
}

bool Inquiry::ask_commands(Facts& facts) {
  const Reply all = ask_redis(redis_, {"COMMAND"});
  if (!all || is_error(*all)) {
    // Asked again next time: it may be -BUSY. Not by names: Redis closes a connection that sends more than 10
    // arguments before it has authenticated.
    return all != nullptr;
  }
  Words info{"COMMAND", "INFO"};
  info.insert(info.end(), questions_.built_in.begin(), questions_.built_in.end());
  const Reply by_name = ask_redis(redis_, info);
  if (!by_name) {
    return false;
  }
  if (is_error(*by_name)) {
    return true;
  }
  has_asked_commands_ = true;
  facts.commands = CommandList{.has_built_in = names_there(*by_name, questions_.built_in),
                               .all = commands_of(*all)};
  for (const CommandFacts& command : facts.commands->all) {
    arity_[command.name] = command.arity;
  }
  return true;
}

bool Inquiry::ask_kind(Facts& facts) {
  const Reply hello = ask_redis(redis_, {"HELLO"});
  if (!hello) {
    return false;
  }
  std::optional<ServerKind> kind = kind_of_hello(*hello);
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

bool Inquiry::ask_state(Facts& facts) {
  const Reply size = ask_redis(redis_, {"DBSIZE"});
  if (!size || !is_error(*size)) {
    return size != nullptr;
  }
  std::optional<ServerState> state = state_of_error(text_of(*size));
  if (!state) {
    const Reply info = ask_redis(redis_, {"INFO"});
    if (!info) {
      return false;
    }
    state = state_of_info(*info);
  }
  facts.state = state.value_or(ServerState::available);
  return true;
}

bool Inquiry::ask_idle_timeout(Facts& facts) {
  const Reply reply = ask_redis(redis_, {"CONFIG", "GET", "timeout"});
  if (!reply) {
    return false;
  }
  if (const redisReply* const value = value_of(*reply, "timeout")) {
    int seconds = 0;
    const std::string_view text = text_of(*value);
    std::from_chars(text.data(), text.data() + text.size(), seconds);
    facts.idle_timeout = std::chrono::seconds(seconds);
  }
  return true;
}

bool Inquiry::ask_user(const std::string& name, Facts& facts) {
  const Reply reply = ask_redis(redis_, {"ACL", "GETUSER", name});
  if (!reply) {
    return false;
  }
  if (elements_of(*reply).empty()) {  // no such user, or we may not ask
    known_.erase(name);
    return true;
  }
  AclUser acl = acl_user_of(*reply);
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
  }
  const std::vector<bool> all(questions_.answerable.size(), true);
  for (const KeyAccess access : {KeyAccess::read, KeyAccess::read_write}) {
    std::vector<bool>& may =
        access == KeyAccess::read ? facts.commands_on_readable : facts.commands_on_writable;
    const std::optional<std::string> prefix = prefix_with(facts.keys, access);
    if (every_command && access == KeyAccess::read_write) {
      may = all;
    } else if (prefix && !acl.has_selectors && !arity_.empty()) {
      auto answer = try_commands(facts.name, *prefix);
      if (!answer) {
        return false;
      }
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

std::optional<std::vector<bool>> Inquiry::try_commands(const std::string& user,
                                                       const std::string& prefix) {
  const std::string key = prefix + random_;
  for (const AnswerableCommand& command : questions_.answerable) {
    const auto arity = arity_.find(command.name);
    Words words{"ACL", "DRYRUN", user};
    std::ranges::move(shortest_form(command, arity == arity_.end() ? 0 : arity->second, key),
                      std::back_inserter(words));
    Arguments arguments(words);
    redisAppendCommandArgv(
        &redis_, arguments.count(), arguments.texts.data(), arguments.lengths.data());
  }
  std::vector<bool> may;
  for (std::size_t i = 0; i < questions_.answerable.size(); ++i) {
    void* reply = nullptr;
    if (redisGetReply(&redis_, &reply) != REDIS_OK || reply == nullptr) {
      return std::nullopt;
    }
    const Reply owned(static_cast<redisReply*>(reply));
    // A refusal is a string, in words; only the status says yes.
    may.push_back(owned->type == REDIS_REPLY_STATUS && text_of(*owned) == "OK");
  }
  return may;
}

}  // namespace cuckooguard::upstream
