// Replies to keys that the guard takes for absent: relayed or replaced in their places, and told
// of, at every cut.
#include <array>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reply_chain.h"

namespace cuckooguard::proxy {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

using Element = std::optional<std::string_view>;
using Heard = std::vector<std::string>;

constexpr std::string_view kStar = "$1\r\n*\r\n";

guard::AbsentKey string_read(std::string_view key,
                             std::string_view replacement = {},
                             std::string_view nil = kNilReply) {
  return {.ns = 3,
          .key = key,
          .missing = nil,
          .replacement = replacement,
          .is_string_read = true,
          .kept_bytes = std::max(nil.size(), kStar.size())};
}

struct Told {
  std::string sent;
  Heard heard;
};

// What the client gets, and what is told, must be the same at every cut.
Told told(std::string_view from_redis, const std::function<void(ReplyOrder&)>& expect) {
  Heard heard;
  bool is_first = true;
  std::string sent = expect_same_at_every_split(from_redis, [&](Pieces pieces) {
    Chain chain;
    expect(chain.order);
    const std::string text = chain.relay(pieces);
    if (std::exchange(is_first, false)) {
      heard = chain.compared;
    }
    EXPECT_EQ(chain.compared, heard);
    return text;
  });
  return {.sent = std::move(sent), .heard = std::move(heard)};
}

TEST(ReplyOrderAbsentKeys, a_nil_is_replaced_in_its_place_among_other_replies) {
  for (const std::string_view nil : {"$-1\r\n", "_\r\n"}) {
    const Told seen =
        told("+1\r\n" + std::string(nil) + "+2\r\n" + std::string(nil), [nil](ReplyOrder& order) {
          order.expect_reply();
          order.expect_absent_key_reply(string_read("a", kStar, nil));
          order.expect_reply();
          order.expect_absent_key_reply(string_read("b", kStar, nil));
          order.answer(":7\r\n");
        });
    EXPECT_EQ(seen.sent, "+1\r\n$1\r\n*\r\n+2\r\n$1\r\n*\r\n:7\r\n");
    EXPECT_THAT(seen.heard, ElementsAre("a=" + std::string(nil), "b=" + std::string(nil)));
  }
}

TEST(ReplyOrderAbsentKeys, a_nil_that_needs_a_proof_is_replaced_only_if_it_has_come) {
  const io::TimePoint read_at{std::chrono::hours(1)};
  for (const bool is_proven : {true, false}) {
    const std::string sent =
        expect_same_at_every_split("$-1\r\n$1\r\nv\r\n+2\r\n", [&](Pieces pieces) {
          Chain chain;
          if (is_proven) {
            chain.proven = {"a", "b"};
          }
          for (const char* const name : {"a", "b"}) {
            guard::AbsentKey key = string_read(name, kStar);
            key.read_at = read_at;
            chain.order.expect_absent_key_reply(key);
          }
          chain.order.expect_reply();
          return chain.relay(pieces);
        });
    EXPECT_EQ(sent, (is_proven ? std::string(kStar) : "$-1\r\n") + "$1\r\nv\r\n+2\r\n");
  }
}

TEST(ReplyOrderAbsentKeys, without_a_replacement_a_nil_is_relayed_and_told) {
  const Told seen = told("$-1\r\n+1\r\n", [](ReplyOrder& order) {
    order.expect_absent_key_reply(string_read("a"));
    order.expect_reply();
  });
  EXPECT_EQ(seen.sent, "$-1\r\n+1\r\n");
  EXPECT_THAT(seen.heard, ElementsAre("a=$-1\r\n"));
}

TEST(ReplyOrderAbsentKeys, a_value_is_relayed_as_it_is_and_told_up_to_what_is_compared) {
  for (const std::string_view replacement : {std::string_view{}, kStar}) {
    const Told seen =
        told("$1\r\n*\r\n$0\r\n\r\n$12\r\nhello, world\r\n+1\r\n", [&](ReplyOrder& order) {
          order.expect_absent_key_reply(string_read("own", replacement));
          order.expect_absent_key_reply(string_read("empty", replacement));
          order.expect_absent_key_reply(string_read("long", replacement));
          order.expect_reply();
        });
    EXPECT_EQ(seen.sent, "$1\r\n*\r\n$0\r\n\r\n$12\r\nhello, world\r\n+1\r\n");
    EXPECT_THAT(seen.heard,
                ElementsAre("own=$1\r\n*\r\n", "empty=$0\r\n\r\n", "long=$12\r\nhe..."));
  }
}

TEST(ReplyOrderAbsentKeys, an_error_is_relayed_and_told_as_one) {
  const std::string errors = "-NOPERM no\r\n!5\r\nERR x\r\n";
  const Told seen = told(errors, [](ReplyOrder& order) {
    order.expect_absent_key_reply(string_read("a", kStar));
    order.expect_absent_key_reply(string_read("b", kStar));
  });
  EXPECT_EQ(seen.sent, errors);
  EXPECT_THAT(seen.heard, ElementsAre("a!", "b!"));
}

TEST(ReplyOrderAbsentKeys, a_push_before_the_reply_is_neither_replaced_nor_told) {
  const std::string push = ">2\r\n+invalidate\r\n_\r\n";
  const Told seen = told(push + "_\r\n" + push, [](ReplyOrder& order) {
    order.expect_absent_key_reply(string_read("a", kStar, "_\r\n"));
  });
  EXPECT_EQ(seen.sent, push + std::string(kStar) + push);
  EXPECT_THAT(seen.heard, ElementsAre("a=_\r\n"));
}

TEST(ReplyOrderAbsentKeys, replies_that_are_no_strings_are_told_whole_if_they_are_short) {
  const Told seen = told(":1\r\n*2\r\n$1\r\na\r\n$1\r\nb\r\n", [](ReplyOrder& order) {
    order.expect_absent_key_reply({.key = "exists", .missing = ":0\r\n", .kept_bytes = 4});
    order.expect_absent_key_reply({.key = "lrange", .missing = "*0\r\n", .kept_bytes = 4});
  });
  EXPECT_THAT(seen.heard, ElementsAre("exists=:1\r\n", "lrange=*2\r\n..."));
}

// Only a byte that could begin a nil is held back, and nothing of the value is kept but its
// beginning.
TEST(ReplyOrderAbsentKeys, a_large_value_leaves_as_it_comes) {
  Chain chain;
  chain.order.expect_absent_key_reply(string_read("a", kStar));
  EXPECT_TRUE(chain.order.relay("$"));
  EXPECT_EQ(chain.sent(), "");
  EXPECT_TRUE(chain.order.relay("9"));
  EXPECT_EQ(chain.sent(), "$9");
  EXPECT_TRUE(chain.order.relay("000000\r\n"));
  EXPECT_EQ(chain.sent(), "$9000000\r\n");
  const std::string piece(100'000, 'x');
  for (int i = 0; i < 90; ++i) {
    chain.output.clear();
    EXPECT_TRUE(chain.order.relay(piece));
    EXPECT_EQ(chain.output.size(), piece.size());
  }
  EXPECT_THAT(chain.compared, IsEmpty());
  EXPECT_TRUE(chain.order.relay("\r\n"));
  EXPECT_THAT(chain.compared, ElementsAre("a=$900000..."));
}

TEST(ReplyOrderAbsentKeys, elements_of_a_merged_array_are_compared_in_their_places) {
  auto first = string_read("b", kStar);
  auto second = string_read("d");
  first.element = 1;
  second.element = 3;
  const std::array<guard::AbsentKey, 2> absent{first, second};
  const auto expect = [&](ReplyOrder& order) {
    order.expect_merged_reply(
        std::array<Element, 4>{kNilReply, std::nullopt, std::nullopt, std::nullopt}, absent);
    order.expect_reply();
  };
  const Told seen = told("*3\r\n$-1\r\n$-1\r\n$3\r\nabc\r\n+1\r\n", expect);
  EXPECT_EQ(seen.sent, "*4\r\n$-1\r\n$1\r\n*\r\n$-1\r\n$3\r\nabc\r\n+1\r\n");
  EXPECT_THAT(seen.heard, ElementsAre("b=$-1\r\n", "d=$3\r\nabc..."));
  const Told refused = told("-NOPERM no\r\n+1\r\n", expect);
  EXPECT_EQ(refused.sent, "-NOPERM no\r\n+1\r\n");
  EXPECT_THAT(refused.heard, ElementsAre("b!", "d!"));
}

TEST(ReplyOrderAbsentKeys, keys_that_are_kept_count_as_waiting_until_their_replies_have_come) {
  Chain chain;
  const std::string key(1000, 'k');
  for (int i = 0; i < 20; ++i) {
    chain.order.expect_absent_key_reply(string_read(key));
  }
  EXPECT_GT(chain.order.waiting_bytes(), 20'000U);
  EXPECT_EQ(chain.order.entries(), 20U);
  for (int i = 0; i < 20; ++i) {
    EXPECT_TRUE(chain.order.is_waiting());
    EXPECT_TRUE(chain.order.relay("$-1\r\n"));
  }
  EXPECT_EQ(chain.order.waiting_bytes(), 0U);
  EXPECT_EQ(chain.order.entries(), 0U);
  EXPECT_FALSE(chain.order.is_waiting());
}

TEST(ReplyOrderAbsentKeys, a_pipeline_that_never_pauses_does_not_grow_it) {
  Chain chain;
  chain.order.expect_absent_key_reply(string_read("a", kStar));
  for (int i = 0; i < 5000; ++i) {
    chain.order.expect_absent_key_reply(string_read("a", kStar));
    ASSERT_TRUE(chain.order.relay("$-1\r\n"));
    ASSERT_LE(chain.order.entries(), 1U);
    ASSERT_LE(chain.order.waiting_bytes(), 500U);
    chain.output.clear();
    chain.compared.clear();
  }
}

}  // namespace
}  // namespace cuckooguard::proxy
