#include <algorithm>
#include <array>

#include "text/words.h"
#include "upstream/inquiry.h"
#include "upstream/redis_reply.h"

namespace cuckooguard::upstream {
namespace {

std::vector<std::string> strings_of(const redisReply& reply) {
  std::vector<std::string> strings;
  for (const redisReply* const element : elements_of(reply)) {
    strings.emplace_back(text_of(*element));
  }
  return strings;
}

// No pattern holds a space: Redis refuses it.
std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  while (!text.empty()) {
    if (const std::string_view word = text::take_word(text); !word.empty()) {
      words.emplace_back(word);
    }
  }
  return words;
}

std::vector<std::string> keys_of(const redisReply& reply) {
  if (reply.type != REDIS_REPLY_ARRAY) {
    return words_of(text_of(reply));
  }
  std::vector<std::string> keys = strings_of(reply);
  for (std::string& key : keys) {
    key = std::string("~").append(key);
  }
  return keys;
}

struct Pattern {
  redis::KeyAccess access = redis::KeyAccess::none;
  std::string_view glob;
};

// ~glob, %R~glob, %RW~glob; %W~glob does not allow to read.
Pattern pattern_of(std::string_view text) {
  const std::size_t tilde = text.find('~');
  if (tilde == std::string_view::npos) {
    return {};
  }
  const std::string_view kind = text.substr(0, tilde);
  const std::string_view glob = text.substr(tilde + 1);
  if (kind.empty() || kind == "%RW" || kind == "%WR") {
    return {.access = redis::KeyAccess::read_write, .glob = glob};
  }
  return {.access = kind == "%R" ? redis::KeyAccess::read : redis::KeyAccess::none, .glob = glob};
}

// Every key that begins with `prefix` fits: the glob is plain text that the prefix begins with, and
// one '*'.
bool covers(std::string_view glob, std::string_view prefix) {
  if (!glob.ends_with('*')) {
    return false;
  }
  const std::string_view literal = glob.substr(0, glob.size() - 1);
  return literal.find_first_of("*?[\\") == std::string_view::npos && prefix.starts_with(literal);
}

redis::KeyAccess access_of_prefix(const AclUser& user, std::string_view prefix) {
  redis::KeyAccess most = redis::KeyAccess::none;
  for (const std::string& key : user.keys) {
    const Pattern pattern = pattern_of(key);
    if (covers(pattern.glob, prefix)) {
      most = std::max(most, pattern.access);
    }
  }
  return most;
}

// Valkey 9.1 may keep a user out of some of them; others do not tell.
bool may_use_every_db(const redisReply& reply) {
  const redisReply* const databases = value_of(reply, "databases");
  return databases == nullptr || text_of(*databases) == "alldbs";
}

}  // namespace

bool AclUser::has(std::string_view flag) const {
  return std::ranges::find(flags, flag) != flags.end();
}

AclUser acl_user_of(const redisReply& reply) {
  AclUser user;
  if (const redisReply* const flags = value_of(reply, "flags")) {
    user.flags = strings_of(*flags);
  }
  if (const redisReply* const commands = value_of(reply, "commands")) {
    user.commands = text_of(*commands);
  }
  if (const redisReply* const keys = value_of(reply, "keys")) {
    user.keys = keys_of(*keys);
  }
  if (const redisReply* const selectors = value_of(reply, "selectors")) {
    user.has_selectors = !elements_of(*selectors).empty();
  }
  if (!may_use_every_db(reply)) {
    user.commands.clear();
    user.keys.clear();
    user.has_selectors = true;  // what it may is not told
  }
  return user;
}

std::string_view acl_name_in(std::string_view line) {
  constexpr std::string_view kUser = "user ";
  if (!line.starts_with(kUser)) {
    return {};
  }
  line.remove_prefix(kUser.size());
  return line.substr(0, line.find(' '));
}

// user NAME on nopass #hash ~key* %R~key* resetchannels &channel* -@all +get (~key* -@all +get)
std::optional<AclUser> acl_user_in(std::string_view line) {
  constexpr std::array<std::string_view, 5> kFlags{
      "on", "off", "nopass", "sanitize-payload", "skip-sanitize-payload"};
  AclUser user;
  const std::vector<std::string> words = words_of(line);
  for (std::size_t i = 2; i < words.size() && !user.has_selectors; ++i) {
    const std::string& word = words[i];
    if (std::ranges::find(kFlags, word) != kFlags.end()) {
      user.flags.push_back(word);
    } else if (word.starts_with('~') || word.starts_with('%')) {
      user.keys.push_back(word);
    } else if (word.starts_with('+') || word.starts_with('-')) {
      user.commands.append(user.commands.empty() ? "" : " ").append(word);
    } else if (word.starts_with('(')) {
      user.has_selectors = true;
    } else if (!word.starts_with('#') && !word.starts_with('&') && word != "resetchannels") {
      return std::nullopt;
    }
  }
  return user;
}

// A command list that says more than "everything" has taken something away again.
bool may_run_every_command(const AclUser& user) {
  return user.commands == "+@all";
}

// `off` ends no connection.
bool may_write(const AclUser& user, const std::set<std::string, std::less<>>& harmless) {
  const std::vector<std::string> words = words_of(user.commands);
  if (words.empty() || words.front() != "-@all" || user.has_selectors) {
    return true;
  }
  return std::ranges::any_of(words, [&harmless](std::string_view word) {
    return !word.starts_with('-') && word != "+@read" &&
           !harmless.contains(word.substr(1, word.find('|') - 1));
  });
}

redis::KeyAccess key_access(const AclUser& user, std::span<const std::string> prefixes) {
  redis::KeyAccess least = prefixes.empty() ? redis::KeyAccess::none : redis::KeyAccess::read_write;
  for (const std::string& prefix : prefixes) {
    least = std::min(least, access_of_prefix(user, prefix));
  }
  return least;
}

// What stands before the first wildcard tells two apart.
bool may_read_some_key(const AclUser& user, std::span<const std::string> prefixes) {
  if (!user.has("on") || user.has_selectors) {
    return true;
  }
  return std::ranges::any_of(user.keys, [&](const std::string& key) {
    const Pattern pattern = pattern_of(key);
    const std::string_view literal = pattern.glob.substr(0, pattern.glob.find_first_of("*?[\\"));
    return pattern.access != redis::KeyAccess::none &&
           std::ranges::any_of(prefixes, [&](std::string_view prefix) {
             return prefix.starts_with(literal) || literal.starts_with(prefix);
           });
  });
}

}  // namespace cuckooguard::upstream
