#include "served/call.h"

#include <array>
#include <utility>

#include "resp/reply_writer.h"

namespace cuckooguard::guard {

using filled::Operation;

std::optional<OwnDecision> FilledCall::refusal_if_stale() const {
  if (parts.store.is_current(attempt.now)) {
    return std::nullopt;
  }
  return attempt.may_wait() ? hold()
                            : error("ERR filter state is stale: its log in Redis cannot be read");
}

OwnDecision FilledCall::refuse() const {
  return error("ERR " + std::string(arguments[0]) +
               ": one of its keys is a filter of the guard, which supports " +
               (family() == Family::set ? "only SADD, SISMEMBER, SMISMEMBER and SCARD"
                                        : "this command not at all"));
}

OwnDecision FilledCall::unless_redis_has_key(Then then) const {
  const std::array words{std::string_view("EXISTS"), key()};
  return ask(
      words,
      {.reply = [then = std::move(then)](std::string_view redis,
                                         std::string& out) -> std::unique_ptr<PromisedReply> {
         if (redis != ":1\r\n") {
           return then(out);
         }
         resp::append_error(out, filled_reply::kWrongKind);
         return nullptr;
       },
       .takes_errors = true});
}

OwnDecision FilledCall::decided(std::unique_ptr<PromisedReply> promised) const {
  if (!promised) {
    return answer();
  }
  if (promised->is_known() && !attempt.has_promises) {
    reply.clear();
    promised->append_to(reply);
    return answer();
  }
  return {.action = OwnDecision::Action::promise, .promise = std::move(promised)};
}

bool FilledCall::is_whole(const Operation& operation) const {
  using enum Operation::Kind;
  const bool makes = operation.missing == Operation::Missing::is_made && named == nullptr;
  return makes || operation.kind == create || operation.kind == drop || operation.kind == expire ||
         operation.kind == load;
}

// One that is past its time goes before anything is done to what has its name.
OwnDecision FilledCall::submit(filled::Operation operation, filled_reply::Write write) const {
  if (is_whole(operation) && !worker.has_turn(attempt.now)) {
    return hold();
  }
  std::shared_ptr<filled::Change> drops;
  if (expired != nullptr) {
    drops =
        std::make_shared<filled::Change>(filled::Operation{.kind = Operation::Kind::drop,
                                                           .filter = std::string(key()),
                                                           .incarnation = expired->incarnation});
  }
  operation.filter = key();
  operation.filters_max = parts.settings.max_filters;
  // What has no room here takes none.
  operation.bytes_max = parts.settings.max_memory + parts.filters.totals().unsure_bytes;
  const auto change = std::make_shared<filled::Change>(std::move(operation));
  const auto submit_now =
      [drops, change, write, version = version(), &store = parts.store, &counts = filled.counts()](
          std::string&) {
        if (drops) {
          store.submit(drops);
        }
        store.submit(change);
        return std::unique_ptr<PromisedReply>(
            std::make_unique<FilledReply>(change, write, version, counts));
      };
  return needs_free_key(change->operation()) ? unless_redis_has_key(submit_now)
                                             : decided(submit_now(reply));
}

// Of commands that RedisBloom refuses for a key of Redis's.
bool FilledCall::needs_free_key(const Operation& operation) const {
  using enum Operation::Kind;
  return named == nullptr && family() == Family::filter && operation.kind != erase &&
         operation.kind != count;
}

}  // namespace cuckooguard::guard
