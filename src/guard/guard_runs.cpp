// Runs of reads: what one read of the socket brings of a pipeline is judged together. What does not
// depend on the key is asked once; keys are matched and hashed, and looked up as one batch.
//
// Why that hides no more than judge() does. All commands of a run have arrived before the first of
// them is judged, and of each key the same is read in the same order (KeyJudge::judge_together(),
// filter/parts_lookup.h): other keys' reads come in between, as if the worker were slow. Between
// two commands of a run is nothing of their client's that could change an answer: its writes, what
// changes its state, and all that is no such read end it.
#include <algorithm>
#include <array>

#include "guard/guard.h"
#include "redis/missing_reply.h"

namespace cuckooguard::guard {

RunDecision Guard::judge_run(const Question& question, Arguments keys) {
  effects_.clear();
  run_.is_guarded = false;  // the one before may have been of a namespace that is no more
  const redis::UserAccess* const access = access_of_read(question);
  const redis::KeyIndexes names = redis::key_indexes(question.command, question.arguments);
  const bool is_of_one_key = names.first == 1 && names.end == 2 && names.also == 0;
  const bool is_error = question.command.role == redis::Role::get && question.arguments.size() != 2;
  if (access == nullptr || question.redis.slots || !is_of_one_key || is_error) {
    return {};
  }
  const Reader reader = reader_of(question, *access);
  keyspace::Lookup first = parts_.keyspace.match(keys.front(), identity_);
  if (first.kind == keyspace::Lookup::Kind::unguarded) {
    return {.commands = collect_unguarded(keys)};
  }
  const std::optional<std::string_view> reply = reply_of_run(question, first.ns);
  if (!reply || !judge_.may_judge_together(first, reader)) {
    return {};
  }
  collect_guarded(first, keys);
  if (run_.size < 2 || !judge_.judge_together(run_, reader)) {
    return {};
  }
  RunDecision decision{.reply = *reply};
  for (; decision.commands < run_.size; ++decision.commands) {
    if (run_.verdicts[decision.commands] != Verdict::absent) {
      continue;
    }
    if (draws_sample(run_.ns, question.redis)) {
      is_sample_drawn_ = true;  // it is judged by itself
      break;
    }
    decision.answered |= std::uint64_t{1} << decision.commands;
  }
  return decision;
}

// What an absent key is answered with, whichever it is. Nothing: such commands are judged one by
// one.
std::optional<std::string_view> Guard::reply_of_run(const Question& question, std::uint32_t ns) {
  const redis::Command& command = question.command;
  switch (command.role) {
    case redis::Role::get:
      return absent_reply(ns, question.client.version(), question.now);
    case redis::Role::exists:
      return kNoneExists;
    case redis::Role::read:
      break;
    default:
      return std::nullopt;
  }
  const auto reply = redis::missing_reply(command, question.arguments);
  return reply ? std::optional(redis::bytes_of(
                     *reply, question.arguments.size(), question.client.version(), reply_))
               : std::nullopt;
}

std::size_t Guard::collect_unguarded(Arguments keys) {
  run_.is_guarded = false;
  run_.size = 1;
  while (run_.size < keys.size() && parts_.keyspace.match(keys[run_.size], identity_).kind ==
                                        keyspace::Lookup::Kind::unguarded) {
    ++run_.size;
  }
  return run_.size;
}

void Guard::collect_guarded(keyspace::Lookup found, Arguments keys) {
  const filter::LiveParts& filter = *parts_.namespaces[found.ns].filter;
  const std::uint32_t template_index = found.template_index;
  run_.is_guarded = true;
  run_.ns = found.ns;
  run_.size = 0;
  do {
    run_.hashes[run_.size] = filter.hash(found.identity);
    run_.numbers[run_.size] = found.number;
    if (++run_.size == keys.size()) {
      return;
    }
    found = parts_.keyspace.match(keys[run_.size], identity_);
  } while (found.kind != keyspace::Lookup::Kind::unguarded &&
           found.template_index == template_index);
}

// The keys of one command, into `verdicts_`: together those of one template in a row, where they
// may be judged so.
void Guard::judge_all(Arguments keys, const Read& read) {
  verdicts_.clear();
  while (verdicts_.size() < keys.size()) {
    const Arguments left = keys.subspan(verdicts_.size());
    const keyspace::Lookup first = parts_.keyspace.match(left.front(), identity_);
    if (first.kind == keyspace::Lookup::Kind::unguarded ||
        !judge_.may_judge_together(first, read.reader)) {
      verdicts_.push_back(judge(left.front(), read));
      continue;
    }
    collect_guarded(first, left.first(std::min(left.size(), KeyRun::kMax)));
    if (!judge_.judge_together(run_, read.reader)) {
      verdicts_.push_back(judge(left.front(), read));
      continue;
    }
    for (const Verdict verdict : std::span(run_.verdicts).first(run_.size)) {
      verdicts_.push_back({.verdict = verdict, .ns = run_.ns});
    }
    note_run(left.first(run_.size), read.question);
  }
}

// As judge() does of each key.
std::uint64_t Guard::note_run(Arguments keys, const Question& question) {
  NamespaceCounters& counters = *namespace_counters_[run_.ns];
  const bool is_told = tells_of_absences(parts_.namespaces[run_.ns]);
  std::array<std::uint32_t, kVerdicts> counts{};
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const Verdict verdict = run_.verdicts[i];
    ++counts[static_cast<std::size_t>(verdict)];
    if (verdict == Verdict::absent && is_told) {
      effects_.absences.push_back({.ns = run_.ns, .hash = run_.hashes[i], .key = keys[i]});
    }
    if (--until_traffic_ == 0) [[unlikely]] {
      sample_traffic({.verdict = verdict, .ns = run_.ns},
                     {.key = keys[i], .number = run_.numbers[i]},
                     question.client);
    }
  }
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] != 0) {
      effects_.count(counters.of(static_cast<Verdict>(i)), counts[i]);
    }
  }
  effects_.count(counters_.guarded_keys, keys.size());
  return counts[static_cast<std::size_t>(Verdict::absent)];
}

void Guard::carried_out_run(const Question& question, Arguments keys) {
  if (run_.is_guarded) {
    effects_.count(counters_.answered, note_run(keys, question));
  } else {
    effects_.unguarded.assign(keys.begin(), keys.end());
  }
  carried_out(question);
}

}  // namespace cuckooguard::guard
