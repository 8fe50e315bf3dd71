#include "upstream/inquiry.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <random>
#include <ranges>
#include <utility>

#include "cluster/map.h"
#include "upstream/command_reply.h"
#include "upstream/not_allowed.h"
#include "upstream/redis_words.h"

namespace cuckooguard::upstream {
namespace {

using Words = std::vector<std::string>;

// Redis 7.0 takes 0.1 to 0.2 ms for each, and serves nobody else until it has answered all that it
// has read of a connection.
constexpr std::size_t kUsersAtOnce = 16;

void append(redisContext& redis, const Words& words) {
  RedisWords(words).append_to(redis);
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
  return RedisWords(words).call(redis);
}

std::string random_text() {
  std::random_device device;
  std::uniform_int_distribution<int> letter('a', 'z');
  std::string text(24, ' ');
  std::ranges::generate(text, [&] { return static_cast<char>(letter(device)); });
  return text;
}

// The shortest form of the command that Redis takes, with `key` wherever a key may stand.
Words shortest_form(const redis::Command& command, int arity, const std::string& key) {
  const std::size_t count = command.keys == redis::KeyShape::counted ? command.count : 0;
  const auto words = static_cast<std::size_t>(std::max(2, std::abs(arity)));
  Words form(std::max(words, count + 2), key);
  form.front() = command.name;
  if (count > 0) {
    form[count] = "1";
  }
  return form;
}

auto answerable_commands() {
  return redis::all_commands() | std::views::filter([](const redis::Command& command) {
           return redis::may_be_answered(command.role);
         });
}

redis::CommandSet all_answerable() {
  redis::CommandSet all;
  for (const redis::Command& command : answerable_commands()) {
    all.set(redis::command_index(command));
  }
  return all;
}

// Of the node of this id; empty: of all that serve theirs.
cluster::Slots slots_of(const cluster::View& view, std::string_view id) {
  cluster::Slots slots;
  for (const cluster::Node& node : view.nodes) {
    const bool is_meant = id.empty() ? node.is_reachable && !node.is_failing : node.id == id;
    for (const cluster::SlotRange& range : node.slots) {
      for (std::size_t slot = range.first; is_meant && slot <= range.last; ++slot) {
        slots.set(slot);
      }
    }
  }
  return slots;
}

}  // namespace

Inquiry::Inquiry(redisContext& redis, const Questions& questions)
    : redis_(redis), questions_(questions), random_(random_text()) {}

std::optional<Answers> Inquiry::ask(std::span<const std::string> users) {
  Answers answers;
  if (!has_asked_commands_ && !ask_commands(answers)) {
    return std::nullopt;
  }
  append(redis_, {"HELLO"});
  append(redis_, {"DBSIZE"});
  append(redis_, {"CONFIG", "GET", "timeout"});
  append(redis_, {"INFO"});
  if (questions_.of_cluster) {
    append(redis_, {"CLUSTER", "NODES"});
    append(redis_, {"CLUSTER", "INFO"});
  }
  const bool tries_again = !no_dryrun_.empty();
  if (tries_again) {
    append(redis_, {"ACL", "DRYRUN", "default", "PING"});
  }
  const auto first = users.first(std::min(users.size(), kUsersAtOnce));
  append_users(redis_, first);
  const auto asked_at = std::chrono::steady_clock::now();
  const Reply hello = next_reply(redis_);
  answers.reading.round_trip = std::chrono::steady_clock::now() - asked_at;
  const Reply size = next_reply(redis_);
  const Reply timeout = next_reply(redis_);
  const Reply info = next_reply(redis_);
  if (questions_.of_cluster && !learn_slots(answers)) {
    return std::nullopt;
  }
  if (tries_again) {
    if (const Reply dryrun = next_reply(redis_)) {
      learn_whether_to_try(*dryrun);
    }
  }
  if (!info || !learn_users(first, answers) || !learn_kind(*hello, answers) ||
      !learn_state(*size, *info, answers)) {
    return std::nullopt;
  }
  answers.reading.idle_timeout = idle_timeout_of(*timeout);
  answers.reading.takes_writes = takes_writes(*info);
  answers.server.run_id = run_id_of(*info);
  answers.server.uptime = uptime_of(*info);
  answers.server.is_master = answers.reading.is_master;
  for (auto rest = users.subspan(first.size()); !rest.empty();) {
    const auto next = rest.first(std::min(rest.size(), kUsersAtOnce));
    append_users(redis_, next);
    if (!learn_users(next, answers)) {
      return std::nullopt;
    }
    rest = rest.subspan(next.size());
  }
  note_refusals(*size, *timeout, *info, answers);
  return answers;
}

// In the order of Question.
void Inquiry::note_refusals(const redisReply& size,
                            const redisReply& timeout,
                            const redisReply& info,
                            Answers& answers) const {
  const auto note = [&answers](Question question, std::string_view error) {
    if (is_about_rights(error)) {
      answers.refused.push_back({.question = question, .error = std::string(error)});
    }
  };
  const std::string& refusal = answers.reading.users.refusal;
  if (!refusal.empty() && !state_of_error(refusal)) {  // nobody is known, whatever it says
    answers.refused.push_back({.question = Question::users, .error = refusal});
  }
  note(Question::commands_of_users, no_dryrun_);
  note(Question::commands, no_commands_);
  note(is_about_rights(error_of(size)) ? Question::state : Question::takes_writes, error_of(info));
  note(Question::slots, no_slots_);
  note(Question::idle_timeout, error_of(timeout));
}

// In doubt it serves none.
bool Inquiry::learn_slots(Answers& answers) {
  const Reply nodes = next_reply(redis_);
  const Reply info = next_reply(redis_);
  if (!info) {
    return false;
  }
  cluster::Slots slots;
  const auto view = cluster::parse_nodes(text_of(*nodes), {});
  const std::optional<std::size_t> place = view ? view->myself : std::nullopt;
  if (place && cluster::is_state_ok(text_of(*info))) {
    const cluster::Node& myself = view->nodes[*place];
    slots =
        questions_.of_whole_cluster
            ? slots_of(*view, {})
            : slots_of(*view,
                       myself.is_master || myself.master_id.empty() ? myself.id : myself.master_id);
    for (const std::uint16_t slot : myself.moving) {
      slots.reset(slot);
    }
  }
  answers.reading.slots = std::make_shared<const cluster::Slots>(slots);
  answers.reading.is_whole_cluster = questions_.of_whole_cluster;
  no_slots_ = is_error(*nodes) ? error_of(*nodes) : error_of(*info);
  return true;
}

void Inquiry::learn_whether_to_try(const redisReply& dryrun) {
  if (!is_about_rights(error_of(dryrun))) {
    no_dryrun_.clear();
    known_.clear();
  }
}

bool Inquiry::learn_users(std::span<const std::string> names, Answers& answers) {
  std::vector<Reply> replies(names.size());
  for (Reply& reply : replies) {
    reply = next_reply(redis_);
    if (!reply) {
      return false;
    }
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (!learn_user(names[i], *replies[i], answers.reading.users)) {
      return false;
    }
  }
  return true;
}

bool Inquiry::ask_commands(Answers& answers) {
  const Reply all = ask_redis(redis_, {"COMMAND"});
  if (!all || is_error(*all)) {
    // Asked again next time: it may be -BUSY. Not by names: Redis closes a connection that sends
    // more than 10 arguments before it has authenticated.
    no_commands_ = all != nullptr ? error_of(*all) : std::string_view();
    return all != nullptr;
  }
  Words info{"COMMAND", "INFO"};
  for (const redis::Command& command : redis::all_commands()) {
    info.emplace_back(command.name);
  }
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
  const std::vector<ListedCommand> listed = commands_of(*all);
  answers.reading.commands = std::make_shared<const redis::Commands>(redis::Commands{
      .listed = names_there(*by_name, redis::all_commands()), .learned = beyond_table(listed)});
  for (const ListedCommand& each : listed) {
    arity_[each.name] = each.arity;
    if (each.writes_no_key) {
      harmless_.insert(each.name);
    }
  }
  return true;
}

bool Inquiry::learn_kind(const redisReply& hello, Answers& answers) {
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
    answers.is_cluster = kind_->is_cluster;
    answers.reading.is_master = kind_->is_master;
  }
  return true;
}

