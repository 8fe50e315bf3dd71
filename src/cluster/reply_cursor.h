// Goes through one whole reply, value by value: of an aggregate its header first, then what is in
// it.
//
// Threads: one. Lifetimes: views into the reply. Errors: nothing, at the end, for bytes that are no
//   RESP, and for what no reply of CLUSTER has: attributes, and aggregates of unknown length. The
//   cursor is to be set back then. Cost: linear; no recursion.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace cuckooguard::cluster {

class ReplyCursor {
 public:
  struct Item {
    char type = '\0';
    std::size_t begin = 0;      // of the whole value; of an aggregate, of its header
    std::size_t end = 0;        // behind its CRLF
    std::string_view text;      // a line's, or a string's
    std::size_t values = 0;     // that are in it; of a map keys and values
    bool is_aggregate = false;  // not a null one
    bool is_null = false;

    bool is_text() const { return type == '$' && !is_null; }
    bool is_list() const { return is_aggregate && type != '%'; }
  };

  explicit ReplyCursor(std::string_view reply) : reply_(reply) {}

  std::optional<Item> next();
  // A value with all that is in it. False as `next` gives nothing.
  bool skip();

  std::size_t at() const { return at_; }
  void set_back(std::size_t at) { at_ = at; }
  char peek() const { return at_ < reply_.size() ? reply_[at_] : '\0'; }

 private:
  std::optional<std::string_view> take_line();
  bool take_body(Item& item, std::string_view length);

  std::string_view reply_;
  std::size_t at_ = 0;
};

}  // namespace cuckooguard::cluster
