#include "bloom/key_origin.h"

#include <charconv>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "formats/formats.h"

namespace cuckooguard::source {
namespace {

using Kind = BloomReading::Kind;

BloomLook look_of(BloomReading trouble) {
  return {.kind = trouble.kind == Kind::refused ? BloomLook::Kind::refused : BloomLook::Kind::lost,
          .why = std::move(trouble.why)};
}

template <typename Number>
std::optional<Number> number_of(const resp::Value& hash, std::string_view name) {
  for (std::size_t i = 0; i + 1 < hash.list.size(); i += 2) {
    const std::string& text = hash.list[i + 1].text;
    Number number{};
    if (hash.list[i].text == name &&
        std::from_chars(text.data(), text.data() + text.size(), number).ec == std::errc{}) {
      return number;
    }
  }
  return std::nullopt;
}

std::optional<foreign::Parameters> shape_of(const resp::Value& hash) {
  const auto bits = number_of<std::uint64_t>(hash, "size");
  const auto hashes = number_of<std::uint32_t>(hash, "hashIterations");
  return bits && hashes ? std::optional(foreign::Parameters{.bits = *bits, .hashes = *hashes})
                        : std::nullopt;
}

BloomReading outcome_of(const std::string& key, foreign::FilterOrWhyNot filter) {
  if (!filter) {
    return {.kind = Kind::refused, .why = key + ": " + filter.error()};
  }
  return {.kind = Kind::taken, .filter = *std::move(filter)};
}

}  // namespace

BloomKeyOrigin::BloomKeyOrigin(config::BloomSource settings, OpenRedis open)
    : settings_(std::move(settings)), session_(std::move(open), settings_.key, settings_.db) {}

std::string BloomKeyOrigin::redisson_config_key(const std::string& name) {
  return foreign::redisson_key(name, "config");
}

BloomLook BloomKeyOrigin::look() {
  if (!session_.is_open()) {
    return {.kind = BloomLook::Kind::changed};
  }
  if (auto open = session_.be_open(); !open) {
    return look_of(std::move(open.error()));
  }
  auto changed = session_.has_changed();
  if (!changed) {
    return look_of(std::move(changed.error()));
  }
  return {.kind = *changed ? BloomLook::Kind::changed : BloomLook::Kind::unchanged};
}

BloomReading BloomKeyOrigin::read(const std::stop_token& stop) {
  if (auto open = session_.be_open(); !open) {
    return std::move(open.error());
  }
  std::vector<std::string> keys{settings_.key};
  if (settings_.format->has_shape_in_redis()) {
    keys.push_back(redisson_config_key(settings_.key));
  }
  BloomReading reading;
  for (int attempt = 0; attempt < kAttemptsMax; ++attempt) {
    if (auto watched = session_.watch(keys); !watched) {
      return std::move(watched.error());
    }
    reading = read_once(stop);
    const bool may_be_mixture = reading.kind == Kind::refused && !reading.is_missing;
    bool has_changed = reading.kind == Kind::unclear;
    if ((reading.must_have_stood_still || may_be_mixture) && session_.is_open()) {
      const auto changed = session_.has_changed();
      if (!changed) {
        return changed.error();
      }
      has_changed = *changed;
    }
    if (!has_changed) {
      return reading;
    }
    if (reading.kind == Kind::taken) {
      reading = {.kind = Kind::unclear, .why = why_unclear()};
    }
  }
  return settings_.format->is_dump()
             ? read_dump_at_once(session_, settings_.key, *settings_.format, stop)
             : reading;
}

std::string BloomKeyOrigin::why_unclear() const {
  return settings_.key +
         (session_.sees_changes()
              ? " changes faster than it can be read"
              : " cannot be read as one filter: the guard's user may not run WATCH or CLIENT INFO");
}

BloomReading BloomKeyOrigin::read_once(const std::stop_token& stop) {
  if (settings_.format->is_dump()) {
    return read_dump(session_, settings_.key, *settings_.format, stop);
  }
  return settings_.format->has_shape_in_redis() ? read_redisson(stop) : read_bitmap(stop);
}

BloomReading BloomKeyOrigin::read_bitmap(const std::stop_token& stop) {
  auto bytes = session_.text(stop);
  if (!bytes) {
    return std::move(bytes.error());
  }
  const bool is_in_pieces = bytes->size() >= BloomKeySession::kChunkBytes;
  BloomReading reading =
      outcome_of(settings_.key, settings_.format->read(*std::move(bytes), settings_.stated()));
  reading.must_have_stood_still =
      is_in_pieces && settings_.format->kept == foreign::Format::Kept::in_file;
  return reading;
}

BloomReading BloomKeyOrigin::read_redisson(const std::stop_token& stop) {
  const std::string config_key = redisson_config_key(settings_.key);
  const auto before = session_.ask({"HGETALL", config_key});
  if (!before) {
    return before.error();
  }
  const auto shape = shape_of(*before);
  if (!shape) {
    return {.kind = Kind::refused,
            .why = fmt::format("the hash {} does not say size and hashIterations: it is no "
                               "RBloomFilter of Redisson, or tryInit() has not been called",
                               config_key),
            .is_missing = true};
  }
  auto bytes = session_.text(stop);
  if (!bytes) {
    return std::move(bytes.error());
  }
  const auto after = session_.ask({"HGETALL", config_key});
  if (!after) {
    return after.error();
  }
  const auto shape_after = shape_of(*after);
  if (shape_after != shape) {
    return {.kind = Kind::unclear, .why = settings_.key + " was made anew while it was read"};
  }
  return outcome_of(settings_.key, settings_.format->read(*std::move(bytes), *shape));
}

}  // namespace cuckooguard::source
