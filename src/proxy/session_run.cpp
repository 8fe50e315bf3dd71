// A session whose client has sent reads or writes of one kind in a row (guard/guard_runs.cpp): what
// is next to each other and is treated alike travels as one.
//
//   GET a | GET b | GET none | GET none | GET c | SET ...
//   `- forwarded -'`---- answered -----'`forw.-'`- no longer the run's
#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "proxy/session.h"

namespace cuckooguard::proxy {

// How many bytes; 0: the first one is to be taken by itself.
std::size_t Session::take_run(guard::Question& first,
                              std::string_view raw,
                              std::string_view behind) {
  if (behind.empty() || held_ || input_.is_ahead() || state_.is_silent() ||
      first.arguments.size() < 2 || worker_.own_commands.may_find(first.arguments[0])) {
    return 0;
  }
  const std::string_view input(raw.data(), raw.size() + behind.size());
  if (guard::Guard::judges(first)) {  // the keys of an MGET are a run of their own
    const bool may_be_one = may_take_runs_ && first.command.role != redis::Role::mget;
    return may_be_one ? take_reads(first, raw.size(), input) : 0;
  }
  if (!redis::is_plain_set(first.command, first.arguments.size()) || state_.has_unread_replies()) {
    return 0;
  }
  auto& commands = worker_.run.commands;
  const std::size_t count = resp::alike_commands(
      input, raw.size(), first.arguments, resp::AlikeBut::key_and_value, commands);
  const std::size_t taken =
      count < 2 ? 0 : forward_run(first, input, 0, std::span(commands).first(count));
  return taken == 0 ? 0 : commands[taken - 1].end;
}

std::size_t Session::take_reads(guard::Question& first, std::size_t size, std::string_view input) {
  auto& [commands, keys] = worker_.run;
  const std::size_t count =
      resp::alike_commands(input, size, first.arguments, resp::AlikeBut::key, commands);
  if (count < 2) {
    return 0;
  }
  std::ranges::transform(std::span(commands).first(count), keys.begin(), &resp::AlikeCommand::key);
  first.proof.read_at = times_.of(commands[count - 1].end);  // when the last one arrived
  const guard::RunDecision run = worker_.guard.judge_run(first, std::span(keys).first(count));
  if (run.commands == 0) {
    may_take_runs_ = false;  // to look for one behind each command would take long
    return 0;
  }
  std::size_t done = 0;
  std::size_t bytes = 0;
  while (done < run.commands && phase_ < Phase::ending) {
    const std::uint64_t left = run.answered >> done;
    const bool is_answered = (left & 1U) != 0;
    const auto alike = std::min(
        static_cast<std::size_t>(is_answered ? std::countr_one(left) : std::countr_zero(left)),
        run.commands - done);
    const std::size_t taken =
        is_answered ? answer_run(first, run.reply, alike)
                    : forward_run(first, input, bytes, std::span(commands).subspan(done, alike));
    if (taken == 0) {
      break;
    }
    done += taken;
    bytes = commands[done - 1].end;
  }
  worker_.guard.carried_out_run(first, std::span(keys).first(done));
  return bytes;
}

// How many of them, each by this reply.
std::size_t Session::answer_run(const guard::Question& first,
                                std::string_view reply,
                                std::size_t most) {
  constexpr std::size_t kTogether = 512;  // bytes
  const std::size_t room = room_for(first);
  if (room < reply.size()) {
    return 0;
  }
  // The room for one of them may be more than that for several.
  const std::size_t of_client = worker_.settings.limits.client_output_soft;
  const std::size_t count =
      std::min(most, std::max<std::size_t>(std::min(room, of_client) / reply.size(), 1));
  std::array<char, kTogether> replies;
  std::size_t size = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (size + reply.size() > replies.size()) {
      order_.answer({replies.data(), std::exchange(size, 0)});
    }
    if (reply.size() > replies.size()) {
      order_.answer(reply);
    } else {
      size += reply.copy(replies.data() + size, reply.size());
    }
  }
  if (size > 0) {
    order_.answer({replies.data(), size});
  }
  queue_flush();
  return count;
}

// How many of them, which begin there. 0: the next one is held.
std::size_t Session::forward_run(const guard::Question& first,
                                 std::string_view input,
                                 std::size_t begin,
                                 std::span<const resp::AlikeCommand> commands) {
  if (!may_leave(first)) {
    return 0;
  }
  const std::size_t count = std::min<std::size_t>(commands.size(), route_.room());
  order_.expect_reply(count);
  if (first.command.role == redis::Role::write) {
    worker_.guard.scan_writes(first, commands.first(count), order_.last_expected());
    join_loads();
  }
  timed_reply_.expected(worker_.reply_clock, first.command, order_, now_);
  forward(input.substr(begin, commands[count - 1].end - begin), count);
  return count;
}

}  // namespace cuckooguard::proxy
