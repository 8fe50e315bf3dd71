// The overlays of all namespaces between two runs: what was written or added a moment before the
// guard ended passes when it has begun again.
//
//   DIRECTORY/overlays: "CGOVERLAYS 1\n", u64 wall time in milliseconds;
//   for each namespace u32 bytes of its name, the name, u64 bytes, guard::Overlay::saved();
//   u64 hash of all before it, with the directory's secret
//
// Written every `every`, and at the end. What was written behind the last time before a crash is
// lost. A file with another hash, or of another size of overlay, counts for nothing; a namespace
// whose templates have changed gets entries that mean nothing to it, and expire.
//
// Threads: restore() before start(); follow() from any; its own, which writes. Lifetimes: it shares
// the overlays. Errors: a file that cannot be written or used is told, and nothing else.
// Limits: 12 bytes per key of what the overlays hold.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>
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
  ~KeptOverlays();  // writes once more, if it was started

  // These from now on.
  void follow(std::vector<Named> overlays);
  // What a former run has kept of them.
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
