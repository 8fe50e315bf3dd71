// A section of the configuration as a table with a row per key: its name, the member that it sets,
// how its value is read and shown, and whether a reload is enough. Everything else that has to know
// the keys goes by these rows: unknown keys and what was meant, --print-config, what needs a
// restart, and the tests that walk all keys.
//
//   constexpr auto kStorage = section<Storage>(
//       "storage", text("directory", &Storage::directory).at_start(),
//       value("checkpoint_every", &Storage::checkpoint_every, parse_duration));
//
// Lifetimes: tables are constexpr and stay; a KeyList views its table.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "config/section.h"
#include "config/values.h"

namespace cuckooguard::config {

// `Read`: (const Section&, std::string_view name, bool is_required, T& out).
template <typename Struct, typename T, typename Read>
struct Row {
  std::string_view name;
  T Struct::* member;
  Read read_value;
  bool is_secret = false;
  bool is_required = false;
  bool needs_restart = false;

  constexpr Row required() const {
    Row result = *this;
    result.is_required = true;
    return result;
  }
  constexpr Row at_start() const {
    Row result = *this;
    result.needs_restart = true;
    return result;
  }
  void read(const Section& section, Struct& out) const {
    if (is_required) {
      section.require(name);
    }
    read_value(section, name, is_required, out.*member);
  }
};

template <typename Struct, typename T, typename Read>
constexpr Row<Struct, T, Read> row(std::string_view name, T Struct::* member, Read read) {
  return {name, member, read};
}

template <typename Struct, typename T, typename Parse, typename Print = AsText>
constexpr auto value(std::string_view name, T Struct::* member, Parse parse, Print print = {}) {
  return row(name, member, [=](const Section& section, std::string_view key, bool, T& out) {
    section.read(key, out, parse, print);
  });
}

// `choices`: an array that stays.
template <typename Struct, typename T, typename Choices>
constexpr auto choice(std::string_view name, T Struct::* member, const Choices& choices) {
  return row(name, member, [&choices](const Section& section, std::string_view key, bool, T& out) {
    section.read_choice(key, out, choices);
  });
}

template <typename Struct>
constexpr auto text(std::string_view name, std::string Struct::* member) {
  return value(name, member, parse_any_text);
}

template <typename Struct>
constexpr auto secret(std::string_view name, std::string Struct::* member) {
  auto result =
      row(name, member, [](const Section& section, std::string_view key, bool, std::string& out) {
        section.read_secret(key, out);
      });
  result.is_secret = true;
  return result;
}

// One value, or several; none, too, if it is not required.
template <typename Struct, typename T, typename Parse>
constexpr auto list(std::string_view name, std::vector<T> Struct::* member, Parse parse) {
  return row(name,
             member,
             [=](const Section& section, std::string_view key, bool required, std::vector<T>& out) {
               using enum Section::EmptyList;
               section.read_items(key, required ? is_wrong : is_right, out, parse);
             });
}

// A key that the section's reader reads itself, apart from the rows.
struct ReadApart {
  std::string_view name;
  static constexpr bool is_secret = false;

  static void read(const Section& /*section*/, const auto& /*out*/) {}
};

// A key that a function reads; and the sections that may stand there.
template <typename Struct>
struct ReadBy {
  std::string_view name;
  void (*read)(const Section&, Struct&);
  std::span<const KeyList> (*sections)() = [] { return std::span<const KeyList>(); };
  static constexpr bool is_secret = false;
};

// The keys of one table, as ReadBy::sections.
template <const auto& kTable>
std::span<const KeyList> sections_of() {
  static constexpr KeyList kKeys = kTable.keys();
  return {&kKeys, 1};
}

// A section in another one: a table, of what `of` makes of the outer section's struct.
template <typename Of, typename Table>
struct Inside {
  std::string_view name;
  Of of;
  const Table& table;
  static constexpr bool is_secret = false;

