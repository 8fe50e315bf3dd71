// Where messages come from: streams of Redis or topics of Kafka, in channels, each of which keeps
// its order. A stream is one channel; a topic has as many as partitions.
//
// Must: what read() gives of a channel is all that was ever put into it behind what it gave before,
// in order. Where that cannot be shown, because it was trimmed before it was read, lost with its
// server or set up anew, it is Batch::has_gap. `is_at_end`: nothing had been put behind it when it
// was asked, and that there is no gap was shown.
//
// Threads: the source's. Lifetimes: a batch views what the reader keeps until the next read().
// Errors: a sentence; the channel is as before. Limits: kBytesWanted for a batch, or one message.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include <boost/core/noncopyable.hpp>

#include "debezium/message.h"

namespace cuckooguard::source::stream {

struct Entry {
  debezium::Message message;
  std::string_view trouble{};  // it is no message, in words
  std::string id{};            // in its channel, for words: an entry's id, an offset
};

struct Batch {
  std::vector<Entry> entries{};
  bool is_at_end = false;
  bool has_gap = false;    // everything that was read before counts no more
  bool is_whole = false;   // nothing had been taken out in front of what was read; of a compacted
                           // topic: but older messages of the same key
  std::uint64_t left = 0;  // entries there were, at most
};

class Reader : boost::noncopyable {
 public:
  static constexpr std::size_t kBytesWanted = std::size_t{4} << 20;
  // Numbers of the channels of each stream or topic, in the order in which the reader was told of
  // them.
  using Channels = std::vector<std::vector<std::size_t>>;

  virtual ~Reader() = default;

  // Asked in each round. If it is another one than before, all channels are read anew: a row's
  // changes may now be in another one.
  virtual std::expected<Channels, std::string> channels() = 0;
  // For so long nobody has asked whether there are others.
  virtual std::chrono::nanoseconds channels_age() const { return {}; }
  virtual std::expected<Batch, std::string> read(std::size_t channel) = 0;
  // From its beginning.
  virtual void begin_anew(std::size_t channel) = 0;

  // For a checkpoint, in one line: where the next read() goes on. False: it is no such place. That
  // it is gone by now, the next read() says.
  virtual std::string place(std::size_t channel) const = 0;
  virtual bool go_on_at(std::size_t channel, std::string_view place) = 0;

  // Sends Debezium a signal, as its documentation has key and value. An error: it may have been
  // sent all the same.
  virtual std::expected<void, std::string> signal(std::string_view /*key*/,
                                                  std::string_view /*value*/) {
    return std::unexpected("signals are not supported");
  }
};

}  // namespace cuckooguard::source::stream
