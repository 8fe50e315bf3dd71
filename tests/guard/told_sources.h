// Sources that are as far as a test says.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "guard/process.h"

namespace cuckooguard::guard {

class ToldSources final : public SourceView {
 public:
  struct Source {
    std::string name;
    SourceStatus status;
    Reached reached = Reached::not_yet;
  };

  explicit ToldSources(std::vector<Source> told) : all(std::move(told)) {}

  std::size_t size() const override { return all.size(); }
  std::string_view name(std::size_t source) const override { return all.at(source).name; }
  SourceStatus status(std::size_t source) const override { return all.at(source).status; }
  Reached reached(std::size_t source, std::string_view position) const override {
    ++asked;
    asked_for = position;
    return all.at(source).reached;
  }

  std::vector<Source> all;
  mutable int asked = 0;
  mutable std::string asked_for;
};

}  // namespace cuckooguard::guard
