// What a source says of itself, kept for a test's report.
//
// Threads: any.
#pragma once

#include <algorithm>
#include <cstddef>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "source/source.h"

namespace cuckooguard::harness {

class Reports final : public source::Observer {
 public:
  std::string last() const {
    constexpr std::size_t kShown = 30;
    const std::scoped_lock lock(mutex_);
    std::string text;
    for (std::size_t i = all_.size() - std::min(kShown, all_.size()); i < all_.size(); ++i) {
      text += all_[i] + "\n";
    }
    return text;
  }

 private:
  void on_progress(const source::Progress&) override {}
  void on_state(std::string_view ns, filter::State state, std::string_view why) override {
    add(std::string(ns) + ": " + filter::state_name(state) + " " + std::string(why));
  }
  void on_trouble(std::string_view source, std::string_view what) override {
    add(std::string(source) + ": " + std::string(what));
  }
  void add(std::string report) {
    const std::scoped_lock lock(mutex_);
    all_.push_back(std::move(report));
  }

  mutable std::mutex mutex_;
  std::vector<std::string> all_;
};

}  // namespace cuckooguard::harness
