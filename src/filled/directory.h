// Which filters there are, by key.
//
// A copy takes kParts pointers, however many filters there are: copies share what neither has
// changed. A changed copy duplicates the part of a key at its first change there.
//
// Threads: const calls from any, on copies that nobody changes; what changes one, from its owner's.
// Lifetimes: what find() gives lives until the directory is changed, or ends. Errors:
// std::bad_alloc. Limits: a change takes as long as a copy of a kParts'th of all.
#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <ranges>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "filled/filled_filter.h"

namespace cuckooguard::filled {

struct Named {
  std::shared_ptr<FilledFilter> filter;
  std::uint64_t incarnation = 0;  // tells it from others of its name; never 0
  std::uint64_t until = 0;        // milliseconds since 1970; 0: no end

  bool is_there(std::uint64_t now) const { return until == 0 || now < until; }
};

class Directory {
 private:
  struct TextHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>()(text);
    }
  };
  using Part = std::unordered_map<std::string, Named, TextHash, std::equal_to<>>;

 public:
  static constexpr std::size_t kParts = 128;
  using value_type = Part::value_type;

  Directory() = default;
  // Both share all from now on.
  Directory(Directory& other) : parts_(other.parts_), size_(other.size_) { other.own_.reset(); }
  Directory(Directory&&) = default;
  Directory& operator=(const Directory&) = delete;
  Directory& operator=(Directory&&) = default;
  ~Directory() = default;

  // Null: there is none.
  const value_type* find(std::string_view name) const {
    const Part* const part = parts_.at(part_of(name)).get();
    if (part == nullptr) {
      return nullptr;
    }
    const auto found = part->find(name);
    return found == part->end() ? nullptr : &*found;
  }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  // Each value_type, in no order that means anything.
  auto all() const {
    return parts_ | std::views::filter([](const auto& part) { return part != nullptr; }) |
           std::views::transform([](const auto& part) -> const Part& { return *part; }) |
           std::views::join;
  }

  void set(const std::string& name, Named named) {
    size_ += own_part(name).insert_or_assign(name, std::move(named)).second ? 1 : 0;
  }
  void erase(std::string_view name) {
    Part& part = own_part(name);
    if (const auto found = part.find(name); found != part.end()) {
      part.erase(found);
      --size_;
    }
  }

 private:
  static std::size_t part_of(std::string_view name) { return TextHash()(name) % kParts; }
  Part& own_part(std::string_view name) {
    const std::size_t number = part_of(name);
    std::shared_ptr<Part>& part = parts_.at(number);
    if (!own_.test(number)) {
      part = part ? std::make_shared<Part>(*part) : std::make_shared<Part>();
      own_.set(number);
    }
    return *part;
  }

  std::array<std::shared_ptr<Part>, kParts> parts_;
  std::bitset<kParts> own_;  // that no copy has
  std::size_t size_ = 0;
};

}  // namespace cuckooguard::filled
