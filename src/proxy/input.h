// What a client has sent and nobody has taken yet: a part of a command, between two reads; or one
// that is held, and all behind it.
//
//   client ──read──▶ [ kept | just read ] ──scan──▶ commands      what is left is kept
//                      └ Redis may have its front already: is_ahead()
//
// Ahead: of a command that has not come to its end a part is sent to Redis, for it to refuse. When
// the end has come it is taken like any other, but only the rest of it is sent.
//
// Threads: its worker's. Limits: none of its own (proxy/session.h); while nothing is kept nothing
// is allocated.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "resp/request_scanner.h"

namespace cuckooguard::proxy {

class Input {
 public:
  resp::RequestScanner& scanner() { return scanner_; }
  bool is_between_commands() const { return kept_.empty() && scanner_.at_command_boundary(); }

  std::size_t size() const { return kept_.size(); }
  // To the front of `buffer`; it stays kept. Its size.
  std::size_t copy_to(std::span<char> buffer) const {
    return kept_.copy(buffer.data(), buffer.size());
  }
  std::string take() { return std::exchange(kept_, {}); }
  void give_back(std::string bytes) { kept_ = std::move(bytes); }
  // Instead of what was kept, of which they are no part.
  void keep(std::string_view bytes) {
    if (bytes.empty()) {
      std::string().swap(kept_);
    } else {
      kept_.assign(bytes);
    }
  }
  void append(std::string_view bytes) { kept_.append(bytes); }

  bool is_ahead() const { return ahead_ > 0; }
  // Redis has got the first `size` of the bytes at hand.
  void set_ahead(std::size_t size) { ahead_ = size; }
  // What Redis has not got of the first bytes at hand, which are taken.
  std::string_view unsent(std::string_view raw) {
    const std::size_t sent = std::min(ahead_, raw.size());
    ahead_ -= sent;
    raw.remove_prefix(sent);
    return raw;
  }

 private:
  resp::RequestScanner scanner_;
  std::string kept_;
  std::size_t ahead_ = 0;  // of the bytes at hand, at their front
};

}  // namespace cuckooguard::proxy
