// JSON of a message, read in one pass: views, without copies but the one that puts the text into a
// buffer as simdjson needs it.
//
// simdjson's stage 1 finds where values, names and punctuation are, and checks UTF-8; the rest is a
// walk along those places. Its On Demand parser does the same, but with its iterators handed from
// one function to the next by way of memory the whole decoder took twice as long.
//
// Must: no byte outside the buffer is read, whatever the text is (tests/fuzz).
//
// Threads: one. Lifetimes: everything views the Document, until the next open().
// Errors: a Trouble. What is skipped is not checked: brackets are counted, not matched.
// Limits: the caller's; up to ten bytes for each of the text, given back by the next open() beyond
//   kKeptBytesMax. No recursion: nesting costs nothing.
// Source: RFC 8259; simdjson 3.0, internal::dom_parser_implementation::stage1.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <string>
#include <string_view>

#include "debezium/value_text.h"

namespace cuckooguard::debezium {

// What is wrong, in words without bytes of the document; null: nothing.
using Trouble = const char*;

inline constexpr Trouble kMalformed = "a message is not valid JSON";

// A member's name as it stands in the text, ended by a quote. Behind it there are kPaddingBytes at
// least.
using Name = const char*;

inline constexpr std::size_t kPaddingBytes = 64;

// Literals are shorter than the padding.
template <std::size_t N>
bool is(Name name, const char (&literal)[N]) {
  static_assert(N <= kPaddingBytes);
  return std::memcmp(name, literal, N - 1) == 0 && name[N - 1] == '"';
}

class Document {
 public:
  // Which of the places that stage 1 has found.
  using Index = std::uint32_t;

  Document();
  ~Document();
  Document(const Document&) = delete;
  Document& operator=(const Document&) = delete;
  Document(Document&&) noexcept;
  Document& operator=(Document&&) noexcept;

  // The root's place is 0.
  Trouble open(std::string_view text);
  bool is_end(Index place) const { return place == places_count_; }

  // The byte at which a place is: of a value its first. NUL: the end.
  char at(Index place) const { return buffer_[places_[place]]; }

  // Calls visit(name, value) of each member; it may set `value` behind the value, if it knows where
  // that is, and ends the walk by trouble. `object` is then behind the object.
  template <class Visit>
  Trouble for_each_member(Index& object, const Visit& visit) {
    if (at(object) != '{') {
      return kMalformed;
    }
    Index place = object + 1;
    if (at(place) == '}') {
      object = place + 1;
      return nullptr;
    }
    while (true) {
      if (at(place) != '"' || at(place + 1) != ':') {
        return kMalformed;
      }
      const Index value = place + 2;
      Index behind = value;
      if (const Trouble trouble = visit(&buffer_[places_[place] + 1], behind)) {
        return trouble;
      }
      if (behind == value && !skip(behind)) {
        return kMalformed;
      }
      if (at(behind) == '}') {
        object = behind + 1;
        return nullptr;
      }
      if (at(behind) != ',') {
        return kMalformed;
      }
      place = behind + 1;
    }
  }

  // The same of each element of an array, visit(value).
  template <class Visit>
  Trouble for_each_element(Index& array, const Visit& visit) {
    if (at(array) != '[') {
      return kMalformed;
    }
    Index place = array + 1;
    while (at(place) != ']') {
      const Index value = place;
      if (const Trouble trouble = visit(place)) {
        return trouble;
      }
      if (place == value && !skip(place)) {
        return kMalformed;
      }
      if (at(place) == ',' && at(place + 1) != ']') {
        ++place;
      } else if (at(place) != ']') {
        return kMalformed;
      }
    }
    array = place + 1;
    return nullptr;
  }

  // A scalar's text; of an object or an array only which of them it is; of a number only that it
  // begins like one.
  Trouble read(Index value, Json& json);
  // The same of the text alone, which is empty for null, and has a begin whatever it is. Written
  // where it stays: to copy what has just been written in halves costs more than to read it.
  Trouble read_text(Index value, std::string_view& text) {
    if (at(value) == '"') {
      return read_string(value, text);
    }
    Json json;
    const Trouble trouble = read(value, json);
    text = json.text.empty() ? std::string_view("") : json.text;
    return trouble;
  }

  // A value's own bytes.
  Trouble read_raw(Index value, std::string_view& text);

  // As it stands, with its escapes.
  std::string_view text_of(Name name) const;
  // How many bytes may be read from here.
  std::size_t left(Name name) const {
    return static_cast<std::size_t>(buffer_.get() + bytes_ + kPaddingBytes - name);
  }

 private:
  // How much deeper a byte leads.
  static constexpr std::array<std::int8_t, 256> kDeeper = [] {
    std::array<std::int8_t, 256> deeper{};
    deeper['{'] = deeper['['] = 1;
    deeper['}'] = deeper[']'] = -1;
    return deeper;
  }();

  // False: it does not end, or is none.
  bool skip(Index& value) const {
    const char first = at(value);
    if (first == '{' || first == '[') {
      int depth = 0;
      do {
        depth += kDeeper[static_cast<unsigned char>(at(value))];
        ++value;
      } while (depth != 0 && value < places_count_);
      return depth == 0;
    }
    ++value;
    return first != ',' && first != ':' && first != '}' && first != ']' && first != '\0';
  }
  // From a value's first byte to the next place, without the blanks before that.
  std::string_view token(Index value) const {
    std::string_view text(&buffer_[places_[value]], places_[value + 1] - places_[value]);
    while (!text.empty() && (text.back() == ' ' || text.back() == '\n' || text.back() == '\r' ||
                             text.back() == '\t')) {
      text.remove_suffix(1);
    }
    return text;
  }
  Trouble read_string(Index value, std::string_view& text) {
    const std::string_view quoted = token(value);
    if (quoted.size() < 2 || quoted.back() != '"') {
      return kMalformed;
    }
    text = {quoted.data() + 1, quoted.size() - 2};
    return has_escapes_ ? unescape(text) : nullptr;
  }
  // If there is anything to do.
  Trouble unescape(std::string_view& text);

  std::size_t bytes_ = 0;
  std::unique_ptr<char[]> buffer_;
  struct Stage1;  // json_document.cpp, where simdjson is
  std::unique_ptr<Stage1> stage_1_;
  const std::uint32_t* places_ = nullptr;
  Index places_count_ = 0;
  bool has_escapes_ = false;           // anywhere in the text
  std::deque<std::string> unescaped_;  // a deque, since views of its strings must stay
  std::size_t unescaped_count_ = 0;
};

}  // namespace cuckooguard::debezium
