// The shop of guarded_shop.h, whose applications fill filters; kept by a store that does at once
// what is submitted, or later, or cannot.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "filled/filters.h"
#include "filled/store.h"
#include "guard/guarded_shop.h"
#include "keyspace/key_template.h"
#include "served/filled.h"

namespace cuckooguard::guard {

class ToldStore final : public filled::Store {
 public:
  explicit ToldStore(filled::Filters& filters) : filters_(filters) {}

  void submit(std::shared_ptr<filled::Change> change) override {
    waiting_.push_back(std::move(change));
    if (does_at_once) {
      do_next();
    }
  }
  void flushed(std::shared_ptr<filled::Change> change) override {
    filters_.drop_all();
    change->finish({});
  }
  bool is_current(filled::TimePoint /*now*/) const noexcept override { return current; }
  std::optional<filled::LogStatus> log() const override { return told_log; }

  void do_next() {
    waiting_.front()->finish(filters_.apply(waiting_.front()->operation()));
    waiting_.pop_front();
  }
  void refuse_next(filled::Outcome::Status status, std::string why) {
    waiting_.front()->finish({.status = status, .why = std::move(why)});
    waiting_.pop_front();
  }
  std::size_t waiting() const { return waiting_.size(); }

  bool does_at_once = true;
  bool current = true;
  std::optional<filled::LogStatus> told_log{};

 private:
  filled::Filters& filters_;
  std::deque<std::shared_ptr<filled::Change>> waiting_;
};

// `bf:*` and `cf:*` may be reserved, `*:dupefilter` is a set; `seen` and `ids` are named.
class FilledShop {
 public:
  static config::FilledFilters settings() {
    config::FilledFilters settings;
    settings.named.push_back({.name = "seen", .capacity = 1000, .false_positive_rate = 0.001});
    settings.named.push_back({.name = "ids",
                              .kind = config::FilledKind::cuckoo,
                              .capacity = 1000,
                              .deletes = config::FilledDeletes::exact});
    settings.allow_reserve.push_back(keyspace::KeyTemplate::parse("bf:{name}").value());
    settings.allow_reserve.push_back(keyspace::KeyTemplate::parse("cf:{name}").value());
    settings.dedupe.keys.push_back(keyspace::KeyTemplate::parse("{spider}:dupefilter").value());
    settings.dedupe.capacity = 1000;
    return settings;
  }

  explicit FilledShop(GuardedShop& shop, config::FilledFilters with = settings())
      : filled_(
            {.filters = filters, .store = store, .settings = std::move(with), .wall_time = [this] {
               return wall_time;
             }}) {
    shop.commands->add(filled_commands(*shop.guard, filled_));
    shop.shown.emplace(shop.shown.begin() + kFactsOfAll,
                       [this](FactTable& table) { filled_facts(table, filled_); });
    shop.process.complaints.emplace_back([this] { return complaint_of(filled_); });
  }

  Filled& filled() { return filled_; }
  const Filled& filled() const { return filled_; }

  filled::Filters filters{filter::HashSecret{}};
  ToldStore store{filters};
  std::uint64_t wall_time = 1'700'000'000'000;

 private:
  Filled filled_;
};

}  // namespace cuckooguard::guard
