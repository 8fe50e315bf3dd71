#include "app/kept_overlays.h"

#include <algorithm>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

#include "filter/filter_file.h"
#include "io/clock.h"
#include "text/little_endian.h"

namespace cuckooguard::app {
namespace {

constexpr std::string_view kBegins = "CGOVERLAYS 1\n";

std::uint64_t wall_milliseconds() {
  return static_cast<std::uint64_t>(io::wall_time().time_since_epoch().count());
}

}  // namespace

KeptOverlays::~KeptOverlays() {
  if (thread_.joinable()) {
    thread_ = {};  // which has ended then
    keep();
  }
}

void KeptOverlays::follow(std::vector<Named> overlays) {
  const std::scoped_lock lock(mutex_);
  overlays_ = std::move(overlays);
}

void KeptOverlays::start() {
  thread_ = std::jthread([this](const std::stop_token& stop) {
    std::mutex own;
    std::unique_lock lock(own);
    // The predicate is never true: the pause ends by its time or by the stop.
    while (!woken_.wait_for(lock, stop, settings_.every, [] { return false; }) &&
           !stop.stop_requested()) {
      keep();
    }
  });
}

std::string KeptOverlays::bytes() {
  const std::scoped_lock lock(mutex_);
  std::string all(kBegins);
  text::put(all, wall_milliseconds());
  for (const Named& each : overlays_) {
    const std::string saved = each.overlay->saved(io::now_since_boot());
    text::put_text(all, each.ns);
    text::put_long_text(all, saved);
  }
  text::put(all, hash_(all));
  return all;
}

void KeptOverlays::keep() {
  try {
    auto written = filter::WrittenFilterFile::write(settings_.path, bytes());
    const auto placed = written ? written->put_in_place() : std::unexpected(written.error());
    if (!placed) {
      settings_.on_trouble(placed.error().what);
    }
  } catch (const std::exception& error) {  // no memory, say
    settings_.on_trouble(settings_.path + ": " + error.what());
  }
}

void KeptOverlays::restore() {
  std::error_code error;
  if (!std::filesystem::exists(settings_.path, error)) {
    return;
  }
  std::ifstream file(settings_.path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  if (!take(bytes)) {
    settings_.on_trouble(settings_.path +
                         ": the file is damaged, or belongs to another guard; it is ignored");
  }
}

bool KeptOverlays::take(std::string_view bytes) {
  if (bytes.size() < sizeof(std::uint64_t) || !bytes.starts_with(kBegins)) {
    return false;
  }
  const std::uint64_t hash = text::little_endian(bytes.substr(bytes.size() - sizeof hash));
  bytes.remove_suffix(sizeof hash);
  if (hash != hash_(bytes)) {
    return false;
  }
  text::LittleEndianCursor cursor(bytes.substr(kBegins.size()));
  const std::uint64_t now = wall_milliseconds();
  const std::uint64_t written_at = cursor.take<std::uint64_t>();
  // A calendar that was set back makes them stay for longer, which hides nothing.
  const std::chrono::milliseconds ago(now - std::min(now, written_at));
  const std::scoped_lock lock(mutex_);
  while (cursor.ok() && !cursor.at_end()) {
    const std::string_view name = cursor.take_text();
    const std::string_view saved = cursor.take_long_text();
    const auto found = std::ranges::find(overlays_, name, &Named::ns);
    if (cursor.ok() && found != overlays_.end()) {
      found->overlay->restore(saved, io::now_since_boot(), ago);
    }
  }
  return cursor.ok();
}

}  // namespace cuckooguard::app
