#include "simulation/marks.h"

#include <algorithm>
#include <charconv>

namespace cuckooguard::simulation {
namespace {

constexpr std::string_view kMarkPrefix = "mark:";
constexpr std::string_view kLineEnd = "\r\n";
constexpr int kDigits = 10;

std::optional<std::uint64_t> number_at(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  return problem == std::errc{} ? std::optional(number) : std::nullopt;
}

std::optional<int> signer_of_id(std::string_view key) {
  const std::size_t last = key.find_last_not_of("0123456789");
  const auto id = number_at(key.substr(last == std::string_view::npos ? 0 : last + 1));
  return id && *id >= kAttackIds
             ? std::optional(static_cast<int>((*id - kAttackIds) / kIdsPerClient))
             : std::nullopt;
}

std::optional<int> signer_of_keys(const Words& words) {
  std::optional<int> signer;
  for (const std::string& word : words) {
    if (word.starts_with(kMarkPrefix)) {
      return static_cast<int>(number_at(std::string_view(word).substr(kMarkPrefix.size())).value());
    }
    signer = signer ? signer : signer_of_id(word);
  }
  return signer;
}

std::optional<int> signer_of_junk(std::string_view raw) {
  const std::size_t at = raw.find_first_of("0123456789", raw.find_first_of("!y"));
  const auto number = number_at(raw.substr(std::min(at, raw.size())));
  return number ? std::optional(static_cast<int>(*number)) : std::nullopt;
}

}  // namespace

std::string mark_key(int client) {
  return std::string(kMarkPrefix) + std::to_string(client);
}

void sign(std::string& raw, int client) {
  raw.resize(raw.size() - kLineEnd.size());
  if (raw.starts_with('*')) {
    raw += static_cast<char>('A' + client / kDigits);
    raw += static_cast<char>('0' + client % kDigits);
    return;
  }
  raw.resize(raw.find_last_not_of(' ') + 1);
  raw.append(static_cast<std::size_t>(client) + 1, ' ').append(kLineEnd);
}

std::optional<int> signer_of(std::string_view raw, const Words& words) {
  if (words.empty()) {
    return signer_of_junk(raw);
  }
  if (raw.starts_with('*')) {
    const std::string_view end = raw.substr(raw.size() - kLineEnd.size());
    return end == kLineEnd ? signer_of_keys(words)
                           : std::optional((end[0] - 'A') * kDigits + (end[1] - '0'));
  }
  raw.remove_suffix(kLineEnd.size());
  const std::size_t blanks = raw.size() - raw.find_last_not_of(' ') - 1;
  return blanks > 0 ? std::optional(static_cast<int>(blanks) - 1) : std::nullopt;
}

}  // namespace cuckooguard::simulation
