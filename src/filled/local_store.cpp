#include "filled/local_store.h"

#include <algorithm>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <new>
#include <system_error>
#include <utility>

#include "filled/dump.h"
#include "filter/filter_file.h"

namespace cuckooguard::filled {
namespace {

constexpr std::chrono::seconds kExpireEvery{1};

}  // namespace

LocalStore::LocalStore(Filters& filters, Settings settings)
    : filters_(filters), settings_(std::move(settings)) {}

LocalStore::~LocalStore() {
  if (thread_.joinable()) {
    thread_.request_stop();
    thread_.join();
    make_dumps();
    check_dumps();
    keep();
  }
}

std::expected<void, std::string> LocalStore::restore() {
  std::error_code error;
  if (settings_.path.empty() || !std::filesystem::exists(settings_.path, error)) {
    return {};
  }
  std::ifstream file(settings_.path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  if (file.bad() || !file.is_open()) {
    return std::unexpected(settings_.path + ": cannot be read");
  }
  auto restored = filters_.restore(bytes);
  return restored ? restored : std::unexpected(settings_.path + ": " + restored.error());
}

void LocalStore::start() {
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
  has_thread_ = true;
}

void LocalStore::submit(std::shared_ptr<Change> change) {
  const bool is_for_thread = has_thread_ && change->operation().kind == Operation::Kind::dump;
  {
    const std::lock_guard lock(waiting_mutex_);
    (is_for_thread ? dumps_ : waiting_).push_back(std::move(change));
  }
  if (is_for_thread) {
    wake_.notify_one();
  } else {
    do_what_waits();
  }
}

// Behind all that was submitted before.
void LocalStore::flushed(std::shared_ptr<Change> change) {
  do_what_waits();
  {
    const std::lock_guard lock(mutex_);
    filters_.drop_all();
    has_changed_ = true;
  }
  do_what_waits();
  change->finish({});
}

bool LocalStore::has_dumps() {
  const std::lock_guard lock(waiting_mutex_);
  return !dumps_.empty();
}

// Behind all that was submitted before them.
void LocalStore::make_dumps() {
  std::vector<UnfinishedDump> begun;
  {
    const std::lock_guard lock(mutex_);
    Changes changes;
    if (has_dumps()) {
      const std::lock_guard waiting(waiting_mutex_);
      changes.swap(waiting_);
      std::ranges::move(dumps_, std::back_inserter(changes));
      dumps_.clear();
    }
    apply(changes);
    begun.swap(begun_);
  }
  do_what_waits();
  for (UnfinishedDump& dump : begun) {
    make_dump(dump);
  }
}

// One after the other.
void LocalStore::check_dumps() {
  std::vector<LoadedDump> loaded;
  {
    const std::lock_guard waiting(waiting_mutex_);
    loaded.swap(loaded_);
  }
  for (const LoadedDump& each : loaded) {
    each.dump->check();
    Outcome outcome;
    {
      const std::lock_guard lock(mutex_);
      outcome = filters_.take_in(*each.dump);
      has_changed_ = true;
    }
    do_what_waits();
    each.change->finish(std::move(outcome));
  }
}

void LocalStore::make_dump(UnfinishedDump& dump) {
  Outcome outcome;
  try {
    dump.bytes.reserve(dump.image->bytes());
    while (take_turn(*dump.image, dump.bytes)) {
    }
    outcome.blob = std::move(dump.bytes);
  } catch (const std::bad_alloc&) {
    dump.image->lose();
  }
  if (dump.image->is_lost()) {
    outcome = no_memory_for_dump();
  }
  {
    const std::lock_guard lock(mutex_);
    dump.image.reset();
  }
  do_what_waits();
  dump.change->finish(std::move(outcome));
}

template <class Image>
bool LocalStore::take_turn(Image& image, std::string& out) {
  bool is_more = false;
  {
    const std::lock_guard lock(mutex_);
    is_more = step_for_turn(image, out);
  }
  do_what_waits();
  return is_more;
}

// The thread that was at work looks once more when the lock is free: nothing is left of a thread
// that submitted while it was taken.
void LocalStore::do_what_waits() {
  for (;;) {
    Changes changes;
    {
      const std::unique_lock lock(mutex_, std::try_to_lock);
      if (!lock.owns_lock()) {
        return;
      }
      {
        const std::lock_guard waiting(waiting_mutex_);
        changes.swap(waiting_);
      }
      apply(changes);
    }
    const std::lock_guard waiting(waiting_mutex_);
    if (waiting_.empty()) {
      return;
    }
  }
}

void LocalStore::apply(const Changes& changes) {
  std::vector<Operation> operations;
  for (const auto& change : changes) {
    operations.push_back(change->operation());
    has_changed_ = has_changed_ || !change->operation().is_question();
  }
  std::vector<Outcome> outcomes =
      filters_.apply(operations, has_thread_ ? Filters::Check::aside : Filters::Check::in_turn);
  for (std::size_t i = 0; i < changes.size(); ++i) {
    Outcome& outcome = outcomes[i];
    if (outcome.image && has_thread_) {
      begun_.push_back({.change = changes[i], .image = std::move(outcome.image)});
      continue;
    }
    if (outcome.whole) {
      {
        const std::lock_guard waiting(waiting_mutex_);
        loaded_.push_back({.change = changes[i], .dump = std::move(outcome.whole)});
      }
      wake_.notify_one();
      continue;
    }
    make_blob(outcome);
    changes[i]->finish(std::move(outcome));
  }
}

void LocalStore::run(const std::stop_token& stop) {
  auto kept_at = std::chrono::steady_clock::now();
  while (!stop.stop_requested()) {
    {
      std::unique_lock lock(waiting_mutex_);
      wake_.wait_for(
          lock, stop, std::min<std::chrono::milliseconds>(kExpireEvery, settings_.every), [this] {
            return !dumps_.empty() || !loaded_.empty();
          });
    }
    make_dumps();
    check_dumps();
    expire();
    const auto now = std::chrono::steady_clock::now();
    if (now - kept_at >= settings_.every) {
      keep();
      kept_at = now;
    }
  }
}

void LocalStore::expire() {
  {
    const std::lock_guard lock(mutex_);
    const std::vector<Operation> drops = filters_.expired(settings_.wall_time());
    filters_.apply(drops);
    has_changed_ = has_changed_ || !drops.empty();
  }
  do_what_waits();
}

void LocalStore::keep() {
  if (settings_.path.empty()) {
    return;
  }
  std::shared_ptr<FiltersImage> image;
  try {
    image = begin_file();
    do_what_waits();
    if (!image) {
      return;
    }
    auto written = filter::WrittenFilterFile::write(
        settings_.path, [&](std::string& out) { return take_turn(*image, out); });
    if (written && is_lost(*image)) {
      throw std::bad_alloc();
    }
    const auto placed = written ? written->put_in_place() : std::unexpected(written.error());
    if (!placed) {
      settings_.on_trouble(placed.error().what);
    }
    end_file(image, placed.has_value());
  } catch (const std::exception& error) {
    settings_.on_trouble(settings_.path + ": " + error.what());
    end_file(image, false);
  }
}

// Null: nothing is to be written.
std::shared_ptr<FiltersImage> LocalStore::begin_file() {
  const std::lock_guard lock(mutex_);
  if (!has_changed_) {
    return nullptr;
  }
  if (const std::string why = filters_.why_unsure(); !why.empty()) {
    settings_.on_trouble(settings_.path +
                         " is not overwritten, to avoid losing its contents: " + why);
    return nullptr;
  }
  auto image = filters_.image();
  has_changed_ = false;
  return image;
}

void LocalStore::end_file(std::shared_ptr<FiltersImage>& image, bool is_written) {
  {
    const std::lock_guard lock(mutex_);
    image.reset();
    has_changed_ = has_changed_ || !is_written;  // once more, next time
  }
  do_what_waits();
}

// Operations may make it so.
bool LocalStore::is_lost(const FiltersImage& image) {
  const std::lock_guard lock(mutex_);
  return image.is_lost();
}

}  // namespace cuckooguard::filled
