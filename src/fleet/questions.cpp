#include "fleet/questions.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "fleet/signature.h"
#include "text/byte_cursor.h"

namespace cuckooguard::fleet {
namespace {

std::string leaf_of(const Question& question) {
  std::string bytes(1, '\0');
  bytes += question.nonce;
  bytes += question.name;
  return hash_of(bytes);
}

std::string node_of(std::string_view left, std::string_view right) {
  std::string bytes(1, '\1');
  bytes += left;
  bytes += right;
  return hash_of(bytes);
}

}  // namespace

Answers answers_to(std::span<const Question> questions) {
  Answers answers{.root = {}, .paths = std::vector<std::string>(questions.size())};
  std::vector<std::string> row;
  row.reserve(questions.size());
  std::ranges::transform(questions, std::back_inserter(row), leaf_of);
  std::vector<std::string> steps(questions.size());
  std::vector<std::size_t> depths(questions.size());
  for (std::size_t width = 1; row.size() > 1; width *= 2) {  // leaves below each of the row
    for (std::size_t i = 0; i < questions.size(); ++i) {
      const std::size_t place = i / width;
      const std::size_t neighbour = place ^ 1U;
      if (neighbour < row.size()) {
        steps[i].append(1, neighbour < place ? '\1' : '\0').append(row[neighbour]);
        ++depths[i];
      }
    }
    std::vector<std::string> above;
    for (std::size_t i = 0; i < row.size(); i += 2) {
      above.push_back(i + 1 < row.size() ? node_of(row[i], row[i + 1]) : std::move(row[i]));
    }
    row = std::move(above);
  }
  for (std::size_t i = 0; i < questions.size(); ++i) {
    answers.paths[i].append(1, static_cast<char>(depths[i])).append(steps[i]);
  }
  if (!row.empty()) {
    answers.root = std::move(row.front());
  }
  return answers;
}

bool is_answered(const Question& question, std::string_view path, std::string_view root) {
  text::ByteCursor cursor(path);
  const std::string_view depth = cursor.bytes(1);
  if (!cursor.ok() || static_cast<unsigned char>(depth.front()) > kDepthMax) {
    return false;
  }
  std::string reached = leaf_of(question);
  for (auto left = static_cast<unsigned char>(depth.front()); left > 0; --left) {
    const std::string_view side = cursor.bytes(1);
    const std::string_view neighbour = cursor.bytes(kHashBytes);
    if (!cursor.ok()) {
      return false;
    }
    reached = side.front() != 0 ? node_of(neighbour, reached) : node_of(reached, neighbour);
  }
  return cursor.at_end() && reached == root;
}

Question OwnQuestions::ask(std::string nonce, TimePoint at) {
  const std::scoped_lock lock(mutex_);
  if (open_.size() == kOpenMax) {
    open_.pop_front();
  }
  open_.push_back({.nonce = nonce, .at = at});
  return {.name = name_, .nonce = std::move(nonce)};
}

std::optional<TimePoint> OwnQuestions::answered(std::string_view nonce,
                                                std::string_view path,
                                                std::string_view root) {
  const std::scoped_lock lock(mutex_);
  const auto found = std::ranges::find(open_, nonce, &Open::nonce);
  if (found == open_.end() || !is_answered({.name = name_, .nonce = found->nonce}, path, root)) {
    return std::nullopt;
  }
  const TimePoint at = found->at;
  open_.erase(open_.begin(), std::next(found));
  return at;
}

}  // namespace cuckooguard::fleet