bool Inquiry::learn_state(const redisReply& size, const redisReply& info, Answers& answers) {
  if (!is_error(size)) {
    return true;
  }
  std::optional<redis::Availability> state = state_of_error(text_of(size));
  if (!state) {
    state = state_of_info(info);
  }
  answers.reading.availability = state.value_or(redis::Availability::available);
  return true;
}

bool Inquiry::learn_user(const std::string& name, const redisReply& getuser, redis::Users& users) {
  if (elements_of(getuser).empty()) {  // no such user, or we may not ask
    known_.erase(name);
    if (is_error(getuser) && users.refusal.empty()) {
      users.refusal = text_of(getuser);
    }
    return true;
  }
  AclUser acl = acl_user_of(getuser);
  auto known = known_.find(name);
  if (known == known_.end() || known->second.acl != acl) {
    redis::UserAccess access{.knows_commands = false, .numbering = questions_.numbering};
    const std::optional<bool> is_asked = ask_what_it_may(name, acl, access);
    if (!is_asked) {
      known_.erase(name);
      return true;
    }
    if (!*is_asked) {
      return false;
    }
    known = known_.insert_or_assign(name, Known{std::move(acl), std::move(access)}).first;
  }
  if (known->second.access.is_unrestricted) {
    users.unrestricted.insert(name);
  } else {
    users.restricted.emplace(name, known->second.access);
  }
  if (name == "default") {
    users.default_needs_no_password = known->second.acl.needs_no_password();
  }
  return true;
}

