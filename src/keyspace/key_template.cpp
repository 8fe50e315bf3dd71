#include "keyspace/key_template.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "keyspace/canonical_text.h"
#include "keyspace/identity.h"
#include "text/ascii.h"
#include "text/printable.h"

namespace cuckooguard::keyspace {
namespace {

constexpr std::size_t kNotFound = std::string_view::npos;
// Stands for a wildcard's value in a rendered key. A byte that no sane literal begins with.
constexpr char kWildcardStandIn = '\x01';

constexpr std::array kTypes = {ValueType::uint64,
                               ValueType::int64,
                               ValueType::uuid,
                               ValueType::numeric,
                               ValueType::date,
                               ValueType::bytea};

bool is_name(std::string_view name) {
  return !name.empty() && !text::is_digit(name[0]) &&
         std::ranges::all_of(name, [](char c) { return text::is_alphanumeric(c) || c == '_'; });
}

// Where the value that begins at `start` ends, the literal behind it included in the check;
// kNotFound if nowhere. A value has at least `bytes_min` bytes and no ':'.
std::size_t middle_value_end(std::string_view key,
                             std::size_t start,
                             std::size_t bytes_min,
                             std::string_view literal) {
  const std::size_t colon = key.find(':', start);
  if (literal[0] == ':') {  // no ':' in the value, so it can only end at the first one
    const bool ends_there = colon != kNotFound && colon >= start + bytes_min &&
                            key.compare(colon, literal.size(), literal) == 0;
    return ends_there ? colon : kNotFound;
  }
  const std::size_t end = key.find(literal, start + 1);
  return end != kNotFound && colon >= end ? end : kNotFound;
}

std::size_t last_value_end(std::string_view key,
                           std::size_t start,
                           std::size_t bytes_min,
                           const Placeholder& last) {
  const std::string_view suffix = last.literal_after;
  if (key.size() < start + bytes_min + suffix.size() || !key.ends_with(suffix)) {
    return kNotFound;
  }
  const std::size_t end = key.size() - suffix.size();
  const bool has_colon = !last.rest && std::memchr(key.data() + start, ':', end - start) != nullptr;
  return has_colon ? kNotFound : end;
}

// A column of text may have what is no UUID.
constexpr ValueType type_in_row(ValueType type) {
  return type == ValueType::uuid ? ValueType::text_ci : type;
}

// What a value of the right shape says about the key.
TemplateFit judge(ValueType type, std::string_view value, TemplateValues& values) {
  switch (type) {
    case ValueType::text:
      return TemplateFit::whole;
    case ValueType::text_ci:
      return is_printable_ascii(value) ? TemplateFit::whole : TemplateFit::uncertain;
    case ValueType::uint64:
      if (const std::optional<std::uint64_t> integer = canonical_uint64(value)) {
        values.number = *integer;
        values.has_number = true;
        return TemplateFit::whole;
      }
      return TemplateFit::not_an_integer;
    case ValueType::int64:
      if (const std::optional<std::int64_t> integer = canonical_int64(value)) {
        values.number = static_cast<std::uint64_t>(*integer);
        values.has_number = *integer >= 0;
        return TemplateFit::whole;
      }
      return TemplateFit::not_an_integer;
    case ValueType::uuid:
    case ValueType::numeric:
    case ValueType::date:
    case ValueType::bytea:
      return is_canonical(type, value) ? TemplateFit::whole : TemplateFit::uncertain;
  }
  return TemplateFit::uncertain;
}

// A wildcard's values are not known from the rows, so nobody has checked that they do not hold the
// literal which ends them: where the literal occurs a second time, the rest of the key may have
// been read wrongly.
bool may_end_later(std::string_view key,
                   std::size_t start,
                   std::size_t end,
                   std::string_view literal) {
  if (literal[0] == ':') {
    return false;
  }
  const std::size_t later = key.find(literal, end + 1);
  return later != kNotFound && key.find(':', start) >= later;
}

}  // namespace

std::string_view suffix_of(ValueType type) {
  switch (type) {
    case ValueType::text:
      return "";
    case ValueType::text_ci:
      return "|ci";
    case ValueType::uint64:
      return ":uint64";
    case ValueType::int64:
      return ":int64";
    case ValueType::uuid:
      return ":uuid";
    case ValueType::numeric:
      return ":numeric";
    case ValueType::date:
      return ":date";
    case ValueType::bytea:
      return ":bytea";
  }
  std::unreachable();
}

std::string Placeholder::text() const {
  return "{" + name + (rest ? ":rest" : "") + std::string(suffix_of(type)) + "}";
}

// Reads a template's text from left to right.
class TemplateParser {
 public:
  explicit TemplateParser(std::string_view text) : text_(text) {}

