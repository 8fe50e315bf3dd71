#include "upstream/inquiry.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <random>

#include "text/number.h"
#include "upstream/not_allowed.h"

namespace cuckooguard::upstream {
namespace {

using Words = std::vector<std::string_view>;

std::chrono::seconds idle_timeout_of(const redisReply& reply) {
  const redisReply* const value = value_of(reply, "timeout");
  return std::chrono::seconds(value == nullptr ? 0
                                               : text::number_of<int>(text_of(*value)).value_or(0));
}

std::string random_text() {
  std::random_device device;
  std::uniform_int_distribution<int> letter('a', 'z');
  std::string text(24, ' ');
  std::ranges::generate(text, [&] { return static_cast<char>(letter(device)); });
  return text;
}

}  // namespace

Inquiry::Inquiry(RedisClient& redis, const Questions& questions)
    : redis_(redis), questions_(questions), random_(random_text()) {}

std::optional<Answers> Inquiry::ask(std::span<const std::string> users) {
  Answers answers;
  if (!has_asked_commands_ && !ask_commands(answers)) {
    return std::nullopt;
  }
  redis_.append({"HELLO"});
  redis_.append({"DBSIZE"});
  redis_.append({"CONFIG", "GET", "timeout"});
  const bool is_redis_7 = kind_ && kind_->version >= 7;
  redis_.append(is_redis_7 ? Words{"INFO", "server", "replication", "persistence", "cluster"}
                           : Words{"INFO"});
  if (questions_.served_slots != nullptr) {
    redis_.append({"CLUSTER", "NODES"});
    redis_.append({"CLUSTER", "INFO"});
  }
  const bool tries_again = !no_dryrun_.empty();
  if (tries_again) {
    redis_.append({"ACL", "DRYRUN", "default", "PING"});
  }
  const bool lists = may_list_ && !users.empty() && is_redis_7;
  const auto first = users.first(lists ? 0 : std::min(users.size(), kUsersAtOnce));
  if (lists) {
    redis_.append({"ACL", "LIST"});
  }
  append_users(first);
  const auto asked_at = std::chrono::steady_clock::now();
  const Reply hello = redis_.next();
  answers.reading.round_trip = std::chrono::steady_clock::now() - asked_at;
  const Reply size = redis_.next();
  const Reply timeout = redis_.next();
  const Reply info = redis_.next();
  if (questions_.served_slots != nullptr && !learn_slots(answers)) {
    return std::nullopt;
  }
  if (tries_again) {
    if (const Reply dryrun = redis_.next()) {
      learn_whether_to_try(*dryrun);
    }
  }
  if (!info || !(lists ? learn_list(users, answers) : learn_users(first, answers)) ||
      !learn_kind(*hello, answers) || !learn_state(*size, *info, answers)) {
    return std::nullopt;
  }
  answers.reading.idle_timeout = idle_timeout_of(*timeout);
  answers.reading.takes_writes = takes_writes(*info);
  answers.server.run_id = run_id_of(*info);
  answers.server.uptime = uptime_of(*info);
  answers.server.is_master = answers.reading.is_master;
  if (!lists && !ask_each(users.subspan(first.size()), answers)) {
    return std::nullopt;
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

bool Inquiry::learn_slots(Answers& answers) {
  const Reply nodes = redis_.next();
  const Reply info = redis_.next();
  if (!info) {
    return false;
  }
  answers.reading.slots = std::make_shared<const redis::Slots>(
      questions_.served_slots(text_of(*nodes), text_of(*info), questions_.of_whole_cluster));
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

bool Inquiry::ask_commands(Answers& answers) {
  const Reply all = redis_.call({"COMMAND"});
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
  const Reply by_name = redis_.call(info);
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
    const Reply info = redis_.call({"INFO"});
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

}  // namespace cuckooguard::upstream
