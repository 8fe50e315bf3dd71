// What a ReplyFramer makes of an input that arrives in pieces, in a form that does not depend on
// the pieces. Checks on the way what holds for every input.
//
// No GoogleTest in here: the fuzzer uses it too.
#pragma once

#include <cstddef>
#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "resp/reply_framer.h"

namespace cuckooguard::resp {

struct FramedReply {
  std::string bytes;
  char type = '\0';
  bool is_null = false;
  bool ended = false;
  bool operator==(const FramedReply&) const = default;
};

struct FrameTranscript {
  std::vector<FramedReply> replies;
  bool malformed = false;
  std::size_t unconsumed = 0;
  std::string broken_promise;  // empty if none was
  bool operator==(const FrameTranscript&) const = default;
};

inline std::ostream& operator<<(std::ostream& out, const FrameTranscript& transcript) {
  constexpr std::size_t kShown = 60;
  for (const FramedReply& reply : transcript.replies) {
    out << "\n  type '" << reply.type << "'" << (reply.is_null ? " null" : "")
        << (reply.ended ? "" : " not ended") << ", " << reply.bytes.size() << " bytes: ["
        << reply.bytes.substr(0, kShown) << "]";
  }
  return out << "\n  " << (transcript.malformed ? "malformed, " : "") << "unconsumed "
             << transcript.unconsumed << ", broken promise \"" << transcript.broken_promise << "\"";
}

class FrameRecorder {
 public:
  std::size_t feed(std::string_view input) {
    std::size_t consumed = 0;
    while (consumed < input.size() && usable()) {
      const std::string_view rest = input.substr(consumed);
      const bool at_boundary = framer_.at_reply_boundary();
      ReplyFramer quick = framer_;
      const ReplyFramer::Plain plain = quick.take_plain(rest, 1);
      const ReplyFramer::Piece piece = framer_.next(rest);
      demand(piece.bytes <= rest.size(), "consumed more than there is");
      demand(piece.begins == at_boundary, "a reply begins where one ended");
      demand(piece.bytes == rest.size() || piece.ends || piece.malformed, "all bytes are taken");
      demand(!(piece.ends && piece.malformed), "malformed replies do not end");
      demand(piece.ends == framer_.at_reply_boundary(), "boundaries are known");
      demand(plain.count == 0 ||
                 (piece.ends && piece.bytes == plain.bytes && plain.longest == plain.bytes &&
                  quick.type() == framer_.type() && quick.is_null() == framer_.is_null()),
             "what is taken quickly is a whole reply");
      demand(plain.count == 0 || std::string_view("$+:_").contains(framer_.type()),
             "no error is taken quickly");
      if (!transcript_.broken_promise.empty()) {
        break;
      }
      record(piece, rest.substr(0, piece.bytes));
      consumed += piece.bytes;
    }
    return consumed;
  }

  bool usable() const { return !transcript_.malformed && transcript_.broken_promise.empty(); }
  FrameTranscript& transcript() { return transcript_; }

 private:
  void demand(bool holds, const char* promise) {
    if (!holds && transcript_.broken_promise.empty()) {
      transcript_.broken_promise = promise;
    }
  }

  void record(const ReplyFramer::Piece& piece, std::string_view bytes) {
    if (piece.begins) {
      transcript_.replies.emplace_back();
    }
    FramedReply& reply = transcript_.replies.back();
    reply.bytes += bytes;
    demand(reply.type == '\0' || reply.type == framer_.type(), "a known type stays");
    reply.type = framer_.type();
    reply.is_null = framer_.is_null();
    reply.ended = piece.ends;
    demand(!piece.ends || reply.type != '\0', "an ended reply has a type");
    if (piece.malformed) {
      transcript_.malformed = true;
      const ReplyFramer::Piece again = framer_.next("+OK\r\n");
      demand(again.malformed && again.bytes == 0 && !again.ends, "malformed is for good");
    }
  }

  ReplyFramer framer_;
  FrameTranscript transcript_;
};

// Each piece is moved to memory of exactly its size, so that the address sanitizer sees a read
// beyond it.
inline FrameTranscript frame_pieces(std::span<const std::string_view> pieces) {
  FrameRecorder recorder;
  std::size_t unconsumed = 0;
  for (const std::string_view piece : pieces) {
    const std::vector<char> moved(piece.begin(), piece.end());
    unconsumed += piece.size() - recorder.feed({moved.data(), moved.size()});
  }
  recorder.transcript().unconsumed = unconsumed;
  return recorder.transcript();
}

}  // namespace cuckooguard::resp
