#include "binlog/sql_words.h"

#include "text/ascii.h"

namespace cuckooguard::binlog {

namespace {

constexpr std::string_view kVersionComment = "/*!";
constexpr std::string_view kMariaDbComment = "/*M!";

bool is_blank(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

bool is_word_byte(char c) {
  return text::is_alphanumeric(c) || c == '_' || c == '$' || static_cast<unsigned char>(c) >= 0x80U;
}

}  // namespace

bool SqlWords::Word::is(std::string_view upper) const {
  return kind == Kind::word && std::ranges::equal(text, upper, {}, text::to_upper);
}

SqlWords::Word SqlWords::next() {
  if (!skip_blanks()) {
    return {.kind = Kind::malformed};
  }
  if (text_.empty()) {
    return {.kind = in_version_comment_ ? Kind::malformed : Kind::end};
  }
  const char first = text_.front();
  if (first == '\'' || first == '"' || first == '`') {
    return quoted(first);
  }
  const auto* const end = std::ranges::find_if_not(text_, is_word_byte);
  const auto bytes = std::max<std::size_t>(1, static_cast<std::size_t>(end - text_.begin()));
  const Word word{.kind = is_word_byte(first) ? Kind::word : Kind::symbol,
                  .text = text_.substr(0, bytes),
                  .in_version_comment = in_version_comment_};
  text_.remove_prefix(bytes);
  return word;
}

bool SqlWords::skip_blanks() {
  while (!text_.empty()) {
    if (is_blank(text_.front())) {
      text_.remove_prefix(1);
    } else if (in_version_comment_ && text_.starts_with("*/")) {
      text_.remove_prefix(2);
      in_version_comment_ = false;
    } else if (text_.starts_with("/*") || text_.front() == '#' || text_.starts_with("--")) {
      const std::string_view before = text_;
      if (!skip_comment()) {
        return false;
      }
      if (text_.size() == before.size()) {
        return true;  // "--" of an expression
      }
    } else {
      return true;
    }
  }
  return true;
}

bool SqlWords::skip_comment() {
  if (enter_version_comment()) {
    return true;
  }
  if (text_.starts_with("/*")) {
    const std::size_t end = text_.find("*/", 2);
    if (end == std::string_view::npos) {
      return false;
    }
    text_.remove_prefix(end + 2);
    return true;
  }
  if (text_.starts_with("--") && text_.size() > 2 && !is_blank(text_[2])) {
    return true;
  }
  const std::size_t end = text_.find('\n');
  text_.remove_prefix(end == std::string_view::npos ? text_.size() : end + 1);
  return true;
}

bool SqlWords::enter_version_comment() {
  for (const std::string_view opening : {kVersionComment, kMariaDbComment}) {
    if (text_.starts_with(opening)) {
      text_.remove_prefix(opening.size());
      while (!text_.empty() && text::is_digit(text_.front())) {
        text_.remove_prefix(1);
      }
      in_version_comment_ = true;
      saw_version_comment_ = true;
      return true;
    }
  }
  return false;
}

SqlWords::Word SqlWords::quoted(char quote) {
  for (std::size_t i = 1; i < text_.size(); ++i) {
    if (text_[i] == '\\' && quote != '`') {
      ++i;
    } else if (text_[i] == quote) {
      if (i + 1 < text_.size() && text_[i + 1] == quote) {
        ++i;
        continue;
      }
      const Word word{.kind = Kind::quoted,
                      .text = text_.substr(0, i + 1),
                      .in_version_comment = in_version_comment_};
      text_.remove_prefix(i + 1);
      return word;
    }
  }
  return {.kind = Kind::malformed};
}

}  // namespace cuckooguard::binlog
