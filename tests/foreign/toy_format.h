// A format that no room knows by name: the items, a line each. Whoever is handed it reads filters
// in it as those of any other (config, source/bloom, `cuckooguard filter`).
#pragma once

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "foreign/format.h"

namespace cuckooguard::foreign {

class ToyFilter final : public Filter {
 public:
  explicit ToyFilter(std::string lines) : lines_(std::move(lines)) {}

  bool may_contain(std::string_view item) const noexcept override {
    const std::size_t at = lines_.find(item);
    return at != std::string::npos && (at == 0 || lines_[at - 1] == '\n') &&
           lines_[at + item.size()] == '\n';
  }
  Facts facts() const noexcept override {
    return {.format = "toy", .bits_or_slots = lines_.size(), .items = std::nullopt};
  }
  bool add(std::string_view item) override {
    lines_.append(item).append("\n");
    return true;
  }
  std::string bytes() const override { return lines_; }

 private:
  std::string lines_;
};

inline constexpr Format kToy{
    .name = "toy",
    .kept = Format::Kept::in_file,
    .funnel = true,
    .read =
        [](std::string bytes, const Parameters& /*stated*/) {
          return FilterOrWhyNot(std::make_unique<ToyFilter>(std::move(bytes)));
        },
    .make =
        [](const Parameters& /*stated*/, const Wanted& /*wanted*/) {
          return FilterOrWhyNot(std::make_unique<ToyFilter>(""));
        },
    .made_of = {"--capacity", "--capacity"}};
// The same in a string of Redis.
inline constexpr Format kToyBitmap{
    .name = "toy-bitmap", .kept = Format::Kept::as_bitmap, .bits = true, .read = kToy.read};
inline constexpr std::array<const Format*, 2> kToys{&kToy, &kToyBitmap};

}  // namespace cuckooguard::foreign