  std::optional<TemplateError> parse() {
    if (text_.size() > kTemplateBytesMax) {
      return TemplateError{0, "is longer than " + std::to_string(kTemplateBytesMax) + " bytes"};
    }
    while (at_ < text_.size()) {
      const char c = text_[at_];
      const bool doubled = at_ + 1 < text_.size() && text_[at_ + 1] == c;
      std::optional<TemplateError> error;
      if ((c == '{' || c == '}') && doubled) {
        literal().push_back(c);
        at_ += 2;
      } else if (c == '{') {
        error = parse_placeholder();
      } else if (c == '}') {
        error = TemplateError{at_, "has a '}' without a '{'; write a literal brace as '}}'"};
      } else {
        literal().push_back(c);
        ++at_;
      }
      if (error) {
        return error;
      }
    }
    return check_whole();
  }

  std::string prefix;
  std::vector<Placeholder> placeholders;

 private:
  std::string& literal() {
    return placeholders.empty() ? prefix : placeholders.back().literal_after;
  }

  std::optional<TemplateError> parse_placeholder() {
    const std::size_t begin = at_;
    const std::size_t end = text_.find('}', begin);
    if (end == kNotFound) {
      return TemplateError{begin, "has a '{' without a '}'; write a literal brace as '{{'"};
    }
    Placeholder found;
    if (auto error = read_inside(text_.substr(begin + 1, end - begin - 1), found)) {
      error->offset += begin + 1;
      return error;
    }
    if (auto error = check_neighbour(found)) {
      return TemplateError{begin, *error};
    }
    placeholders.push_back(std::move(found));
    offsets_.push_back(begin);
    at_ = end + 1;
    return std::nullopt;
  }

  static std::optional<TemplateError> read_inside(std::string_view inside, Placeholder& found) {
    const std::size_t name_end = std::min(inside.find_first_of(":|"), inside.size());
    found.name = inside.substr(0, name_end);
    found.wildcard = found.name == "_";
    if (!is_name(found.name)) {
      return TemplateError{
          0,
          "has a placeholder " + text::printable(found.name) +
              ": a name has letters, digits and '_', and does not begin with a digit"};
    }
    std::string_view rest = inside.substr(name_end);
    const bool ci = rest.ends_with("|ci");
    rest.remove_suffix(ci ? 3 : 0);
    found.rest = rest == ":rest";
    const auto* const type =
        std::ranges::find_if(kTypes, [rest](ValueType each) { return rest == suffix_of(each); });
    if (type != kTypes.end()) {
      found.type = *type;
    } else if (!rest.empty() && !found.rest) {
      return TemplateError{name_end,
                           "has " + text::printable(inside.substr(name_end)) +
                               " after a placeholder's name; allowed are :uint64, :int64, :uuid, "
                               ":numeric, :date, :bytea, :rest and |ci"};
    }
    if (ci && found.type != ValueType::text) {
      return TemplateError{
          name_end, "has |ci after " + std::string(rest) + ": only text can be case-insensitive"};
    }
    if (ci) {
      found.type = ValueType::text_ci;
    }
    if (found.wildcard && found.type != ValueType::text) {
      return TemplateError{name_end, "has a type on {_}, whose value is ignored"};
    }
    return std::nullopt;
  }

