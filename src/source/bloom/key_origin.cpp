#include "bloom/key_origin.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "formats/formats.h"
#include "text/try.h"

namespace cuckooguard::source {
namespace {

using Kind = BloomReading::Kind;

// What passes by itself.
constexpr std::array<std::string_view, 7> kPassing{
    "LOADING", "BUSY", "MASTERDOWN", "CLUSTERDOWN", "TRYAGAIN", "MOVED", "ASK"};

bool is_one_of(std::string_view error, std::span<const std::string_view> words) {
  return std::ranges::any_of(words,
                             [error](std::string_view word) { return error.starts_with(word); });
}

// Behind " flags=" in what CLIENT INFO says; nothing: it is not there.
std::optional<std::string_view> flags_of(std::string_view info) {
  constexpr std::string_view kName = " flags=";
  const std::size_t at = info.find(kName);
  if (at == std::string_view::npos) {
    return std::nullopt;
  }
  const std::string_view flags = info.substr(at + kName.size());
  return flags.substr(0, flags.find(' '));
}

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

BloomKeySession::BloomKeySession(OpenRedis open, std::string key, int db)
    : open_(std::move(open)), key_(std::move(key)), db_(db) {}

BloomKeySession::Outcome<resp::Value> BloomKeySession::ask(
    std::initializer_list<std::string_view> command) {
  auto answer = session_->ask(command);
  if (!answer) {
    session_.reset();
    return std::unexpected(Trouble{.kind = Kind::lost, .why = std::move(answer.error())});
  }
  if (answer->is_error()) {
    const bool passes = is_one_of(answer->text, kPassing);
    if (passes) {
      session_.reset();  // and perhaps another node has it by then
    }
    return std::unexpected(Trouble{
        .kind = passes ? Kind::lost : Kind::refused,
        .why = fmt::format(
            "Redis's reply to {} on the filter's key: {}", *command.begin(), answer->text)});
  }
  return *std::move(answer);
}

BloomKeySession::Outcome<void> BloomKeySession::be_open() {
  if (!session_) {
    if (!open_) {
      return std::unexpected(Trouble{.kind = Kind::lost, .why = "no Redis is configured"});
    }
    auto opened = open_(key_);
    if (!opened) {
      return std::unexpected(Trouble{.kind = Kind::lost, .why = std::move(opened.error())});
    }
    session_ = *std::move(opened);
    if (db_ != 0) {
      TRY(ask({"SELECT", std::to_string(db_)}));
    }
  }
  const auto info = TRY(ask({"INFO", "replication"}));
  if (!info.text.contains("role:master")) {
    session_.reset();  // and perhaps its address leads elsewhere by then
    return std::unexpected(Trouble{.kind = Kind::refused,
                                   .why = "Redis is a replica and may lack items added on its "
                                          "master: set upstream to the master"});
  }
  return {};
}

BloomKeySession::Outcome<void> BloomKeySession::watch(const std::vector<std::string>& keys) {
  sees_changes_ = false;
  const auto is_lost = [](const Outcome<resp::Value>& answer) {
    return !answer && answer.error().kind == Kind::lost;
  };
  if (auto unwatched = ask({"UNWATCH"}); is_lost(unwatched)) {
    return std::unexpected(std::move(unwatched.error()));
  }
  bool is_watched = true;
  for (const std::string& key : keys) {
    auto watched = ask({"WATCH", key});
    if (is_lost(watched)) {
      return std::unexpected(std::move(watched.error()));
    }
    is_watched = is_watched && watched.has_value();
  }
  auto info = ask({"CLIENT", "INFO"});
  if (is_lost(info)) {
    return std::unexpected(std::move(info.error()));
  }
  sees_changes_ = is_watched && info && flags_of(info->text);
  return {};
}

BloomKeySession::Outcome<bool> BloomKeySession::has_changed() {
  if (!sees_changes_) {
    return true;
  }
  const auto info = ask({"CLIENT", "INFO"});
  if (!info) {
    return info.error().kind == Kind::lost ? Outcome<bool>(std::unexpected(info.error()))
                                           : Outcome<bool>(true);
  }
  const auto flags = flags_of(info->text);
  return !flags || flags->contains('d');
}

BloomKeySession::Outcome<std::vector<resp::Value>> BloomKeySession::ask_at_once(
    const std::vector<std::vector<std::string>>& commands) {
  sees_changes_ = false;
  for (const std::string_view first : {"UNWATCH", "MULTI"}) {
    TRY(ask({first}));
  }
  std::optional<Trouble> trouble;
  for (const std::vector<std::string>& words : commands) {
    if (auto queued = ask({words.at(0), words.at(1), words.at(2)}); !queued) {
      trouble = std::move(queued.error());
      break;
    }
  }
  if (trouble) {
    if (session_) {
      (void)ask({"DISCARD"});
    }
    return std::unexpected(*std::move(trouble));
  }
  auto all = TRY(ask({"EXEC"}));
  if (all.list.size() != commands.size()) {
    return std::unexpected(
        Trouble{.kind = Kind::unclear, .why = key_ + " cannot be read atomically"});
  }
  return std::move(all.list);
}

BloomKeySession::Outcome<std::string> BloomKeySession::text(const std::stop_token& stop) {
  const std::string first_end = std::to_string(kChunkBytes - 1);
  auto first = TRY(ask({"GETRANGE", key_, "0", first_end}));
  std::string all = std::move(first.text);
  if (all.empty()) {
    return std::unexpected(missing());
  }
  if (all.size() < kChunkBytes) {
    return all;
  }
  const auto length = TRY(ask({"STRLEN", key_}));
  const auto bytes = static_cast<std::uint64_t>(length.number);
  if (bytes > kStringBytesMax) {
    return std::unexpected(Trouble{
        .kind = Kind::refused,
        .why = fmt::format("{} has {} bytes, more than a Redis bitmap can have", key_, bytes)});
  }
  all.reserve(bytes);
  while (all.size() < bytes) {
    if (stop.stop_requested()) {
      return std::unexpected(Trouble{.kind = Kind::stopped});
    }
    const std::uint64_t wanted = std::min(kChunkBytes, bytes - all.size());
    const auto chunk = TRY(ask(
        {"GETRANGE", key_, std::to_string(all.size()), std::to_string(all.size() + wanted - 1)}));
    if (chunk.text.size() != wanted) {
      return std::unexpected(
          Trouble{.kind = Kind::unclear, .why = key_ + " was replaced while it was being read"});
    }
    all += chunk.text;
  }
  return all;
}

BloomKeySession::Trouble BloomKeySession::missing() const {
  return {.kind = Kind::refused,
          .why = fmt::format("Redis has no filter at the key {} in db {}: the application has not "
                             "created it yet, or uses another key or db",
                             key_,
                             db_),
          .is_missing = true};
}

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
              ? " changes faster than the guard can read it"
              : " cannot be read consistently: the guard's user may not run WATCH or CLIENT INFO");
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
            .why = fmt::format("the hash {} lacks size and hashIterations: it is not an "
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
    return {.kind = Kind::unclear, .why = settings_.key + " was recreated while it was being read"};
  }
  return outcome_of(settings_.key, settings_.format->read(*std::move(bytes), *shape));
}

}  // namespace cuckooguard::source
