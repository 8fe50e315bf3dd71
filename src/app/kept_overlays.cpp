#include "app/kept_overlays.h"

#include <algorithm>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <utility>

#include "filter/filter_file.h"
#include "io/clock.h"

namespace cuckooguard::app {
namespace {

constexpr std::string_view kBegins = "CGOVERLAYS 1\n";

std::uint64_t wall_milliseconds() {
  return static_cast<std::uint64_t>(io::wall_time().time_since_epoch().count());
}

template <class Number>
void append(std::string& bytes, Number number) {
  bytes.append(reinterpret_cast<const char*>(&number), sizeof number);
}

// From the front; nothing: there are too few bytes.
template <class Number>
std::optional<Number> take_number(std::string_view& bytes) {
  Number number{};
  if (bytes.size() < sizeof number) {
    return std::nullopt;
  }
  std::ranges::copy(bytes.substr(0, sizeof number), reinterpret_cast<char*>(&number));
  bytes.remove_prefix(sizeof number);
  return number;
}

template <class Size>
std::optional<std::string_view> take_text(std::string_view& bytes) {
  const auto size = take_number<Size>(bytes);
  if (!size || *size > bytes.size()) {
    return std::nullopt;
  }
  const std::string_view text = bytes.substr(0, *size);
  bytes.remove_prefix(*size);
  return text;
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
  append(all, wall_milliseconds());
  for (const Named& each : overlays_) {
    const std::string saved = each.overlay->saved(io::now_since_boot());
    append(all, static_cast<std::uint32_t>(each.ns.size()));
    all += each.ns;
    append(all, static_cast<std::uint64_t>(saved.size()));
    all += saved;
  }
  append(all, hash_(all));
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
    settings_.on_trouble(settings_.path + ": damaged, or of another guard; it is not used");
  }
}

bool KeptOverlays::take(std::string_view bytes) {
  if (bytes.size() < sizeof(std::uint64_t) || !bytes.starts_with(kBegins)) {
    return false;
  }
  std::string_view end = bytes.substr(bytes.size() - sizeof(std::uint64_t));
  bytes.remove_suffix(sizeof(std::uint64_t));
  if (take_number<std::uint64_t>(end) != hash_(bytes)) {
    return false;
  }
  bytes.remove_prefix(kBegins.size());
  const std::uint64_t now = wall_milliseconds();
  const std::uint64_t written_at = take_number<std::uint64_t>(bytes).value_or(0);
  // A calendar that was set back makes them stay for longer, which hides nothing.
  const std::chrono::milliseconds ago(now - std::min(now, written_at));
  const std::scoped_lock lock(mutex_);
  while (!bytes.empty()) {
    const auto name = take_text<std::uint32_t>(bytes);
    const auto saved = name ? take_text<std::uint64_t>(bytes) : std::nullopt;
    if (!saved) {
      return false;
    }
    const auto found = std::ranges::find(overlays_, *name, &Named::ns);
    if (found != overlays_.end()) {
      found->overlay->restore(*saved, io::now_since_boot(), ago);
    }
  }
  return true;
}

}  // namespace cuckooguard::app