  void read(const Section& outer, auto& out) const {
    table.read(outer.inside(name, table.keys()), std::invoke(of, out));
  }
  void keep(const std::string& prefix,
            const auto& running,
            auto& next,
            std::vector<std::string>& changed) const {
    table.keep(
        prefix + std::string(name) + ".", std::invoke(of, running), std::invoke(of, next), changed);
  }
};

// A section, or a list of them, which has at least one and at most `most`. Left out it is the
// struct's default.
template <typename Struct, typename T, typename Table>
struct OneOrMore {
  std::string_view name;
  std::vector<T> Struct::* member;
  std::size_t most;
  const Table& table;
  static constexpr bool is_secret = false;

  void read(const Section& outer, Struct& out) const {
    std::vector<T>& all = out.*member;
    if (!outer.is_list(name)) {
      table.read(outer.inside(name, table.keys()), all.front());
      return;
    }
    std::vector<T> read;
    outer.for_each_inside(name, most, table.keys(), [&](const Section& each) {
      table.read(each, read.emplace_back());
    });
    if (!read.empty()) {
      all = std::move(read);
    }
  }
  // All of them or none: nobody could tell which of those that run one of other ones is.
  void keep(const std::string& prefix,
            const Struct& running,
            Struct& next,
            std::vector<std::string>& changed) const {
    std::vector<T>& all = next.*member;
    std::vector<std::string> different;
    for (std::size_t i = 0; i < std::min(all.size(), (running.*member).size()); ++i) {
      table.keep("", (running.*member)[i], all[i], different);
    }
    if (all.size() != (running.*member).size() || !different.empty()) {
      changed.push_back(prefix + std::string(name));
      all = running.*member;
    }
  }
};

template <typename Struct, typename... Rows>
struct SectionTable {
  std::string_view path;
  std::tuple<Rows...> rows;
  std::array<std::string_view, sizeof...(Rows)> names;
  bool may_hold_secrets;
  std::string_view short_form{};  // KeyList::short_form
  void (*check)(const Section&, Struct&) = [](const Section& /*section*/, Struct& /*out*/) {
  };  // values that must fit each other

  constexpr SectionTable or_only(std::string_view key) const {
    SectionTable result = *this;
    result.short_form = key;
    return result;
  }
  constexpr SectionTable checked_by(void (*function)(const Section&, Struct&)) const {
    SectionTable result = *this;
    result.check = function;
    return result;
  }
  constexpr KeyList keys() const { return {path, names, may_hold_secrets, short_form}; }

  void read(const Section& section, Struct& out) const {
    std::apply([&](const auto&... row) { (row.read(section, out), ...); }, rows);
    check(section, out);
  }

  // Where the two differ in what needs a restart, `next` becomes as `running` is and `changed` has
  // the key's path.
  void keep(const std::string& prefix,
            const Struct& running,
            Struct& next,
            std::vector<std::string>& changed) const {
    const auto keep_one = [&](const auto& row) {
      if constexpr (requires { row.keep(prefix, running, next, changed); }) {
        row.keep(prefix, running, next, changed);
      } else if constexpr (requires { row.needs_restart; }) {
        if (row.needs_restart && running.*row.member != next.*row.member) {
          changed.push_back(prefix + std::string(row.name));
          next.*row.member = running.*row.member;
        }
      }
    };
    std::apply([&](const auto&... row) { (keep_one(row), ...); }, rows);
  }

  // These keys, and those of all sections inside.
  void collect(std::vector<KeyList>& all) const {
    all.push_back(keys());
    const auto collect_one = [&all](const auto& row) {
      if constexpr (requires { row.table; }) {
        row.table.collect(all);
      } else if constexpr (requires { row.sections; }) {
        all.insert(all.end(), row.sections().begin(), row.sections().end());
      }
    };
    std::apply([&](const auto&... row) { (collect_one(row), ...); }, rows);
  }
};

template <typename Struct, typename... Rows>
constexpr SectionTable<Struct, Rows...> section(std::string_view path, const Rows&... rows) {
  return {path, {rows...}, {rows.name...}, (rows.is_secret || ...)};
}

// For sections in which a password stands, or a file that has it.
template <typename Struct>
void check_password(const Section& section, const Struct& read) {
  if (!read.password.empty() && !read.password_file.empty()) {
    section.report(section.place_of("password_file"),
                   "password_file and password are both set; remove one of them");
  }
}

}  // namespace cuckooguard::config
