#include "cli/learned_facts.h"

#include <cstdint>
#include <limits>
#include <memory>
#include <utility>

namespace cuckooguard::cli {
namespace {

using redis::Command;
using redis::KeyShape;
using redis::Role;

Role role_of(const upstream::CommandFacts& facts) {
  if (facts.subscribes) {
    return Role::unplaced;
  }
  return facts.writes ? Role::write : Role::read;
}

bool has_room_for(const upstream::CommandFacts& facts) {
  return facts.has_key_range && facts.first <= std::numeric_limits<std::uint8_t>::max() &&
         facts.last <= std::numeric_limits<std::int8_t>::max() &&
         facts.last >= std::numeric_limits<std::int8_t>::min() &&
         facts.step <= std::numeric_limits<std::uint8_t>::max();
}

Command command_of(const upstream::CommandFacts& facts) {
  Command command{.name = {}, .role = role_of(facts), .keys = KeyShape::anywhere, .first = 1};
  if (has_room_for(facts)) {
    command.keys = KeyShape::range;
    command.first = static_cast<std::uint8_t>(facts.first);
    command.last = static_cast<std::int8_t>(facts.last);
    command.step = static_cast<std::uint8_t>(facts.step);
  }
  return command;
}

std::shared_ptr<const redis::Commands> commands_of(const upstream::CommandList& list) {
  auto commands = std::make_shared<redis::Commands>();
  for (std::size_t i = 0; i < list.has_built_in.size(); ++i) {
    commands->listed[i] = list.has_built_in[i];
  }
  for (const upstream::CommandFacts& facts : list.all) {
    const bool is_new = redis::find_command(facts.name).role == Role::unknown;
    if (is_new && facts.name.size() <= redis::kLearnedNameBytesMax) {
      commands->learned.emplace(facts.name, command_of(facts));
    }
  }
  return commands;
}

redis::KeyAccess access_of(upstream::KeyAccess access) {
  switch (access) {
    case upstream::KeyAccess::none:
      return redis::KeyAccess::none;
    case upstream::KeyAccess::read:
      return redis::KeyAccess::read;
    case upstream::KeyAccess::read_write:
      return redis::KeyAccess::read_write;
  }
  return redis::KeyAccess::none;
}

// `may` is in the order of the answerable commands of the table.
redis::CommandSet command_set(const std::vector<bool>& may) {
  redis::CommandSet set;
  std::size_t at = 0;
  for (const Command& command : redis::all_commands()) {
    if (redis::may_be_answered(command.role) && at < may.size()) {
      set[redis::command_index(command)] = may[at++];
    }
  }
  return set;
}

redis::UserAccess user_of(const upstream::UserFacts& facts, std::uint64_t numbering) {
  redis::UserAccess user{.may_write = facts.may_write,
                         .on_readable = command_set(facts.commands_on_readable),
                         .on_writable = command_set(facts.commands_on_writable),
                         .reads_no_key = facts.reads_no_key,
                         .knows_commands = facts.knows_commands,
                         .numbering = numbering};
  for (const upstream::KeyAccess access : facts.keys) {
    user.namespaces.push_back(access_of(access));
  }
  return user;
}

redis::Users users_of(const upstream::Facts& facts, config::Acl acl, std::uint64_t numbering) {
  redis::Users users{.default_needs_no_password = !facts.needs_password, .refusal = facts.refusal};
  if (acl == config::Acl::trust) {
    users.trusts_everyone = facts.is_cluster != true;
    return users;
  }
  for (const upstream::UserFacts& user : facts.users) {
    if (user.unrestricted) {
      users.unrestricted.insert(user.name);
    } else {
      users.restricted.emplace(user.name, user_of(user, numbering));
    }
  }
  return users;
}

redis::Availability availability_of(upstream::ServerState state) {
  switch (state) {
    case upstream::ServerState::available:
      return redis::Availability::available;
    case upstream::ServerState::loading:
      return redis::Availability::loading;
    case upstream::ServerState::master_link_down:
      return redis::Availability::master_link_down;
    case upstream::ServerState::busy:
      return redis::Availability::busy;
  }
  return redis::Availability::busy;
}

}  // namespace

upstream::Questions questions_for(const config::Config& config) {
  upstream::Questions questions;
  for (const Command& command : redis::all_commands()) {
    questions.built_in.emplace_back(command.name);
    if (redis::may_be_answered(command.role)) {
      const bool counts = command.keys == KeyShape::counted;
      questions.answerable.push_back({.name = std::string(command.name),
                                      .key_count = counts ? std::size_t{command.count} : 0});
    }
  }
  for (const config::Namespace& space : config.namespaces) {
    std::vector<std::string>& prefixes = questions.keys.emplace_back();
    for (const keyspace::KeyTemplate& key : space.keys) {
      prefixes.emplace_back(key.literal_prefix());
    }
  }
  return questions;
}

redis::ControlReport report_of(const upstream::NotAllowed& lack) {
  using State = redis::ControlReport::State;
  State state = lack.passes ? State::not_allowed : State::limited;
  if (lack.why.empty()) {
    state = State::allowed;
  } else if (lack.is_unsupported) {
    state = State::unsupported;
  }
  return {.state = state, .why = lack.why, .hint = lack.hint};
}

redis::Reading reading_of(const upstream::Facts& facts, config::Acl acl, std::uint64_t numbering) {
  return {.commands = facts.commands ? commands_of(*facts.commands) : nullptr,
          .users = users_of(facts, acl, numbering),
          .availability = availability_of(facts.state),
          .is_master = facts.is_master,
          .takes_writes = facts.takes_writes,
          .idle_timeout = facts.idle_timeout,
          .good_until = facts.asked_at + redis::Facts::kKnownFor};
}

}  // namespace cuckooguard::cli
