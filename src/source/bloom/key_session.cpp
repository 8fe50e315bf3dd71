#include "bloom/key_session.h"

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <utility>

#include <fmt/format.h>

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
            "Redis's reply to {} of the filter's key: {}", *command.begin(), answer->text)});
  }
  return *std::move(answer);
}

BloomKeySession::Outcome<void> BloomKeySession::be_open() {
  if (!session_) {
    if (!open_) {
      return std::unexpected(Trouble{.kind = Kind::lost, .why = "there is no Redis to ask"});
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
    return std::unexpected(Trouble{
        .kind = Kind::refused,
        .why = "Redis is a replica, and may lack what was added at its master: let upstream lead "
               "to the master"});
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
    return std::unexpected(Trouble{.kind = Kind::unclear, .why = key_ + " cannot be read at once"});
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
        .why = fmt::format("{} has {} bytes, more than a bitmap of Redis can have", key_, bytes)});
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
          Trouble{.kind = Kind::unclear, .why = key_ + " was replaced while it was read"});
    }
    all += chunk.text;
  }
  return all;
}

BloomKeySession::Trouble BloomKeySession::missing() const {
  return {.kind = Kind::refused,
          .why = fmt::format("Redis has no filter under the key {} in db {}: the application has "
                             "yet to fill it, or it has another name or db",
                             key_,
                             db_),
          .is_missing = true};
}

}  // namespace cuckooguard::source
