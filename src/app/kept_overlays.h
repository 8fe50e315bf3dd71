// Keeps the overlays of all namespaces over a restart: keys written or added just before the guard
// ended still pass after it has started again.
//
//   DIRECTORY/overlays: "CGOVERLAYS 1\n", u64 wall time in milliseconds;
//   for each namespace u32 bytes of its name, the name, u64 bytes, guard::Overlay::saved();
//   u64 hash of all before it, with the directory's secret
//
// Written once per `every` and at the end; a crash loses what came after the last time. A file with
// another hash, or for another overlay size, is ignored. A namespace whose templates have changed
// gets meaningless entries, which expire.
//
// Threads: restore() before start(); follow() any; a thread of its own writes. Lifetimes: it shares
// the overlays. Errors: a file that cannot be written or used is only reported.
// Limits: 12 bytes per key in the overlays.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "filter/key_hash.h"
#include "guard/overlay.h"

namespace cuckooguard::app {

class KeptOverlays {
 public:
  struct Named {
    std::string ns;
    std::shared_ptr<guard::Overlay> overlay;
  };
  struct Settings {
    std::string path;
    std::chrono::milliseconds every;
    filter::HashSecret secret;
    std::function<void(const std::string& what)> on_trouble;
  };

  explicit KeptOverlays(Settings settings)
      : hash_(settings.secret), settings_(std::move(settings)) {}
  KeptOverlays(const KeptOverlays&) = delete;
  KeptOverlays& operator=(const KeptOverlays&) = delete;
  ~KeptOverlays();  // writes once more if started

  // From now on it keeps these.
  void follow(std::vector<Named> overlays);
  // Loads what an earlier run has kept of them.
  void restore();
  void start();

  void keep();

 private:
  std::string bytes();
  bool take(std::string_view bytes);

  filter::KeyHash hash_;
  Settings settings_;
  std::mutex mutex_;
  std::condition_variable_any woken_;
  std::vector<Named> overlays_;
  std::jthread thread_;
};

}  // namespace cuckooguard::app
