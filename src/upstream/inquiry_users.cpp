// Of an inquiry: what users may do.
#include <algorithm>
#include <iterator>
#include <ranges>
#include <utility>

#include "upstream/inquiry.h"
#include "upstream/not_allowed.h"

namespace cuckooguard::upstream {
namespace {

// The shortest form of the command that Redis takes, with `key` wherever a key may stand.
std::vector<std::string_view> shortest_form(const redis::Command& command,
                                            int arity,
                                            std::string_view key) {
  const std::size_t count = command.keys == redis::KeyShape::counted ? command.count : 0;
  const auto words = static_cast<std::size_t>(std::max(2, std::abs(arity)));
  std::vector<std::string_view> form(std::max(words, count + 2), key);
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

}  // namespace

void Inquiry::append_users(std::span<const std::string> names) {
  for (const std::string& name : names) {
    redis_.append({"ACL", "GETUSER", name});
  }
}

bool Inquiry::learn_list(std::span<const std::string> names, Answers& answers) {
  const Reply list = redis_.next();
  if (!list) {
    return false;
  }
  const auto lines = elements_of(*list);
  may_list_ = !lines.empty() && lines.size() <= kListedPerAsked * names.size();
  if (!may_list_) {
    return ask_each(names, answers);
  }
  std::vector<std::string> others;
  for (const std::string& name : names) {
    const auto line = std::ranges::find_if(
        lines, [&](const redisReply* each) { return acl_name_in(text_of(*each)) == name; });
    std::optional<AclUser> acl = line == lines.end() ? AclUser() : acl_user_in(text_of(**line));
    if (line == lines.end()) {
      known_.erase(name);
    } else if (!acl) {
      others.push_back(name);
    } else if (!learn_rights(name, *std::move(acl), answers.reading.users)) {
      return false;
    }
  }
  answers.reading.users.are_listed = others.empty();
  return ask_each(others, answers);
}

bool Inquiry::ask_each(std::span<const std::string> names, Answers& answers) {
  while (!names.empty()) {
    const auto next = names.first(std::min(names.size(), kUsersAtOnce));
    append_users(next);
    if (!learn_users(next, answers)) {
      return false;
    }
    names = names.subspan(next.size());
  }
  return true;
}

bool Inquiry::learn_users(std::span<const std::string> names, Answers& answers) {
  std::vector<Reply> replies(names.size());
  for (Reply& reply : replies) {
    reply = redis_.next();
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

bool Inquiry::learn_user(const std::string& name, const redisReply& getuser, redis::Users& users) {
  if (elements_of(getuser).empty()) {  // no such user, or we may not ask
    known_.erase(name);
    if (is_error(getuser) && users.refusal.empty()) {
      users.refusal = text_of(getuser);
    }
    return true;
  }
  return learn_rights(name, acl_user_of(getuser), users);
}

bool Inquiry::learn_rights(const std::string& name, AclUser acl, redis::Users& users) {
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
    std::vector<std::string_view> words{"ACL", "DRYRUN", user};
    std::ranges::copy(shortest_form(command, arity == arity_.end() ? 0 : arity->second, key),
                      std::back_inserter(words));
    redis_.append(words);
  }
  append_users({&user, 1});
  Tried tried;
  for (const redis::Command& command : answerable_commands()) {
    const Reply reply = redis_.next();
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
  const Reply getuser = redis_.next();
  if (!getuser) {
    return std::nullopt;
  }
  if (acl_user_of(*getuser) != acl) {
    may_list_ = false;  // it may be that ACL LIST says the same in other words
    return Tried{.is_changed = true};
  }
  return tried.is_told ? tried : Tried();
}

}  // namespace cuckooguard::upstream
