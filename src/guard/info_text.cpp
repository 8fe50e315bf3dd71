#include "guard/info_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>
#include <string_view>

#include "guard/fact_table.h"

namespace cuckooguard::guard {
namespace {

struct InfoValue {
  std::string operator()(std::monostate) const { return {}; }
  std::string operator()(bool value) const { return value ? "1" : "0"; }
  std::string operator()(std::int64_t value) const { return std::to_string(value); }
  std::string operator()(double value) const {
    constexpr int kDigits = 8;
    std::array<char, 32> digits;
    const auto written = std::to_chars(
        digits.data(), digits.data() + digits.size(), value, std::chars_format::fixed, kDigits);
    return {digits.data(), written.ptr};
  }
  std::string operator()(const FactAge& age) const {
    return age ? std::to_string(std::chrono::floor<std::chrono::milliseconds>(*age).count()) : "-1";
  }
  std::string operator()(const std::string& text) const { return text; }
  std::string operator()(const std::vector<std::string>& texts) const {
    std::string all;
    for (const std::string& text : texts) {
      all.append(all.empty() ? "" : ", ").append(text);
    }
    return all;
  }
  std::string operator()(const FactHistogram& /*value*/) const { return {}; }
};

void append_line(std::string& all, const std::string& line) {
  std::ranges::replace_copy_if(
      line, std::back_inserter(all), [](char c) { return c == '\r' || c == '\n'; }, ' ');
  all += "\r\n";
}

}  // namespace

std::string info_text(const InfoQuestion& question) {
  const Guard::Parts& parts = question.guard.parts();
  const Guard* const own = &question.guard;
  const bool knows_all = parts.process != nullptr && !parts.process->guards.empty();
  const FactTable table(
      {.guarded = parts,
       .process = parts.process,
       .guards = knows_all ? std::span(parts.process->guards) : std::span(&own, 1),
       .redis = question.redis,
       .now = question.now,
       .ns = question.ns,
       .is_brief = true});
  std::string all;
  for (const FactSection& section : table.sections()) {
    if (section.title.empty()) {
      continue;
    }
    append_line(all.append(all.empty() ? "# " : "\r\n# "),
                std::string(section.title) + (section.name.empty() ? "" : " ") + section.name);
    for (const Fact& fact : section.facts) {
      if (!fact.name.info.empty() && !std::holds_alternative<std::monostate>(fact.value.any)) {
        append_line(all, fact.name.info + ":" + std::visit(InfoValue(), fact.value.any));
      }
    }
  }
  return all;
}

}  // namespace cuckooguard::guard
