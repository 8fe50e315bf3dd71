// Where messages come from: channels, each of which keeps its order.
//
// Must: what read() gives of a channel is all that was ever put into it behind what it gave before,
// in order. Where that cannot be shown, because it was trimmed before it was read, lost with its
// server or set up anew, it is Batch::has_gap. `is_at_end`: nothing had been put behind it when it
// was asked, and that there is no gap was shown.
//
// Threads: the source's. Lifetimes: a batch views itself. Errors: a sentence; the channel is as
// before. Limits: kBytesWanted for a batch, or one message.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/core/noncopyable.hpp>

#include "debezium/message.h"
#include "resp/value.h"

namespace cuckooguard::source::stream {

struct Entry {
  debezium::Message message;
  std::string_view trouble{};  // it is no message, in words
};

struct Batch {
  std::vector<Entry> entries{};
  bool is_at_end = false;
  bool has_gap = false;    // everything that was read before counts no more
  bool is_whole = false;   // nothing had been taken out in front of what was read
  std::uint64_t left = 0;  // entries there were, at most
  resp::Value bytes{};     // what the entries view
};

class Reader : boost::noncopyable {
 public:
  static constexpr std::size_t kBytesWanted = std::size_t{4} << 20;

  virtual ~Reader() = default;

  virtual std::expected<Batch, std::string> read(std::size_t channel) = 0;
  // From its beginning.
  virtual void begin_anew(std::size_t channel) = 0;
  virtual std::size_t channels() const = 0;
};

}  // namespace cuckooguard::source::stream
