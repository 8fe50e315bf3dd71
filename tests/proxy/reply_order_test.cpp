#include "proxy/reply_order.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "redis/facts.h"
#include "reply_chain.h"

namespace cuckooguard::proxy {
namespace {

using Element = std::optional<std::string_view>;

TEST(ReplyOrder, relays_replies_as_they_are) {
  const std::string bytes = "+OK\r\n$5\r\nhello\r\n*2\r\n:1\r\n*1\r\n+x\r\n-ERR no\r\n$-1\r\n";
  EXPECT_EQ(relayed(bytes,
                    [](ReplyOrder& order) {
                      for (int i = 0; i < 5; ++i) {
                        order.expect_reply();
                      }
                    }),
            bytes);
}

TEST(ReplyOrder, an_answer_with_nothing_before_it_leaves_at_once) {
  Chain chain;
  chain.order.answer(kNilReply);
  EXPECT_EQ(chain.sent(), kNilReply);
  EXPECT_FALSE(chain.order.is_waiting());
}

TEST(ReplyOrder, an_answer_waits_for_every_reply_before_it_and_for_none_behind) {
  EXPECT_EQ(relayed("+1\r\n+2\r\n+3\r\n",
                    [](ReplyOrder& order) {
                      order.expect_reply();
                      order.expect_reply();
                      order.answer(kNilReply);
                      order.answer(":0\r\n");
                      order.expect_reply();
                      order.answer("$1\r\n*\r\n");
                    }),
            "+1\r\n+2\r\n$-1\r\n:0\r\n+3\r\n$1\r\n*\r\n");
}

TEST(ReplyOrder, an_answer_does_not_cut_into_a_reply_in_progress) {
  Chain chain;
  chain.order.expect_reply();
  EXPECT_TRUE(chain.order.relay("$5\r\nhe"));
  chain.order.answer(kNilReply);
  EXPECT_EQ(chain.sent(), "$5\r\nhe");
  EXPECT_TRUE(chain.order.relay("llo\r\n"));
  EXPECT_EQ(chain.sent(), "$5\r\nhello\r\n$-1\r\n");
}

TEST(ReplyOrder, an_answer_does_not_cut_into_a_push_that_nobody_asked_for) {
  Chain chain;
  EXPECT_TRUE(chain.order.relay(">2\r\n+invalidate\r\n"));
  chain.order.answer("_\r\n");
  EXPECT_EQ(chain.sent(), ">2\r\n+invalidate\r\n");
  EXPECT_TRUE(chain.order.relay("+x\r\n"));
  EXPECT_EQ(chain.sent(), ">2\r\n+invalidate\r\n+x\r\n_\r\n");
}

TEST(ReplyOrder, a_push_takes_no_place_in_the_order) {
  EXPECT_EQ(relayed(">1\r\n+p\r\n+1\r\n>1\r\n+q\r\n+2\r\n",
                    [](ReplyOrder& order) {
                      order.expect_reply();
                      order.answer("_\r\n");
                      order.expect_reply();
                    }),
            ">1\r\n+p\r\n+1\r\n_\r\n>1\r\n+q\r\n+2\r\n");
}

TEST(ReplyOrder, what_redis_says_unasked_is_relayed) {
  EXPECT_EQ(relayed("-ERR max number of clients reached\r\n", [](ReplyOrder&) {}),
            "-ERR max number of clients reached\r\n");
}

TEST(ReplyOrder, absent_elements_take_their_places_among_redis_own) {
  const auto expect = [](ReplyOrder& order) {
    order.expect_reply();
    order.expect_merged_reply(
        std::array<Element, 5>{kNilReply, std::nullopt, kNilReply, kNilReply, std::nullopt});
    order.expect_reply();
  };
  EXPECT_EQ(relayed("+1\r\n*2\r\n$1\r\na\r\n$-1\r\n+2\r\n", expect),
            "+1\r\n*5\r\n$-1\r\n$1\r\na\r\n$-1\r\n$-1\r\n$-1\r\n+2\r\n");
}

TEST(ReplyOrder, an_absent_element_at_the_end_leaves_with_the_last_one_of_redis) {
  EXPECT_EQ(relayed("*1\r\n$1\r\na\r\n",
                    [](ReplyOrder& order) {
                      order.expect_merged_reply(std::array<Element, 2>{std::nullopt, kNilReply});
                    }),
            "*2\r\n$1\r\na\r\n$-1\r\n");
}

TEST(ReplyOrder, an_error_in_place_of_the_array_is_the_whole_reply) {
  for (const std::string refusal : {"-NOPERM no\r\n", "!5\r\nERR x\r\n", "$-1\r\n"}) {
    EXPECT_EQ(relayed("+1\r\n" + refusal + "+2\r\n*1\r\n+b\r\n",
                      [](ReplyOrder& order) {
                        order.expect_reply();
                        order.expect_merged_reply(std::array<Element, 4>{
                            kNilReply, std::nullopt, kNilReply, std::nullopt});
                        order.answer(":7\r\n");
                        order.expect_reply();
                        order.expect_merged_reply(std::array<Element, 2>{std::nullopt, ":9\r\n"});
                      }),
              "+1\r\n" + refusal + ":7\r\n+2\r\n*2\r\n+b\r\n:9\r\n");
  }
}

TEST(ReplyOrder, a_push_before_a_merged_array_is_relayed_before_it) {
  EXPECT_EQ(relayed(">2\r\n+p\r\n+q\r\n*1\r\n$1\r\na\r\n",
                    [](ReplyOrder& order) {
                      order.expect_merged_reply(std::array<Element, 2>{"_\r\n", std::nullopt});
                    }),
            ">2\r\n+p\r\n+q\r\n*2\r\n_\r\n$1\r\na\r\n");
}

TEST(ReplyOrder, an_array_of_another_length_than_asked_for_fits_nobody) {
  for (const char* const wrong :
       {"*2\r\n+a\r\n+b\r\n", "*0\r\n", "*-1\r\n", "*x\r\n", "*1\n+a\r\n"}) {
    EXPECT_TRUE(relayed(wrong,
                        [](ReplyOrder& order) {
                          order.expect_merged_reply(
                              std::array<Element, 2>{std::nullopt, kNilReply});
                        })
                    .ends_with("MALFORMED"))
        << wrong;
  }
  EXPECT_EQ(relayed("*11111111111111111111111111111111",
                    [](ReplyOrder& order) {
                      order.expect_merged_reply(std::array<Element, 2>{std::nullopt, kNilReply});
                    }),
            " MALFORMED");
}

TEST(ReplyOrder, what_is_no_resp_is_said_so_and_what_came_before_is_relayed) {
  EXPECT_EQ(relayed("+1\r\nhello", [](ReplyOrder& order) { order.expect_reply(); }),
            "+1\r\n MALFORMED");
}

TEST(ReplyOrder, the_state_hears_the_outcome_of_each_observed_reply_in_order) {
  for (const bool accepted : {true, false}) {
    const std::string bytes = accepted ? "+OK\r\n+OK\r\n+x\r\n" : "-ERR\r\n+OK\r\n+x\r\n";
    expect_same_at_every_split(bytes, [&](Pieces pieces) {
      Chain chain;
      const redis::StateChange first{.kind = redis::ChangeKind::select, .db = 7};
      const redis::StateChange second = hello3();
      chain.state.sent(first);
      chain.order.expect_observed_reply(first);
      chain.state.sent(second);
      chain.order.expect_observed_reply(second);
      chain.order.expect_reply();
      const std::string sent = chain.relay(pieces);
      EXPECT_TRUE(chain.state.is_settled());
      EXPECT_EQ(chain.state.db(), accepted ? 7 : 0);
      EXPECT_EQ(chain.state.version(), resp::Version::resp3);
      return sent;
    });
  }
}

TEST(ReplyOrder, an_observed_reply_is_settled_by_its_last_byte_and_not_by_its_first) {
  Chain chain;
  chain.state.sent(hello3());
  chain.order.expect_observed_reply(hello3());
  EXPECT_TRUE(chain.order.relay("%1\r\n+server\r\n+red"));
  EXPECT_FALSE(chain.state.is_settled());
  EXPECT_TRUE(chain.order.relay("is\r\n"));
  EXPECT_TRUE(chain.state.is_settled());
}

TEST(ReplyOrder,
     an_exec_that_is_aborted_or_led_elsewhere_has_ended_multi_and_a_refused_one_has_not) {
  const redis::StateChange multi{.kind = redis::ChangeKind::multi};
  const redis::StateChange exec{.kind = redis::ChangeKind::end_multi};
  for (const auto& [error, is_settled] : {std::pair{"-EXECABORT Transaction discarded\r\n", true},
                                          std::pair{"-MOVED 1 10.0.0.1:6379\r\n", true},
                                          std::pair{"-ASK 1 10.0.0.1:6379\r\n", true},
                                          std::pair{"-TRYAGAIN Multiple keys\r\n", true},
                                          std::pair{"-CLUSTERDOWN Hash slot\r\n", true},
                                          std::pair{"-CROSSSLOT Keys in\r\n", true},
                                          std::pair{"-REDIRECT 10.0.0.1:6379\r\n", true},
                                          std::pair{"-ERR wrong number of arguments\r\n", false}}) {
    Chain chain;
    chain.state.sent(multi);
    chain.order.expect_observed_reply(multi);
    chain.state.sent(exec);
    chain.order.expect_observed_reply(exec);
    EXPECT_TRUE(chain.order.relay("+OK\r\n"));
    EXPECT_TRUE(chain.order.relay(error));
    EXPECT_EQ(chain.state.is_settled(), is_settled) << error;
  }
}

TEST(ReplyOrder, an_exec_whose_reply_has_begun_has_changed_what_holds_for_all) {
  redis::Facts facts;
  facts.publish_users(facts.epoch(), {.unrestricted = {"default"}});
  Chain chain;
  chain.state.tell(facts);
  for (const redis::StateChange& change :
       {redis::StateChange{.kind = redis::ChangeKind::multi},
        redis::StateChange{.kind = redis::ChangeKind::server, .for_all_clients = true},
        redis::StateChange{.kind = redis::ChangeKind::end_multi}}) {
    chain.state.sent(change);
    chain.order.expect_observed_reply(change);
  }
  EXPECT_TRUE(chain.order.relay("+OK\r\n+QUEUED\r\n"));
  EXPECT_FALSE(facts.snapshot()->users->unrestricted.empty());
  EXPECT_TRUE(chain.order.relay("*2\r\n+OK\r\n$5\r\nhe"));
  EXPECT_TRUE(facts.snapshot()->users->unrestricted.empty()) << "its OK has left";
}

TEST(ReplyOrder, a_push_is_not_the_reply_that_is_observed) {
  Chain chain;
  chain.state.sent(hello3());
  chain.order.expect_observed_reply(hello3());
  EXPECT_TRUE(chain.order.relay(">1\r\n+p\r\n"));
  EXPECT_FALSE(chain.state.is_settled());
}

TEST(ReplyOrder, the_beginning_of_every_error_is_heard) {
  const std::string long_error =
      "-BUSY Redis is busy running a script. You can only call SCRIPT KILL.\r\n";
  expect_same_at_every_split(long_error + "+OK\r\n$6\r\n-LOAD\n\r\n-NO\r\n", [&](Pieces pieces) {
    Chain chain;
    for (int reply = 0; reply < 4; ++reply) {
      chain.order.expect_reply();
    }
    const std::string sent = chain.relay(pieces);
    EXPECT_EQ(chain.errors,
              (std::vector<std::string>{long_error.substr(0, redis::kPubSubHeadBytes), "-NO\r\n"}));
    return sent;
  });
}

TEST(ReplyOrder, a_reply_to_a_client_that_wants_none_ends_reading_of_replies) {
  Chain chain;
  chain.state.set_reply_mode(redis::ReplyMode::off);
  EXPECT_TRUE(chain.order.relay("-NOPERM no CLIENT for you\r\n"));
  EXPECT_TRUE(chain.state.has_unread_replies());
}

TEST(ReplyOrder, after_anything_is_expected_bytes_are_relayed_unread_but_not_before) {
  EXPECT_EQ(relayed("+1\r\n+2\r\nno resp at all\r\n\r\n",
                    [](ReplyOrder& order) {
                      order.expect_reply();
                      order.answer(kNilReply);
                      order.expect_reply();
                      order.expect_anything();
                      order.expect_anything();
                    }),
            "+1\r\n$-1\r\n+2\r\nno resp at all\r\n\r\n");
}

TEST(ReplyOrder, is_waiting_until_redis_owes_nothing_any_more) {
  Chain chain;
  chain.order.expect_reply();
  EXPECT_TRUE(chain.order.is_waiting());
  chain.order.answer(kNilReply);
  chain.order.expect_merged_reply(std::array<Element, 2>{std::nullopt, kNilReply});
  EXPECT_TRUE(chain.order.relay("+1\r\n*1\r\n"));
  EXPECT_TRUE(chain.order.is_waiting());
  EXPECT_TRUE(chain.order.relay("+a\r\n"));
  EXPECT_FALSE(chain.order.is_waiting());
}

TEST(ReplyOrder, a_long_run_of_relayed_replies_is_a_number_and_not_a_list) {
  Chain chain;
  chain.order.answer(kNilReply);
  for (int i = 0; i < 10'000; ++i) {
    chain.order.expect_reply();
  }
  EXPECT_EQ(chain.order.entries(), 0U);
  chain.order.answer(kNilReply);
  for (int i = 0; i < 10'000; ++i) {
    chain.order.expect_reply();
  }
  EXPECT_EQ(chain.order.entries(), 2U);
}

TEST(ReplyOrder, answers_that_wait_are_counted_in_bytes_and_given_back_as_they_leave) {
  Chain chain;
  chain.order.expect_reply();
  const std::string answer(1000, 'x');
  for (int i = 0; i < 50; ++i) {
    chain.order.answer(answer);
  }
  EXPECT_EQ(chain.order.waiting_bytes(), 50'000U);
  EXPECT_TRUE(chain.order.relay("+1\r\n"));
  EXPECT_EQ(chain.order.waiting_bytes(), 0U);
  EXPECT_EQ(chain.order.entries(), 0U);
}

TEST(ReplyOrder, a_pipeline_that_never_pauses_does_not_grow_it) {
  Chain chain;
  chain.order.expect_reply();
  for (int i = 0; i < 5000; ++i) {
    chain.order.answer(kNilReply);
    chain.order.expect_reply();
    ASSERT_TRUE(chain.order.relay("+1\r\n"));
    ASSERT_LE(chain.order.entries(), 3U);
    ASSERT_LE(chain.order.waiting_bytes(), 10U);
    chain.output.clear();
  }
}

}  // namespace
}  // namespace cuckooguard::proxy
