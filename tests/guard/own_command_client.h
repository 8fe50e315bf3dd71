// A client of the shop in guarded_shop.h that sends the guard its own commands; `default`, without
// a login, unless the test says otherwise. Two sources are told of: `shop` has positions, `files`
// has none.
#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>

#include "guard/guarded_shop.h"
#include "guard/own_commands.h"
#include "guard/told_sources.h"

namespace cuckooguard::guard {

class OwnCommandClient : public ::testing::Test {
 protected:
  OwnCommandClient() { shop_.process.sources = &sources_; }

  // What Redis is asked is in `asked_`; it says `redis_says_`.
  OwnDecision decide(std::initializer_list<std::string_view> arguments) {
    OwnDecision decision = shop_.serve(
        std::span(arguments.begin(), arguments.size()),
        {.now = shop_.now, .since = since_, .has_room = has_room_, .has_promises = has_promises_});
    asked_ = decision.action == OwnDecision::Action::ask ? words_of(decision.instead) : "";
    return asked_.empty() ? std::move(decision) : heard(decision.asked);
  }
  // The reply, or "" if there is none yet or ever.
  std::string reply(std::initializer_list<std::string_view> arguments) {
    const OwnDecision decision = decide(arguments);
    return decision.action == OwnDecision::Action::answer ? std::string(decision.reply) : "";
  }
  OwnDecision::Action action(std::initializer_list<std::string_view> arguments) {
    return decide(arguments).action;
  }
  bool takes(std::initializer_list<std::string_view> arguments) const {
    return shop_.commands->find(std::span(arguments.begin(), arguments.size()), shop_.now) !=
           nullptr;
  }
  bool may_take_large(std::initializer_list<std::string_view> front) const {
    return shop_.commands->may_take_large(
        std::span(front.begin(), front.size()), shop_.client, shop_.now);
  }
  // What Redis is sent instead, to be refused.
  std::string instead(std::initializer_list<std::string_view> arguments) {
    const OwnDecision decision = decide(arguments);
    return decision.action == OwnDecision::Action::forward ? words_of(decision.instead) : "";
  }
  void allow(redis::UserAccess access) {
    redis::Users users{.default_needs_no_password = true};
    users.restricted.emplace("default", std::move(access));
    shop_.facts.publish_users(shop_.facts.epoch(), std::move(users));
  }

  static std::string words_of(std::span<const std::string_view> words) {
    std::string all;
    for (const std::string_view word : words) {
      all.append(all.empty() ? "" : " ").append(word);
    }
    return all;
  }
  OwnDecision heard(const AskedReply& asked) {
    heard_.clear();
    const bool is_relayed = redis_says_.starts_with('-') && !asked.takes_errors;
    auto promise = is_relayed ? nullptr : asked.reply(redis_says_, heard_);
    heard_ += is_relayed ? redis_says_ : "";
    if (promise && promise->is_known()) {
      promise->append_to(heard_);
      promise.reset();
    }
    if (promise) {
      return {.action = OwnDecision::Action::promise, .promise = std::move(promise)};
    }
    return {.action = OwnDecision::Action::answer, .reply = heard_};
  }

  GuardedShop shop_;
  std::string redis_says_ = ":0\r\n";
  std::string asked_;
  std::string heard_;
  ToldSources sources_{{{.name = "shop", .status = {.type = "mysql"}},
                        {.name = "files", .status = {}, .reached = Reached::not_followed}}};
  TimePoint since_ = shop_.now;
  bool has_room_ = true;
  bool has_promises_ = false;
};

}  // namespace cuckooguard::guard
