#include "fleet/questions.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "fleet/signature.h"

namespace cuckooguard::fleet {
namespace {

std::vector<Question> questions(std::size_t count) {
  std::vector<Question> all;
  for (std::size_t i = 0; i < count; ++i) {
    all.push_back({.name = "pod-" + std::to_string(i),
                   .nonce = hash_of(std::to_string(i)).substr(0, kNonceBytes)});
  }
  return all;
}

TEST(Questions, each_is_answered_by_its_own_path_and_by_no_other) {
  for (const std::size_t count : {1U, 2U, 3U, 5U, 8U, 33U}) {
    const std::vector<Question> all = questions(count);
    const Answers answers = answers_to(all);
    for (std::size_t i = 0; i < count; ++i) {
      for (std::size_t path = 0; path < count; ++path) {
        EXPECT_EQ(is_answered(all[i], answers.paths[path], answers.root), i == path)
            << i << " by " << path << " of " << count;
      }
    }
  }
}

TEST(Questions, nobody_answers_nobody) {
  EXPECT_EQ(answers_to({}).root, "");
  EXPECT_FALSE(is_answered(questions(1)[0], std::string(1, '\0'), ""));
}

TEST(Questions, are_not_answered_for_another_name_or_nonce) {
  const std::vector<Question> all = questions(4);
  const Answers answers = answers_to(all);
  Question other = all[2];
  other.name = all[1].name;
  EXPECT_FALSE(is_answered(other, answers.paths[2], answers.root));
  other = all[2];
  other.nonce[0] ^= 1;
  EXPECT_FALSE(is_answered(other, answers.paths[2], answers.root));
}

TEST(Questions, are_not_answered_by_a_path_that_is_cut_or_has_more) {
  const std::vector<Question> all = questions(5);
  const Answers answers = answers_to(all);
  const std::string& path = answers.paths[3];
  for (std::size_t bytes = 0; bytes < path.size(); ++bytes) {
    EXPECT_FALSE(is_answered(all[3], path.substr(0, bytes), answers.root)) << bytes;
  }
  EXPECT_FALSE(is_answered(all[3], path + "x", answers.root));
  EXPECT_FALSE(is_answered(all[3], std::string(1, '\xff') + path, answers.root));
}

// What an inner node is made of is no question.
TEST(Questions, a_node_does_not_pass_for_a_leaf) {
  const std::vector<Question> all = questions(2);
  const Answers answers = answers_to(all);
  const std::string left = answers.paths[1].substr(2);
  const std::string right = answers.paths[0].substr(2);
  const Question made{.name = (left + right).substr(kNonceBytes),
                      .nonce = (left + right).substr(0, kNonceBytes)};
  EXPECT_FALSE(is_answered(made, std::string(1, '\0'), answers.root));
}

TEST(OwnQuestions, an_answer_says_when_it_was_asked_and_ends_those_before_it) {
  OwnQuestions own("pod-1");
  const TimePoint begin{};
  const Question first = own.ask(std::string(kNonceBytes, 'a'), begin + std::chrono::seconds(1));
  const Question second = own.ask(std::string(kNonceBytes, 'b'), begin + std::chrono::seconds(2));
  const std::vector<Question> all{first, second};
  const Answers answers = answers_to(all);
  EXPECT_EQ(own.answered(second.nonce, answers.paths[1], answers.root),
            begin + std::chrono::seconds(2));
  EXPECT_EQ(own.answered(second.nonce, answers.paths[1], answers.root), std::nullopt) << "twice";
  EXPECT_EQ(own.answered(first.nonce, answers.paths[0], answers.root), std::nullopt) << "older";
}

TEST(OwnQuestions, only_so_many_are_open) {
  OwnQuestions own("pod-1");
  std::vector<Question> all;
  for (std::size_t i = 0; i <= OwnQuestions::kOpenMax; ++i) {
    all.push_back(own.ask(hash_of(std::to_string(i)).substr(0, kNonceBytes), TimePoint{}));
  }
  const Answers answers = answers_to(all);
  EXPECT_EQ(own.answered(all[0].nonce, answers.paths[0], answers.root), std::nullopt);
  EXPECT_TRUE(own.answered(all[1].nonce, answers.paths[1], answers.root));
}

}  // namespace
}  // namespace cuckooguard::fleet
