// A shop whose namespaces are strict, and a read that is judged as often as one likes.
#pragma once

#include <chrono>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "guard/guarded_shop.h"

namespace cuckooguard::guard {

inline constexpr std::chrono::nanoseconds kMoment{1};

class GuardStrict : public testing::Test {
 protected:
  GuardStrict() {
    for (GuardedNamespace& space : shop_.spaces) {
      space.consistency = config::Consistency::strict;
      space.questions = &questions_;
    }
    prove_all(shop_.now - kMoment);
  }

  void prove(std::uint32_t ns, TimePoint at) { shop_.filters[ns]->prove(at, seconds(1)); }
  void prove_all(TimePoint at) {
    for (filter::LiveFilter* const live : shop_.filters) {
      live->prove(at, seconds(1));
    }
  }
  // What the read of before would be told now.
  Decision judge(std::initializer_list<std::string_view> arguments,
                 Unproven unproven = Unproven::hold,
                 bool was_held = false) {
    arguments_.assign(arguments);
    Question question = shop_.guard->ask(arguments_, shop_.client, shop_.now);
    question.proof = {.read_at = read_at_, .unproven = unproven, .was_held = was_held};
    question_.emplace(question);
    return shop_.guard->judge(question, shop_.room);
  }
  void carry_out() { shop_.guard->carried_out(*question_); }

  GuardedShop shop_;
  filter::Questions questions_;
  TimePoint read_at_ = shop_.now;
  std::vector<std::string_view> arguments_;
  std::optional<Question> question_;
};

}  // namespace cuckooguard::guard