  // What must hold between a placeholder and the ones before it.
  std::optional<std::string> check_neighbour(const Placeholder& found) const {
    if (placeholders.size() == kPlaceholdersMax) {
      return "has more than " + std::to_string(kPlaceholdersMax) + " placeholders";
    }
    if (placeholders.empty()) {
      return std::nullopt;
    }
    const Placeholder& before = placeholders.back();
    if (before.rest) {
      return "has text after {" + before.name + ":rest}, which reaches to the end of the key";
    }
    if (before.literal_after.empty()) {
      return "has no literal between {" + before.name + "} and {" + found.name +
             "}, so the end of the first is ambiguous";
    }
    // Another spelling of a value must end in the same place, and must not move the end of one
    // before it; only ':' is never part of one.
    if (has_spellings(before.type) && before.literal_after[0] != ':') {
      return "has " + before.text() + " before " + text::printable(before.literal_after) +
             ": only a ':' can follow " + std::string(suffix_of(before.type)) +
             ", unless it is last";
    }
    const auto other_end = std::ranges::find_if(
        placeholders, [](const Placeholder& each) { return each.literal_after[0] != ':'; });
    if (is_of_own_type(found.type) && other_end != placeholders.end()) {
      return "has " + other_end->text() + " before " + text::printable(other_end->literal_after) +
             " and " + found.text() + " after it: only a ':' is allowed between a value and " +
             found.text();
    }
    const auto has_its_name = [&](const Placeholder& other) { return other.name == found.name; };
    if (!found.wildcard && std::ranges::any_of(placeholders, has_its_name)) {
      return "names {" + found.name + "} twice";
    }
    return std::nullopt;
  }

