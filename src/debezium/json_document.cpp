#include "debezium/json_document.h"

#include <algorithm>
#include <bit>
#include <optional>

#include <simdjson.h>

#include "debezium/decoder.h"
#include "text/ascii.h"
#include "text/number.h"

namespace cuckooguard::debezium {
namespace {

constexpr std::size_t kBufferBytesMin = 4096;
constexpr std::size_t kUnescapedKept = 64;
static_assert(kPaddingBytes >= simdjson::SIMDJSON_PADDING);

void append_utf8(std::string& text, std::uint32_t character) {
  const auto append = [&text](std::uint32_t byte) { text += static_cast<char>(byte); };
  if (character < 0x80) {
    append(character);
  } else if (character < 0x800) {
    append(0xc0 | character >> 6);
    append(0x80 | (character & 0x3f));
  } else if (character < 0x10000) {
    append(0xe0 | character >> 12);
    append(0x80 | (character >> 6 & 0x3f));
    append(0x80 | (character & 0x3f));
  } else {
    append(0xf0 | character >> 18);
    append(0x80 | (character >> 12 & 0x3f));
    append(0x80 | (character >> 6 & 0x3f));
    append(0x80 | (character & 0x3f));
  }
}

// The four digits after \u, which are taken off.
std::optional<std::uint32_t> take_unit(std::string_view& text) {
  const auto unit =
      text.size() < 4 ? std::nullopt : text::number_of<std::uint32_t>(text.substr(0, 4), 16);
  text.remove_prefix(std::min(text.size(), std::size_t{4}));
  return unit;
}

// What stands behind `\u`; a surrogate takes the one after it, too.
bool take_character(std::string_view& text, std::string& into) {
  const auto unit = take_unit(text);
  if (!unit || (*unit & 0xfc00U) == 0xdc00) {
    return false;
  }
  if ((*unit & 0xfc00U) != 0xd800) {
    append_utf8(into, *unit);
    return true;
  }
  if (!text.starts_with("\\u")) {
    return false;
  }
  text.remove_prefix(2);
  const auto low = take_unit(text);
  if (!low || (*low & 0xfc00U) != 0xdc00) {
    return false;
  }
  append_utf8(into, 0x10000 + ((*unit & 0x3ffU) << 10 | (*low & 0x3ffU)));
  return true;
}

bool append_unescaped(std::string_view text, std::string& into) {
  constexpr std::string_view kLetters = "\"\\/bfnrt";
  constexpr std::string_view kMeanings = "\"\\/\b\f\n\r\t";
  into.clear();
  while (true) {
    const std::size_t plain = std::min(text.find('\\'), text.size());
    into.append(text.substr(0, plain));
    text.remove_prefix(plain);
    if (text.empty()) {
      return true;
    }
    const char letter = text.size() > 1 ? text[1] : '\0';
    text.remove_prefix(std::min(text.size(), std::size_t{2}));
    const std::size_t known = kLetters.find(letter);
    if (known != std::string_view::npos) {
      into += kMeanings[known];
    } else if (letter != 'u' || !take_character(text, into)) {
      return false;
    }
  }
}

}  // namespace

struct Document::Stage1 {
  std::unique_ptr<simdjson::internal::dom_parser_implementation> parser;
};

Document::Document() = default;
Document::~Document() = default;
Document::Document(Document&&) noexcept = default;
Document& Document::operator=(Document&&) noexcept = default;

Trouble Document::open(std::string_view text) {
  if (bytes_ > kKeptBytesMax || unescaped_.size() > kUnescapedKept) {
    *this = Document();
  }
  if (text.size() > bytes_ || !buffer_) {
    bytes_ = std::max(std::bit_ceil(text.size()), kBufferBytesMin);
    buffer_ = std::make_unique_for_overwrite<char[]>(bytes_ + kPaddingBytes);
    stage_1_ = std::make_unique<Stage1>();
    const auto failed = simdjson::get_active_implementation()->create_dom_parser_implementation(
        bytes_, simdjson::DEFAULT_MAX_DEPTH, stage_1_->parser);
    if (failed != simdjson::SUCCESS) {
      *this = Document();
      return "there is no memory for a message";
    }
  }
  std::memcpy(buffer_.get(), text.data(), text.size());
  std::memset(buffer_.get() + text.size(), 0, kPaddingBytes);
  has_escapes_ = text.contains('\\');
  unescaped_count_ = 0;
  places_count_ = 0;
  if (stage_1_->parser->stage1(reinterpret_cast<const std::uint8_t*>(buffer_.get()),
                               text.size(),
                               simdjson::stage1_mode::regular) != simdjson::SUCCESS) {
    return kMalformed;
  }
  // Behind the last one are two more, at the end of the text, where there is a NUL.
  places_ = stage_1_->parser->structural_indexes.get();
  places_count_ = stage_1_->parser->n_structural_indexes;
  return nullptr;
}

std::string_view Document::text_of(Name name) const {
  const std::string_view rest(name, left(name));
  std::size_t end = 0;
  while (end < rest.size() && rest[end] != '"') {
    end += rest[end] == '\\' ? 2 : 1;
  }
  return rest.substr(0, end);
}

Trouble Document::unescape(std::string_view& text) {
  if (!text.contains('\\')) {
    return nullptr;
  }
  if (unescaped_count_ == unescaped_.size()) {
    unescaped_.emplace_back();
  }
  std::string& into = unescaped_[unescaped_count_++];
  if (!append_unescaped(text, into)) {
    return kMalformed;
  }
  text = into;
  return nullptr;
}

Trouble Document::read(Document::Index value, Json& json) {
  switch (at(value)) {
    case '"':
      json = {.kind = Json::Kind::string};
      return read_string(value, json.text);
    case '{':
      json = {.kind = Json::Kind::object};
      return nullptr;
    case '[':
      json = {.kind = Json::Kind::array};
      return nullptr;
    case 'n':
      json = {};
      return token(value) == "null" ? nullptr : kMalformed;
    case 't':
    case 'f':
      json = {.kind = Json::Kind::boolean, .text = token(value)};
      return json.text == "true" || json.text == "false" ? nullptr : kMalformed;
    default:
      json = {.kind = Json::Kind::number, .text = token(value)};
      return text::is_digit(at(value)) || at(value) == '-' ? nullptr : kMalformed;
  }
}

Trouble Document::read_raw(Document::Index value, std::string_view& text) {
  const std::uint32_t begin = places_[value];
  if (!skip(value)) {
    return kMalformed;
  }
  // The last place is that of the bracket, or of the scalar itself.
  const std::string_view last = token(value - 1);
  text = {&buffer_[begin], static_cast<std::size_t>(last.data() + last.size() - &buffer_[begin])};
  return nullptr;
}

}  // namespace cuckooguard::debezium
