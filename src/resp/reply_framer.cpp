#include "resp/reply_framer.h"

#include <algorithm>
#include <cstring>

#include "resp/fast_line.h"
#include "resp/reply_shape.h"

namespace cuckooguard::resp {
namespace {

// Replies of the usual kinds that are all there, read the quick way: strings, short lines.

// Where the string at `at` ends, null if it is not all there.
inline const char* fast_text_end(const char* at, const char* end, bool& is_null) {
  constexpr std::string_view kNull = "$-1\r\n";
  std::uint32_t length = 0;
  const char* const text = read_fast_line(at, end, length);
  if (text == nullptr) {
    is_null = std::string_view(at, end).starts_with(kNull);
    return is_null ? at + kNull.size() : nullptr;
  }
  const bool is_there =
      end - text >= std::ptrdiff_t{length} + 2 && text[length] == '\r' && text[length + 1] == '\n';
  return is_there ? text + length + 2 : nullptr;
}

// Where the short line at `at` ends: most of them are shorter than what makes memchr worth its
// call.
inline const char* fast_line_end(const char* at, const char* end) {
  constexpr std::ptrdiff_t kBytesMax = 16;
  const char* const last = end - at > kBytesMax ? at + kBytesMax : end;
  for (++at; at != last; ++at) {
    if (*at == '\n') {
      return at[-1] == '\r' ? at + 1 : nullptr;
    }
  }
  return nullptr;
}

// Of either, or of what it is neither: null.
inline const char* fast_plain_end(const char* at, const char* end, bool& is_null) {
  switch (*at) {
    case '$':
      return fast_text_end(at, end, is_null);
    case '+':
    case ':':
    case '_':
      is_null = *at == '_';
      return fast_line_end(at, end);
    default:
      return nullptr;
  }
}

// More digits than any length has, and few enough for sums of lengths to stay within 64 bits.
constexpr std::uint8_t kLengthDigitsMax = 18;
constexpr std::uint64_t kNeededMax = std::uint64_t{1} << 62;

}  // namespace

ReplyFramer::Piece ReplyFramer::next(std::string_view input) {
  if (state_ == State::malformed) {
    return {.malformed = true};
  }
  if (input.empty()) {
    return {};
  }
  const bool begins = state_ == State::between;
  if (begins) {
    state_ = State::item;
    type_ = '\0';
    needed_ = 1;
  }
  const char* const end = input.data() + input.size();
  const char* at = input.data();
  do {
    if (state_ == State::item) {
      at = take_usual(at, end);
    }
    if (at != end && state_ != State::between) {
      at = step(at, end);
    }
  } while (at != end && state_ != State::between && state_ != State::malformed);
  return {.bytes = static_cast<std::size_t>(at - input.data()),
          .begins = begins,
          .ends = state_ == State::between,
          .malformed = state_ == State::malformed};
}

ReplyFramer::Plain ReplyFramer::take_plain(std::string_view input, std::uint64_t most) {
  Plain plain;
  if (state_ != State::between) {
    return plain;
  }
  const char* const end = input.data() + input.size();
  const char* at = input.data();
  while (plain.count < most && at != end) {
    const char type = *at;
    bool is_null = false;
    const char* const after = fast_plain_end(at, end, is_null);
    if (after == nullptr) {
      break;
    }
    plain.longest = std::max(plain.longest, static_cast<std::size_t>(after - at));
    ++plain.count;
    at = after;
    type_ = type;
    is_null_ = is_null;
  }
  plain.bytes = static_cast<std::size_t>(at - input.data());
  return plain;
}

// Of the values at the front, those of the usual kinds that are all there, without a state between
// their bytes. Returns where the careful way has to go on.
inline const char* ReplyFramer::take_usual(const char* at, const char* end) {
  const bool among_attributes = type_ == '\0' && needed_ != 1;
  if (among_attributes || depth_ != 0 || in_streamed_text_) {
    return at;
  }
  while (at != end && needed_ <= kNeededMax) {
    const char type = *at;
    std::uint32_t elements = 0;
    bool is_null = false;
    const char* const after =
        type == '*' ? read_fast_line(at, end, elements) : fast_plain_end(at, end, is_null);
    if (after == nullptr) {
      return at;
    }
    if (type_ == '\0') {
      type_ = type;
      is_null_ = is_null;
    }
    at = after;
    needed_ += elements;
    --needed_;
    if (needed_ == 0) {
      state_ = State::between;
      return at;
    }
  }
  return at;
}

// Each step takes at least one byte, or finds the one at `at` malformed, and returns where it got
// to.
inline const char* ReplyFramer::step(const char* at, const char* end) {
  switch (state_) {
    case State::item:
      return begin_item(at, end);
    case State::length:
      return take_length(at, end);
    case State::line:
      return take_line(at, end);
    case State::payload:
      return take_payload(at, end);
    case State::length_lf:
    case State::payload_cr:
    case State::payload_lf:
      return take_line_end(at);
    case State::between:
    case State::malformed:
      break;
  }
  return at;
}

inline const char* ReplyFramer::begin_item(const char* at, const char* end) {
  const Shape shape = shape_of(*at);
  const bool between_elements = depth_ != 0 && needed_ == 0;
  if (shape == Shape::unknown || (shape == Shape::text_part) != in_streamed_text_ ||
      (shape == Shape::elements_end && !between_elements)) {
    state_ = State::malformed;
    return at;
  }
  item_ = *at;
  if (between_elements && shape != Shape::elements_end) {
    needed_ = 1;
  }
  is_reply_ = false;
  if (type_ == '\0' && needed_ == 1 && depth_ == 0 && shape != Shape::attribute) {
    is_reply_ = true;
    type_ = item_;
    is_null_ = item_ == '_';
  }
  ++at;
  if (shape == Shape::line || shape == Shape::elements_end) {
    state_ = State::line;
    after_cr_ = false;
    return at != end ? take_line(at, end) : at;
  }
  state_ = State::length;
  length_ = 0;
  digits_ = 0;
  length_kind_ = LengthKind::counted;
  return at != end ? take_length(at, end) : at;
}

// Digits, or "-1", or "?", up to the CR.
inline const char* ReplyFramer::take_length(const char* at, const char* end) {
  for (; at != end; ++at) {
    if (*at == '\r' && (digits_ != 0 || length_kind_ == LengthKind::streamed)) {
      state_ = State::length_lf;
      ++at;
      return at != end ? take_line_end(at) : at;
    }
    if (!take_length_byte(*at)) {
      state_ = State::malformed;
      return at;
    }
  }
  return at;
}

// False where the byte cannot be part of a length.
inline bool ReplyFramer::take_length_byte(char byte) {
  const std::uint32_t digit = digit_of(byte);
  if (digit <= 9) {
    const bool leads_with_zero = digits_ == 1 && length_ == 0;
    const bool fits = length_kind_ == LengthKind::counted
                          ? digits_ < kLengthDigitsMax && !leads_with_zero
                          : length_kind_ == LengthKind::null && digits_ == 0 && digit == 1;
    length_ = length_ * 10 + digit;
    ++digits_;
    return fits;
  }
  if (digits_ != 0 || length_kind_ != LengthKind::counted) {
    return false;
  }
  if (byte == '-' && may_be_null(item_)) {
    length_kind_ = LengthKind::null;
    return true;
  }
  if (byte == '?' && may_be_streamed(item_)) {
    length_kind_ = LengthKind::streamed;
    return true;
  }
  return false;
}

// To the CRLF, which may be cut in two. A CR or an LF alone ends nothing.
inline const char* ReplyFramer::take_line(const char* at, const char* end) {
  while (at != end) {
    const auto* lf =
        static_cast<const char*>(std::memchr(at, '\n', static_cast<std::size_t>(end - at)));
    if (lf == nullptr) {
      after_cr_ = end[-1] == '\r';
      return end;
    }
    const bool ends = lf != at ? lf[-1] == '\r' : after_cr_;
    at = lf + 1;
    after_cr_ = false;
    if (ends) {
      line_is_complete();
      return at;
    }
  }
  return at;
}

inline const char* ReplyFramer::take_payload(const char* at, const char* end) {
  const auto there = static_cast<std::uint64_t>(end - at);
  if (there >= length_ + 2 && at[length_] == '\r' && at[length_ + 1] == '\n') {
    at += length_ + 2;
    payload_is_complete();
    return at;
  }
  const std::uint64_t taken = std::min(there, length_);
  length_ -= taken;
  if (length_ == 0) {
    state_ = State::payload_cr;
  }
  return at + taken;
}

inline const char* ReplyFramer::take_line_end(const char* at) {
  if (*at != (state_ == State::payload_cr ? '\r' : '\n')) {
    state_ = State::malformed;
    return at;
  }
  switch (state_) {
    case State::payload_cr:
      state_ = State::payload_lf;
      return at + 1;
    case State::payload_lf:
      payload_is_complete();
      return at + 1;
    default:
      return length_is_known() ? at + 1 : at;
  }
}

// The LF behind a length has come. False where nothing can follow such a length.
inline bool ReplyFramer::length_is_known() {
  if (length_kind_ == LengthKind::null) {
    is_null_ = is_null_ || is_reply_;
    item_is_complete();
    return true;
  }
  if (length_kind_ == LengthKind::streamed) {
    return begin_streamed();
  }
  switch (shape_of(item_)) {
    case Shape::elements:
      return begin_elements(length_);
    case Shape::pairs:
    case Shape::attribute:
      return begin_elements(length_ * 2);
    case Shape::text_part:
      if (length_ == 0) {
        in_streamed_text_ = false;
        item_is_complete();
        return true;
      }
      break;
    default:
      break;
  }
  state_ = length_ == 0 ? State::payload_cr : State::payload;
  return true;
}

bool ReplyFramer::begin_elements(std::uint64_t values) {
  if (needed_ > kNeededMax) {
    state_ = State::malformed;
    return false;
  }
  needed_ += values;
  if (item_ == '|') {
    state_ = State::item;  // an attribute is no value: the one it belongs to is still to come
  } else {
    item_is_complete();
  }
  return true;
}

bool ReplyFramer::begin_streamed() {
  state_ = State::item;
  if (item_ == '$') {
    in_streamed_text_ = true;
    return true;
  }
  if (depth_ == kStreamedDepthMax) {
    state_ = State::malformed;
    return false;
  }
  needed_below_[depth_++] = needed_;
  needed_ = 0;
  return true;
}

inline void ReplyFramer::line_is_complete() {
  if (item_ == '.') {
    needed_ = needed_below_[--depth_];
  }
  item_is_complete();
}

inline void ReplyFramer::payload_is_complete() {
  if (in_streamed_text_) {
    state_ = State::item;
  } else {
    item_is_complete();
  }
}

inline void ReplyFramer::item_is_complete() {
  --needed_;
  state_ = needed_ == 0 && depth_ == 0 ? State::between : State::item;
}

}  // namespace cuckooguard::resp