  std::optional<TemplateError> check_whole() const {
    if (std::ranges::all_of(placeholders, &Placeholder::wildcard)) {
      return TemplateError{0, "has no placeholder that names a column, such as {id}"};
    }
    const Placeholder& last = placeholders.back();
    if (last.rest && !last.literal_after.empty()) {
      return TemplateError{
          offsets_.back(),
          "has text after {" + last.name + ":rest}, which reaches to the end of the key"};
    }
    return std::nullopt;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::vector<std::size_t> offsets_;  // of the placeholders' braces
};

std::expected<KeyTemplate, TemplateError> KeyTemplate::parse(std::string_view text) {
  TemplateParser parser(text);
  if (auto error = parser.parse()) {
    return std::unexpected(std::move(*error));
  }
  KeyTemplate result;
  result.text_ = text;
  result.literal_prefix_ = std::move(parser.prefix);
  result.placeholders_ = std::move(parser.placeholders);
  result.is_one_value_ = result.placeholders_.size() == 1 &&
                         result.placeholders_[0].literal_after.empty() &&
                         !result.placeholders_[0].wildcard;
  result.is_one_text_ = result.is_one_value_ && !result.placeholders_[0].rest &&
                        result.placeholders_[0].type == ValueType::text;
  return result;
}

TemplateFit KeyTemplate::fit_behind_prefix(std::string_view key,
                                           TemplateValues& values) const noexcept {
  if (!is_one_value_) {
    return fit_values(key, 1, values);
  }
  const Placeholder& only = placeholders_[0];
  const std::string_view value = key.substr(literal_prefix_.size());
  if (value.empty() || (!only.rest && std::memchr(value.data(), ':', value.size()) != nullptr)) {
    return TemplateFit::none;
  }
  values.has_number = false;
  values.parts[0] = {static_cast<std::uint32_t>(literal_prefix_.size()),
                     static_cast<std::uint32_t>(value.size())};
  return judge(only.type, value, values);
}

// Inlined, so that matching does not pay for `bytes_min`.
[[gnu::always_inline]] inline TemplateFit KeyTemplate::fit_values(
    std::string_view key, std::size_t bytes_min, TemplateValues& values) const noexcept {
  values.has_number = false;
  TemplateFit fit = TemplateFit::whole;
  std::size_t start = literal_prefix_.size();
  for (std::size_t i = 0; i < placeholders_.size(); ++i) {
    const Placeholder& placeholder = placeholders_[i];
    const std::string_view literal = placeholder.literal_after;
    const bool is_last = i + 1 == placeholders_.size();
    const std::size_t end = is_last ? last_value_end(key, start, bytes_min, placeholder)
                                    : middle_value_end(key, start, bytes_min, literal);
    if (end == kNotFound) {
      return TemplateFit::none;
    }
    values.parts[i] = {static_cast<std::uint32_t>(start), static_cast<std::uint32_t>(end - start)};
    const ValueType type = bytes_min == 0 ? type_in_row(placeholder.type) : placeholder.type;
    fit = std::max(fit, judge(type, key.substr(start, end - start), values));
    if (placeholder.wildcard && !is_last && may_end_later(key, start, end, literal)) {
      fit = TemplateFit::uncertain;
    }
    start = end + literal.size();
  }
  return fit;
}

TemplateFit KeyTemplate::read(std::string_view key, TemplateValues& values) const noexcept {
  if (!key.starts_with(literal_prefix_)) {
    return TemplateFit::none;
  }
  const std::size_t begin = literal_prefix_.size();
  const Placeholder& last = placeholders_.back();
  if (placeholders_.size() > 1) {
    return fit_values(key, 0, values);
  }
  if (key.size() < begin + last.literal_after.size() || !key.ends_with(last.literal_after)) {
    return TemplateFit::none;
  }
  const std::size_t bytes = key.size() - begin - last.literal_after.size();
  values.has_number = false;
  values.parts[0] = {static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(bytes)};
  return judge(type_in_row(last.type), key.substr(begin, bytes), values);
}

bool KeyTemplate::may_have_made(std::string_view key) const noexcept {
  if (!key.starts_with(literal_prefix_) || !key.ends_with(placeholders_.back().literal_after)) {
    return false;
  }
  std::size_t at = literal_prefix_.size();
  for (const Placeholder& placeholder : placeholders_) {
    const std::size_t found = &placeholder == &placeholders_.back()
                                  ? key.size() - placeholder.literal_after.size()
                                  : key.find(placeholder.literal_after, at);
    if (found == kNotFound || found < at) {
      return false;
    }
    at = found + placeholder.literal_after.size();
  }
  return true;
}

bool KeyTemplate::has_wildcard() const {
  return std::ranges::any_of(placeholders_, &Placeholder::wildcard);
}

bool KeyTemplate::has_folded() const {
  return std::ranges::any_of(placeholders_, is_folded, &Placeholder::type);
}

bool KeyTemplate::has_spellings() const {
  return std::ranges::any_of(placeholders_, keyspace::has_spellings, &Placeholder::type);
}

bool KeyTemplate::ends_values_at_colons() const {
  return placeholders_.size() == 1 ||
         (!placeholders_.back().rest &&
          std::ranges::all_of(std::span(placeholders_).first(placeholders_.size() - 1),
                              [](const Placeholder& placeholder) {
                                return placeholder.literal_after.starts_with(':');
                              }));
}

std::optional<KeyTemplate> KeyTemplate::with_texts() const {
  if (std::ranges::none_of(placeholders_, &Placeholder::is_integer)) {
    return std::nullopt;
  }
  KeyTemplate result = *this;
  for (Placeholder& placeholder : result.placeholders_) {
    placeholder.type = placeholder.is_integer() ? ValueType::text : placeholder.type;
  }
  return result;
}

void KeyTemplate::render(std::span<const std::string_view> values, std::string& key) const {
  key += literal_prefix_;
  for (std::size_t i = 0; i < placeholders_.size(); ++i) {
    if (placeholders_[i].wildcard) {
      key += kWildcardStandIn;
    } else {
      key += values[i];
    }
    key += placeholders_[i].literal_after;
  }
}

}  // namespace cuckooguard::keyspace
