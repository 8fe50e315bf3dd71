// A namespace whose identities have two values, and one with a template that could be read in
// another way.
//
//   0 orders   order:{tenant}:{order_id}, o:{order_id}:{tenant}   (acme, 1), (acme, x/y),
//                                                                 (umbrella, 1)
//   1 pairs    pair:{left}-{right}                                (a, b)
//   2 docs     doc:{path:rest}                                    a/b:c, 4 bytes with NUL and CRLF
//   3 names    name:{name|ci}:{_}                                 ann
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "filter/epochs.h"
#include "filter/live_parts.h"
#include "guard/guarded_shop.h"

namespace cuckooguard::views {

class TwoValueShop {
 public:
  static constexpr std::uint32_t kOrders = 0;
  static constexpr std::uint32_t kPairs = 1;
  static constexpr std::uint32_t kDocs = 2;
  static constexpr std::uint32_t kNames = 3;

  TwoValueShop() : keyspace_(build_keyspace()), epochs_(1) {
    using Row = std::vector<std::string>;
    const std::vector<std::vector<Row>> rows{
        {Row{"acme", "1"}, Row{"acme", "x/y"}, Row{"umbrella", "1"}},
        {Row{"a", "b"}},
        {Row{"a/b:c"}, Row{std::string("\0\r\n\xff", 4)}},
        {Row{"ann"}}};
    for (std::uint32_t ns = 0; ns < keyspace_.size(); ++ns) {
      parts.push_back(std::make_unique<filter::LiveParts>(epochs_, guard::fixed_secret(ns)));
      overlays_.push_back(std::make_unique<guard::Overlay>(
          guard::Overlay::Limits{.max_keys = 100, .ttl = std::chrono::seconds(60)}));
      spaces_.push_back({.mode = config::Mode::enforce,
                         .filter = parts.back().get(),
                         .overlay = overlays_.back().get()});
      filter::LiveFilter* const live = parts.back()->add("table");
      parts.back()->set_complete(true);
      live->publish(filter_of(ns, rows[ns]));
      live->set_fresh_until(now + std::chrono::seconds(1));
    }
    guard_ = std::make_unique<guard::Guard>(
        guard::Guard::Parts{.keyspace = keyspace_, .namespaces = spaces_, .facts = facts_});
    epochs_.reader(0).enter();
  }

  guard::Guard& guard() { return *guard_; }
  filter::Epochs& epochs() { return epochs_; }

  guard::TimePoint now{std::chrono::hours(5)};
  std::vector<std::unique_ptr<filter::LiveParts>> parts;

 private:
  static keyspace::Keyspace build_keyspace() {
    std::vector<keyspace::NamespaceTemplates> namespaces;
    const auto add = [&namespaces](std::string name, const std::vector<std::string_view>& keys) {
      std::vector<keyspace::KeyTemplate> templates;
      templates.reserve(keys.size());
      for (const std::string_view key : keys) {
        templates.push_back(keyspace::KeyTemplate::parse(key).value());
      }
      namespaces.push_back({std::move(name), std::move(templates)});
    };
    add("orders", {"order:{tenant}:{order_id}", "o:{order_id}:{tenant}"});
    add("pairs", {"pair:{left}-{right}"});
    add("docs", {"doc:{path:rest}"});
    add("names", {"name:{name|ci}:{_}"});
    return keyspace::Keyspace::build(std::move(namespaces)).value();
  }

  std::unique_ptr<filter::CuckooFilter> filter_of(
      std::uint32_t ns, const std::vector<std::vector<std::string>>& rows) const {
    auto filter = std::make_unique<filter::CuckooFilter>(
        filter::sizing_for(filter::Layout::w20, 100, filter::DeleteMode::deferred),
        guard::fixed_secret(ns));
    keyspace::IdentityBuffer scratch;
    for (const std::vector<std::string>& row : rows) {
      const std::vector<std::optional<std::string_view>> values(row.begin(), row.end());
      filter->insert(
          filter->hash(keyspace_.identity_of_row(ns, values, scratch).value().value().identity));
    }
    return filter;
  }

  keyspace::Keyspace keyspace_;
  filter::Epochs epochs_;
  std::vector<std::unique_ptr<guard::Overlay>> overlays_;
  std::vector<guard::GuardedNamespace> spaces_;
  redis::Facts facts_;
  std::unique_ptr<guard::Guard> guard_;
};

}  // namespace cuckooguard::views
