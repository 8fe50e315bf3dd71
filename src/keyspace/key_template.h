// A key template such as `order:{tenant}:{order_id:uint64}`: which Redis keys belong to a
// namespace, and which bytes of them are the values of its placeholders.
//
//   literal          any bytes; `{{` and `}}` are one literal brace (for Redis hash tags:
//                    `user:{{{id}}}:cart`)
//   {name}           one or more bytes without ':'
//   {name:uint64}    the same, and a canonical integer in range (no sign, no leading zero)
//   {name:int64}     the same, with an optional '-'
//   {name:uuid}      the same, and a UUID, a number, a date or bytes in hexadecimal, each as
//   {name:numeric}   PostgreSQL prints it (canonical_text.h); another spelling of one is uncertain
//   {name:date}
//   {name:bytea}
//   {name:rest}      one or more bytes to the end of the key, ':' included; only as the last
//                    placeholder
//   {name|ci}        text that the database compares without case and trailing spaces (a `_ci`
//                    collation)
//   {name:rest|ci}   both
//   {_}  {_:rest}    matches in the same way, but is no part of the identity
//
// Parsing a key is deterministic and never backtracks: a middle placeholder ends at the first
// occurrence, after at least one byte, of the literal after it; the last literal is matched as the
// suffix. Where one template cannot decide for sure it says so (TemplateFit::uncertain), and the
// caller lets the key pass.
//
// Threads: immutable, const calls may run together.
// Lifetimes: values found by fit() are places in the key. Errors: values (TemplateError,
// TemplateFit).
// Limits: kTemplateBytesMax bytes, kPlaceholdersMax placeholders.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cuckooguard::keyspace {

inline constexpr std::size_t kTemplateBytesMax = 512;
inline constexpr std::size_t kPlaceholdersMax = 8;

enum class ValueType : std::uint8_t { text, text_ci, uint64, int64, uuid, numeric, date, bytea };

// Behind a placeholder's name: `:uuid`, `|ci`, nothing of text.
std::string_view suffix_of(ValueType type);

// Rows have it as the database prints it, which is another spelling of what keys have at most by
// the zeros of a scale.
constexpr bool is_printed(ValueType type) {
  return type == ValueType::numeric || type == ValueType::date || type == ValueType::bytea;
}
// Rows may have any text, and are known by what is left of it without case and spaces at the end.
constexpr bool is_folded(ValueType type) {
  return type == ValueType::text_ci || type == ValueType::uuid;
}
// PostgreSQL has a type of that name, whose values have several spellings.
constexpr bool is_of_own_type(ValueType type) {
  return is_printed(type) || type == ValueType::uuid;
}
constexpr bool has_spellings(ValueType type) {
  return is_printed(type) || is_folded(type);
}

struct Placeholder {
  std::string name;  // "_" for a wildcard
  ValueType type = ValueType::text;
  bool rest = false;          // to the end of the key, ':' included
  bool wildcard = false;      // `{_}`: no part of the identity
  std::string literal_after;  // up to the next placeholder, or the key's suffix (may be empty)

  bool is_integer() const { return type == ValueType::uint64 || type == ValueType::int64; }
  std::string text() const;  // `{name:uuid}`
};

struct TemplateError {
  std::size_t offset;  // of the byte in the template's text
  std::string what;
};

// How a key fits one template. Later enumerators outweigh earlier ones when several values are
// judged.
enum class TemplateFit : std::uint8_t {
  none,            // not a key of this template
  whole,           // every value is what its type asks for
  not_an_integer,  // the shape is right, but an integer is not canonical
  uncertain,       // the shape is right, but the parse may be wrong: see below
};
// uncertain: equality is the database's to decide, of |ci that is not printable ASCII, and of what
// is no canonical uuid, numeric, date or bytea; or a wildcard could end in more than one place, so
// that the values behind it are not sure.

struct TemplateValues {  // left uninitialised: fit() is called for every key that comes by
  struct Part {          // of the key
    std::uint32_t begin;
    std::uint32_t bytes;
  };
  std::array<Part, kPlaceholdersMax> parts;  // one per placeholder, wildcards included
  std::uint64_t number;                      // if has_number
  bool has_number;                           // the last integer placeholder has a value from 0

  std::string_view text(std::string_view key, std::size_t placeholder) const {
    return key.substr(parts[placeholder].begin, parts[placeholder].bytes);
  }
};

class KeyTemplate {
 public:
  static std::expected<KeyTemplate, TemplateError> parse(std::string_view text);

  const std::string& text() const { return text_; }
  std::string_view literal_prefix() const { return literal_prefix_; }
  std::span<const Placeholder> placeholders() const { return placeholders_; }

  // `values` is whole if the result is not `none`. Keys have less than 4 GiB.
  TemplateFit fit(std::string_view key, TemplateValues& values) const noexcept {
    const std::size_t begin = literal_prefix_.size();
    if (!is_one_text_) {
      return key.starts_with(literal_prefix_) ? fit_behind_prefix(key, values) : TemplateFit::none;
    }
    if (key.size() <= begin || std::memcmp(key.data(), literal_prefix_.data(), begin) != 0 ||
        std::memchr(key.data() + begin, ':', key.size() - begin) != nullptr) {
      return TemplateFit::none;
    }
    values.has_number = false;
    values.parts[0] = {static_cast<std::uint32_t>(begin),
                       static_cast<std::uint32_t>(key.size() - begin)};
    return TemplateFit::whole;
  }
  // The same for a key that is known to begin with the literal prefix.
  TemplateFit fit_behind_prefix(std::string_view key, TemplateValues& values) const noexcept;

  // As fit(), of a key that may be made of a row whose values are no key's: empty, or, where it is
  // the only one, with a ':'. What fit() takes is read in the same way.
  TemplateFit read(std::string_view key, TemplateValues& values) const noexcept;
  // Whether the key has all literals in their order: no row has another one by this template.
  bool may_have_made(std::string_view key) const noexcept;
  bool has_wildcard() const;
  bool has_folded() const;
  // Whether keys may have the same values in other spellings.
  bool has_spellings() const;
  // Whether what is no value of a key, since it has a ':', is none in any spelling.
  bool ends_values_at_colons() const;

  // Appends the key that carries `values` (one per placeholder; those of wildcards are not read: a
  // fixed byte stands for them). The result need not fit(): a value may hold a ':' or the literal
  // that should end it.
  void render(std::span<const std::string_view> values, std::string& key) const;
  // The same with texts for its integers, since a row's column may have them; nothing: it has none.
  std::optional<KeyTemplate> with_texts() const;

  bool operator==(const KeyTemplate& other) const { return text_ == other.text_; }

 private:
  KeyTemplate() = default;
  TemplateFit fit_values(std::string_view key,
                         std::size_t bytes_min,
                         TemplateValues& values) const noexcept;

  std::string text_;
  std::string literal_prefix_;
  std::vector<Placeholder> placeholders_;
  // Behind the prefix, as of most templates.
  bool is_one_value_ = false;
  bool is_one_text_ = false;
};

}  // namespace cuckooguard::keyspace
