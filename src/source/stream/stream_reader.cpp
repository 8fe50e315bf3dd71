#include "stream/stream_reader.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "text/number.h"
#include "text/try.h"
#include "text/words.h"

namespace cuckooguard::source::stream {
namespace {

constexpr std::size_t kAnswers = 2;  // to XREAD and XINFO

const resp::Value* member(const resp::Value& pairs, std::string_view name) {
  for (std::size_t i = 0; i + 1 < pairs.list.size(); i += 2) {
    if (pairs.list[i].text == name) {
      return &pairs.list[i + 1];
    }
  }
  return nullptr;
}

// Of `XREAD STREAMS stream id`: [[stream, entries]], or nothing.
std::vector<resp::Value> entries_of(resp::Value& reply) {
  if (reply.list.size() != 1) {
    return {};
  }
  // RESP2 has pairs, RESP3 a map.
  resp::Value& first = reply.list.front();
  return first.list.size() == 2 ? std::move(first.list[1].list) : std::vector<resp::Value>{};
}

}  // namespace

std::string StreamReader::Id::text() const {
  return fmt::format("{}-{}", milliseconds, number);
}

std::optional<StreamReader::Id> StreamReader::Id::parse(std::string_view text) {
  const std::size_t dash = text.find('-');
  const auto milliseconds = text::number_of<std::uint64_t>(text.substr(0, dash));
  const auto number = dash == std::string_view::npos
                          ? std::nullopt
                          : text::number_of<std::uint64_t>(text.substr(dash + 1));
  return milliseconds && number ? std::optional(Id{*milliseconds, *number}) : std::nullopt;
}

StreamReader::StreamReader(OpenRedis open, std::vector<std::string> streams, int db)
    : open_(std::move(open)), db_(db) {
  for (std::string& stream : streams) {
    numbers_.push_back({channels_.size()});
    channels_.push_back({.stream = std::move(stream)});
  }
}

// The last entry, how many were read, and how many had been taken out before.
std::string StreamReader::place(std::size_t number) const {
  const Channel& channel = channels_[number];
  return fmt::format("{} {} {}", channel.last.text(), channel.read, channel.before.value_or(0));
}

bool StreamReader::go_on_at(std::size_t number, std::string_view place) {
  const auto last = Id::parse(text::take_word(place));
  const auto read = text::number_of<std::uint64_t>(text::take_word(place));
  const auto before = text::number_of<std::uint64_t>(place);
  if (!last || !read || !before) {
    return false;
  }
  Channel& channel = channels_[number];
  channel.last = *last;
  channel.read = *read;
  channel.before = *before;
  return true;
}

void StreamReader::begin_anew(std::size_t channel) {
  channels_[channel].last = {};
  channels_[channel].read = 0;
  channels_[channel].before.reset();
}

std::expected<Batch, std::string> StreamReader::read(std::size_t number) {
  Channel& channel = channels_[number];
  auto reply = ask(channel);
  if (!reply) {
    channel.session.reset();
    return std::unexpected(std::move(reply.error()));
  }
  Batch batch;
  entries_ = entries_of(reply->list[0]);
  const auto before = std::pair(channel.last, channel.read);
  auto taken = take_entries(channel, batch);
  if (taken) {
    taken = compare(channel, reply->list[1], batch);
  }
  if (!taken) {
    std::tie(channel.last, channel.read) = before;
    return std::unexpected(channel.stream + ": " + taken.error());
  }
  return batch;
}

// Both of one moment.
std::expected<resp::Value, std::string> StreamReader::ask(Channel& channel) {
  if (!channel.session) {
    if (!open_) {
      return std::unexpected("no Redis is configured");
    }
    channel.session = TRY(open_(channel.stream));
    if (db_ != 0) {
      const auto selected = TRY(channel.session->ask({"SELECT", std::to_string(db_)}));
      if (selected.is_error()) {
        return std::unexpected("Redis's reply to SELECT: " + selected.text);
      }
    }
  }
  RedisSession& redis = *channel.session;
  TRY(redis.ask({"MULTI"}));
  TRY(redis.ask({"XREAD",
                 "COUNT",
                 std::to_string(channel.count),
                 "STREAMS",
                 channel.stream,
                 channel.last.text()}));
  TRY(redis.ask({"XINFO", "STREAM", channel.stream}));
  auto reply = TRY(redis.ask({"EXEC"}));
  if (reply.is_error() || reply.list.size() != kAnswers || reply.list[0].is_error()) {
    const std::string& why =
        reply.is_error() || reply.list.empty() ? reply.text : reply.list[0].text;
    return std::unexpected(
        fmt::format("Redis's reply to reading the stream {}: {}", channel.stream, why));
  }
  return reply;
}

std::expected<void, std::string> StreamReader::take_entries(Channel& channel, Batch& batch) {
  std::size_t bytes = 0;
  for (const resp::Value& entry : entries_) {
    const auto id = entry.list.size() == 2 ? Id::parse(entry.list[0].text) : std::nullopt;
    if (!id || *id <= channel.last) {
      return std::unexpected("Redis's reply to XREAD is not understood");
    }
    std::vector<std::string_view> fields;
    for (const resp::Value& field : entry.list[1].list) {
      fields.emplace_back(field.text);
      bytes += field.text.size();
    }
    Entry& added = batch.entries.emplace_back(Entry{.message = {}, .id = entry.list[0].text});
    auto message = message_of(fields, debezium::NullWords{});
    if (message) {
      added.message = *message;
    } else {
      added.trouble = "an entry is not one of Debezium Server's Redis sink";
    }
    channel.last = *id;
    ++channel.read;
  }
  if (!batch.entries.empty()) {
    const std::size_t each = bytes / batch.entries.size() + 1;
    channel.count = std::clamp<std::uint64_t>(kBytesWanted / each, 1, kEntriesMax);
  }
  return {};
}

std::expected<void, std::string> StreamReader::compare(Channel& channel,
                                                       const resp::Value& info,
                                                       Batch& batch) {
  if (info.is_error()) {  // there is no such stream, yet or any more
    if (!info.text.contains("no such key")) {
      return std::unexpected("Redis's reply to XINFO: " + info.text);
    }
    batch.has_gap = channel.last != Id{} || channel.before.value_or(0) != 0;
    batch.is_at_end = batch.is_whole = !batch.has_gap;
    channel.before = batch.has_gap ? channel.before : std::optional<std::uint64_t>(0);
    return {};
  }
  const resp::Value* const added = member(info, "entries-added");
  const resp::Value* const newest = member(info, "last-generated-id");
  const resp::Value* const length = member(info, "length");
  const auto newest_id = newest == nullptr ? std::nullopt : Id::parse(newest->text);
  if (added == nullptr || length == nullptr || !newest_id) {
    return std::unexpected("XINFO STREAM has no entries-added: streams are read from Redis 7 on");
  }
  batch.left = static_cast<std::uint64_t>(length->number);
  const auto all = static_cast<std::uint64_t>(added->number);
  if (*newest_id < channel.last || all < channel.read + channel.before.value_or(0)) {
    batch.has_gap = true;
    return {};
  }
  if (!channel.before) {  // the first time: what was taken out is in front of all that there is
    channel.before = all - batch.left;
  }
  batch.is_at_end = *newest_id == channel.last || batch.entries.empty();
  batch.has_gap = batch.is_at_end && all != channel.read + *channel.before;
  batch.is_whole = *channel.before == 0;
  return {};
}

}  // namespace cuckooguard::source::stream
