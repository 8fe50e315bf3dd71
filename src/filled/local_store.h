// A store of this process alone: an operation is applied at once, and everything is written to a
// file now and then. Once it is started, the store's own thread makes that file, and a dump that a
// client asks for, from an image (filled/filters_image.h), in turns of kImageTurn. Operations
// submitted meanwhile are applied between two turns, by that thread or by the submitting one:
// nobody waits for a lock that is held for longer than a turn or an operation takes. The same
// thread checks a dump that a client has loaded, without the lock.
//
// An acknowledged change lives as long as the process, and longer once it is in the file, which is
// written at each interval in which something has changed, and when the store ends. A process that
// is killed loses the changes since the last write.
//
// Threads:   submit() from any; a thread that finds no other at work applies what waits. The file
//            is written by a thread of its own.
// Lifetimes: filters and `on_trouble` outlive it.
// Errors:    restore(): a sentence; each failed write: on_trouble. While a filter is unsure
//            (filled/filters.h), nothing is written.
// Limits:    the memory of an image while the file is written; a dump is in memory as a whole, and
//            so is the file while it is read. What clients may have in flight bounds what waits.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <expected>
#include <functional>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "filled/filters.h"
#include "filled/store.h"

namespace cuckooguard::filled {

class LocalStore final : public Store {
 public:
  struct Settings {
    std::string path;  // empty: nothing is kept
    std::chrono::milliseconds every{30'000};
    std::function<std::uint64_t()> wall_time;  // milliseconds since 1970
    std::function<void(const std::string& what)> on_trouble = [](const std::string& /*what*/) {};
  };

  LocalStore(Filters& filters, Settings settings);
  LocalStore(const LocalStore&) = delete;
  LocalStore& operator=(const LocalStore&) = delete;
  ~LocalStore() override;

  // Restores the file, if there is one. Before start().
  std::expected<void, std::string> restore();
  void start();

  void submit(std::shared_ptr<Change> change) override;
  void flushed(std::shared_ptr<Change> change) override;
  bool is_current(TimePoint /*now*/) const noexcept override { return true; }

 private:
  using Changes = std::vector<std::shared_ptr<Change>>;

  void run(const std::stop_token& stop);
  void make_dumps();
  void check_dumps();
  // A turn with a FiltersImage or a DumpImage: then waiting operations are applied.
  template <class Image>
  bool take_turn(Image& image, std::string& out);
  bool has_dumps();
  struct LoadedDump {
    std::shared_ptr<Change> change;
    std::shared_ptr<WholeDump> dump;
  };
  void make_dump(UnfinishedDump& dump);
  void expire();
  void keep();
  std::shared_ptr<FiltersImage> begin_file();
  void end_file(std::shared_ptr<FiltersImage>& image, bool is_written);
  bool is_lost(const FiltersImage& image);
  void do_what_waits();
  void apply(const Changes& changes);  // with `mutex_`

  Filters& filters_;
  Settings settings_;
  std::mutex waiting_mutex_;
  Changes waiting_;
  // The same, for the store's own thread:
  Changes dumps_;
  std::vector<LoadedDump> loaded_;
  std::atomic<bool> has_thread_{false};
  std::mutex mutex_;  // for the filters' writer
  bool has_changed_ = false;
  std::vector<UnfinishedDump> begun_;
  std::condition_variable_any wake_;
  std::jthread thread_;
};

}  // namespace cuckooguard::filled