std::optional<bool> Inquiry::ask_what_it_may(const std::string& name,
                                             const AclUser& acl,
                                             redis::UserAccess& access) {
  access.may_write = may_write(acl, harmless_);
  if (!acl.has("on")) {
    return true;
  }
  const bool every_command = may_run_every_command(acl);
  const std::string any_key;
  access.is_unrestricted =
      every_command && key_access(acl, {&any_key, 1}) == redis::KeyAccess::read_write;
  if (access.is_unrestricted) {
    return true;
  }
  for (const std::vector<std::string>& prefixes : questions_.keys) {
    access.namespaces.push_back(key_access(acl, prefixes));
    access.reads_no_key.push_back(!may_read_some_key(acl, prefixes));
  }
  access.knows_commands = true;
  return ask_commands(name, acl, access);
}

std::optional<bool> Inquiry::ask_commands(const std::string& name,
                                          const AclUser& acl,
                                          redis::UserAccess& access) {
  const bool every_command = may_run_every_command(acl);
  for (const redis::KeyAccess keys : {redis::KeyAccess::read, redis::KeyAccess::read_write}) {
    const bool may_write_keys = keys == redis::KeyAccess::read_write;
    redis::CommandSet& may = may_write_keys ? access.on_writable : access.on_readable;
    const std::optional<std::string> prefix = prefix_with(access.namespaces, keys);
    if (every_command && may_write_keys) {
      may = all_answerable();
    } else if (prefix) {
      const bool can_be_told = !acl.has_selectors && !arity_.empty();
      const auto tried = can_be_told ? try_commands(name, acl, *prefix) : Tried();
      if (!tried) {
        return false;
      }
      if (tried->is_changed) {
        return std::nullopt;
      }
      access.knows_commands = access.knows_commands && tried->is_told;
      may = tried->may;
    }
  }
  return true;
}

std::optional<std::string> Inquiry::prefix_with(const std::vector<redis::KeyAccess>& keys,
                                                redis::KeyAccess access) const {
  const auto found = std::ranges::find(keys, access);
  if (found == keys.end()) {
    return std::nullopt;
  }
  return questions_.keys[static_cast<std::size_t>(found - keys.begin())].front();
}

std::optional<Inquiry::Tried> Inquiry::try_commands(const std::string& user,
                                                    const AclUser& acl,
                                                    const std::string& prefix) {
  if (!no_dryrun_.empty()) {
    return Tried();
  }
  const std::string key = prefix + random_;
  for (const redis::Command& command : answerable_commands()) {
    const auto arity = arity_.find(command.name);
    Words words{"ACL", "DRYRUN", user};
    std::ranges::move(shortest_form(command, arity == arity_.end() ? 0 : arity->second, key),
                      std::back_inserter(words));
    append(redis_, words);
  }
  append_users(redis_, {&user, 1});
  Tried tried;
  for (const redis::Command& command : answerable_commands()) {
    const Reply reply = next_reply(redis_);
    if (!reply) {
      return std::nullopt;
    }
    if (is_about_rights(error_of(*reply))) {
      no_dryrun_ = error_of(*reply);
    }
    // A refusal is a string, in words; only the status says yes.
    tried.is_told = tried.is_told || !is_error(*reply);
    tried.may[redis::command_index(command)] =
        reply->type == REDIS_REPLY_STATUS && text_of(*reply) == "OK";
  }
  const Reply getuser = next_reply(redis_);
  if (!getuser) {
    return std::nullopt;
  }
  if (acl_user_of(*getuser) != acl) {
    return Tried{.is_changed = true};
  }
  return tried.is_told ? tried : Tried();
}

}  // namespace cuckooguard::upstream
