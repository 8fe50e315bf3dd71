// A table of a database, and the keys that would suit it, for who begins with a guard.
//
// Threads: plain values.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "keyspace/key_template.h"

namespace cuckooguard::source {

struct KeyedTable {
  std::string name;
  std::vector<std::string> primary_key;  // as placeholders: `{id:uint64}`; empty: none fits

  // Its placeholders, with ':' between them; empty: there is no key that could be suggested.
  std::string placeholders() const {
    std::string all;
    for (const std::string& each : primary_key) {
      all += (all.empty() ? "" : ":") + each;
    }
    return std::ranges::count(primary_key, "") > 0 ? "" : all;
  }
};

// The first of these types (":uint64", "|ci", "": bytes) by which SQL finds no other row than the
// filter. Whether it does says ambiguous(), of a kind's own columns.
template <typename Column>
std::string placeholder_for(const Column& column, std::initializer_list<std::string_view> types) {
  for (const std::string_view type : types) {
    std::string text = "{" + column.name + std::string(type) + "}";
    const auto key = keyspace::KeyTemplate::parse("key:" + text);
    if (key && !ambiguous(column, key->placeholders().front())) {
      return text;
    }
  }
  return {};
}

}  // namespace cuckooguard::source
