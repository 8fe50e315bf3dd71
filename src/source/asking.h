// How readers ask a source (filter/questions.h), and how often it lets itself be asked.
//
// Threads: begin() from the one that asks the database, the rest from any. Lifetimes: the questions
// outlive it; it is copied at will. Without questions nobody wants any.
#pragma once

#include <chrono>

#include "filter/questions.h"

namespace cuckooguard::source {

class Asking {
 public:
  Asking() = default;
  // `pace`: no question on demand is closer to the one before it.
  Asking(filter::Questions* questions, std::chrono::nanoseconds pace)
      : questions_(questions), pace_(pace) {}

  filter::Questions* questions() const { return questions_; }  // may be null
  std::chrono::nanoseconds pace() const { return pace_; }
  // Before the time of a question is read. True: a reader wants it.
  bool begin() const {
    if (questions_ == nullptr) {
      return false;
    }
    const bool is_wanted = questions_->is_wanted();
    questions_->begin();
    return is_wanted;
  }
  // For readers whose question has found no answer.
  void want() const {
    if (questions_ != nullptr) {
      questions_->want();
    }
  }
  // After feeds have been proven.
  void proven() const {
    if (questions_ != nullptr) {
      questions_->proven();
    }
  }
  bool must_serve_strict() const {
    return questions_ != nullptr && questions_->must_serve_strict();
  }
  void serves_strict(bool serves) const {
    if (questions_ != nullptr) {
      questions_->set_serves_strict(serves);
    }
  }
  void refuses_strict(bool refuses) const {
    if (questions_ != nullptr) {
      questions_->set_refuses_strict(refuses);
    }
  }

 private:
  filter::Questions* questions_ = nullptr;
  std::chrono::nanoseconds pace_{};
};

}  // namespace cuckooguard::source
