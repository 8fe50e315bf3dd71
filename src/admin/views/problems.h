// All that is not well, for people: what it is, why, and what to do about it, the gravest first.
// An attack that is on comes before all of it: it may be why. The page shows it as it is, and has
// no words of its own for that.
//
// Namespaces whose keys pass for the same reason are told together. No number here changes by
// itself each second: it would be read out each time to whoever hears the page.
//
// Threads: as Model. Limits: a few for the process, two per namespace, one per node that is told
// of.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "guard/trouble.h"
#include "views/model.h"
#include "views/process_use.h"

namespace cuckooguard::views {

enum class Grade : std::uint8_t { bad, warning };
constexpr std::string_view name_of(Grade grade) {
  constexpr std::array<std::string_view, 2> kNames{"bad", "warning"};
  return kNames.at(static_cast<std::size_t>(grade));
}

struct Problem {
  Grade grade = Grade::warning;
  std::string what{};
  std::string why{};
  std::string hint{};
};

std::vector<Problem> problems(const Model& model, const ProcessUse& use);

// Why all keys of a namespace pass, if they do, its mode included.
guard::Trouble why_all_pass(const Model& model, std::uint32_t ns);

}  // namespace cuckooguard::views
