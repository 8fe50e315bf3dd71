// Cuts the front of an SQL text into words, one at a time: comments and blanks go, quoted texts are
// words of their own.
//
// Threads: one. Lifetimes: words view the text.
// Errors: an unclosed quote or comment ends the text, as `malformed`.
// Source: MySQL's "Comments" and "String Literals" pages. Neither ANSI_QUOTES nor
//   NO_BACKSLASH_ESCAPES is known here, so the end of a quoted word is a guess; what follows one
//   may raise doubts, but must not be trusted.
#pragma once

#include <cstdint>
#include <string_view>

namespace cuckooguard::binlog {

class SqlWords {
 public:
  enum class Kind : std::uint8_t { word, quoted, symbol, end, malformed };
  struct Word {
    Kind kind = Kind::end;
    std::string_view text;  // of a quoted word, with its quotes
    bool in_version_comment = false;
    // Without regard to case; only for a plain word.
    bool is(std::string_view upper) const;
  };

  explicit SqlWords(std::string_view text) : text_(text) {}

  Word next();

  // Whether there was a version comment before the last word, perhaps with nothing in it but
  // digits.
  bool saw_version_comment() const { return saw_version_comment_; }

 private:
  bool skip_blanks();   // false: an unclosed comment
  bool skip_comment();  // the same; at a comment's first byte
  bool enter_version_comment();
  Word quoted(char quote);

  std::string_view text_;
  bool in_version_comment_ = false;
  bool saw_version_comment_ = false;
};

}  // namespace cuckooguard::binlog
