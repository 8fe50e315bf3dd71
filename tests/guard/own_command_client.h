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

  OwnDecision decide(std::initializer_list<std::string_view> arguments) {
    return own_.decide(std::span(arguments.begin(), arguments.size()),
                       shop_.client,
                       {.now = shop_.now, .since = since_, .has_room = has_room_});
  }
  // The reply, or "" if there is none yet or ever.
  std::string reply(std::initializer_list<std::string_view> arguments) {
    const OwnDecision decision = decide(arguments);
    return decision.action == OwnDecision::Action::answer ? std::string(decision.reply) : "";
  }
  OwnDecision::Action action(std::initializer_list<std::string_view> arguments) {
    return decide(arguments).action;
  }
  void allow(redis::UserAccess access) {
    redis::Users users{.default_needs_no_password = true};
    users.restricted.emplace("default", std::move(access));
    shop_.facts.publish_users(shop_.facts.epoch(), std::move(users));
  }

  GuardedShop shop_;
  ToldSources sources_{{{.name = "shop", .status = {.type = "mysql"}},
                        {.name = "files", .status = {}, .reached = Reached::not_followed}}};
  OwnCommands own_{*shop_.guard};
  TimePoint since_ = shop_.now;
  bool has_room_ = true;
};

}  // namespace cuckooguard::guard
