#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <random>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/output.h"
#include "config/config_file.h"
#include "filter_tool/commands.h"
#include "filter_tool/whole_file.h"
#include "formats/bitmap_filter.h"
#include "formats/formats.h"
#include "text/number.h"
#include "text/printable.h"
#include "text/try.h"

namespace cuckooguard::cli {
namespace {

using text::printable;

constexpr std::size_t kPieceBytes = std::size_t{1} << 20U;
constexpr std::uint64_t kBitmapBytesMax = foreign::kRedisBitsMax / 8;
// For an export that was interrupted. Each piece, and the transaction, would notice that it is
// over.
constexpr std::string_view kSecondsOfPieces = "3600";

using Done = std::expected<void, std::string>;
using Kind = resp::Value::Kind;

std::expected<std::uint64_t, std::string> ask_number(RedisCall& redis,
                                                     const std::vector<std::string_view>& words) {
  const auto reply = TRY(redis.ask(words));
  if (reply.kind != Kind::number || reply.number < 0) {
    return std::unexpected(fmt::format("{}: the reply is not a number", words.front()));
  }
  return static_cast<std::uint64_t>(reply.number);
}

// What Redisson's hash says; no bits if there is none.
std::expected<foreign::Shape, std::string> shape_in_redis(RedisCall& redis,
                                                          const std::string& hash) {
  const auto reply = TRY(redis.ask({"HMGET", hash, "size", "hashIterations"}));
  const std::vector<resp::Value>& values = reply.list;
  if (values.size() != 2) {
    return std::unexpected("HMGET: the reply does not have two fields");
  }
  foreign::Shape shape;
  if (std::ranges::all_of(values, [](const auto& each) { return each.kind == Kind::nothing; })) {
    return shape;
  }
  shape.bits = text::number_of<decltype(shape.bits)>(values[0].text).value_or(0);
  const auto hashes = text::number_of<decltype(shape.hashes)>(values[1].text);
  if (shape.bits == 0 || !hashes) {
    return std::unexpected(printable(hash) + ": size and hashIterations are not numbers");
  }
  shape.hashes = *hashes;
  return shape;
}

std::expected<std::string, std::string> piece_of(RedisCall& redis,
                                                 const std::string& key,
                                                 std::size_t begin) {
  const std::string first = fmt::to_string(begin);
  const std::string last = fmt::to_string(begin + kPieceBytes - 1);
  auto reply = TRY(redis.ask({"GETRANGE", key, first, last}));
  return std::move(reply.text);
}

bool has_bits_of(std::string_view now, std::string_view before) {
  return now.size() >= before.size() &&
         std::ranges::equal(before, now.substr(0, before.size()), [](char old, char bits) {
           return (static_cast<unsigned char>(old) & ~static_cast<unsigned char>(bits)) == 0;
         });
}

std::expected<std::string, std::string> bitmap_in_redis(RedisCall& redis, const std::string& key) {
  std::string bytes;
  std::size_t read = kPieceBytes;
  while (read == kPieceBytes) {
    const auto piece = TRY(piece_of(redis, key, bytes.size()));
    read = piece.size();
    bytes += piece;
    if (bytes.size() > kBitmapBytesMax) {
      return std::unexpected(printable(key) + ": the filter is larger than a Redis bitmap can be");
    }
  }
  // Bits are never taken back: a key that lacks one is another filter, and what was read, two
  // halves.
  const auto still = TRY(piece_of(redis, key, 0));
  if (!has_bits_of(still, std::string_view(bytes).substr(0, kPieceBytes))) {
    return std::unexpected(printable(key) +
                           ": the key was replaced while it was being read; try again");
  }
  return bytes;
}

// Into a key that nobody else knows.
Done upload(RedisCall& redis, const std::string& beside, std::string_view bytes) {
  const std::string_view first = bytes.substr(0, kPieceBytes);
  TRY(redis.ask({"SET", beside, first, "EX", kSecondsOfPieces}));
  for (std::size_t sent = first.size(); sent < bytes.size();) {
    const std::string_view piece = bytes.substr(sent, kPieceBytes);
    sent += piece.size();
    const auto size = TRY(ask_number(redis, {"APPEND", beside, piece}));
    if (size != sent) {
      return std::unexpected(printable(beside) + ": the key changed during the export; try again");
    }
  }
  return {};
}

using Commands = std::vector<std::vector<std::string_view>>;

// Nothing of it, if `watched` is not of `size` bytes, or changes.
Done transact(RedisCall& redis,
              const std::string& watched,
              std::size_t size,
              const Commands& commands) {
  TRY(redis.ask({"WATCH", watched}));
  const auto there = TRY(ask_number(redis, {"STRLEN", watched}));
  TRY(redis.ask({"MULTI"}));
  for (const auto& command : commands) {
    TRY(redis.ask(command));
  }
  const auto reply = TRY(redis.ask({there == size ? "EXEC" : "DISCARD"}));
  if (reply.kind != Kind::list) {
    return std::unexpected(printable(watched) + ": the key changed during the export; try again");
  }
  for (const resp::Value& each : reply.list) {
    if (each.is_error()) {
      return std::unexpected(each.text);
    }
  }
  return {};
}

std::string random_name() {
  std::random_device random;
  return fmt::format("cuckooguard-{:08x}{:08x}", random(), random());
}

// The fields of Redisson's hash. What tryInit() was asked for a file does not tell: these are the
// items with which half of the bits are set, and the rate that there is then.
std::vector<std::string> fields_of(const foreign::Facts& facts) {
  const auto bits = static_cast<double>(facts.bits_or_slots);
  const double items = std::max(std::floor(bits * std::numbers::ln2 / facts.hashes), 1.0);
  return {"size",
          fmt::to_string(facts.bits_or_slots),
          "hashIterations",
          fmt::to_string(facts.hashes),
          "expectedInsertions",
          fmt::to_string(static_cast<std::uint64_t>(items)),
          "falseProbability",
          fmt::to_string(std::pow(0.5, facts.hashes))};
}

Done replace_key(RedisCall& redis, const std::string& key, const foreign::Filter& filter) {
  const std::string bytes = filter.bytes();
  const foreign::Facts facts = filter.facts();
  const std::string beside = foreign::redisson_key(key, random_name());
  const std::string hash = foreign::redisson_key(key, "config");
  const std::vector<std::string> fields = fields_of(facts);
  Commands commands{{"PERSIST", beside}, {"RENAME", beside, key}};
  if (facts.format == "redisson") {
    const auto there = TRY(shape_in_redis(redis, hash));
    if (there.bits != facts.bits_or_slots || there.hashes != facts.hashes) {
      commands.push_back({"DEL", hash});
      std::vector<std::string_view>& command = commands.emplace_back();
      command = {"HSET", hash};
      command.insert(command.end(), fields.begin(), fields.end());
    }
  }
  Done done = upload(redis, beside, bytes);
  if (done) {
    done = transact(redis, beside, bytes.size(), commands);
  }
  if (!done) {
    static_cast<void>(redis.call({"DISCARD"}));  // if it came so far
    static_cast<void>(redis.call({"DEL", beside}));
  }
  return done;
}

std::optional<std::string> refuse_format(const ForeignFile& file) {
  if (file.is_bitmap()) {
    return std::nullopt;
  }
  return fmt::format("--format {} exists only as a file; Redis holds only bitmaps", file.format);
}

// What is read as `file` says, which learns of Redisson's hash what it does not say.
foreign::FilterOrWhyNot filter_in_redis(RedisCall& redis,
                                        const std::string& key,
                                        ForeignFile& file) {
  const bool has_hash = file.has_shape_in_redis();
  const std::string hash = foreign::redisson_key(key, "config");
  foreign::Shape shape;
  if (has_hash) {
    shape = TRY(shape_in_redis(redis, hash));
    if (shape.bits == 0) {
      return std::unexpected(printable(hash) + ": this Redisson hash does not exist");
    }
    if ((file.bits != 0 && file.bits != shape.bits) ||
        (file.hashes != 0 && file.hashes != shape.hashes)) {
      return std::unexpected(fmt::format(
          "{}: the hash has --bits {} --hashes {}", printable(hash), shape.bits, shape.hashes));
    }
    file.bits = shape.bits;
    file.hashes = shape.hashes;
  }
  auto bytes = TRY(bitmap_in_redis(redis, key));
  if (has_hash) {
    const auto still = shape_in_redis(redis, hash);
    if (!still || still->bits != shape.bits || still->hashes != shape.hashes) {
      return std::unexpected(printable(key) +
                             ": the key was replaced while it was being read; try again");
    }
  } else if (bytes.empty()) {
    return std::unexpected(printable(key) + ": the key does not exist");
  }
  auto filter = file.read_bytes(std::move(bytes));
  return filter ? std::move(filter)
                : foreign::FilterOrWhyNot(std::unexpected(printable(key) + ": " + filter.error()));
}

}  // namespace

void RedisKey::add(Parser command) {
  command
      .add_option("--redis",
                  into(address, config::parse_address),
                  "ADDRESS",
                  "Redis: host:port or unix:/path")
      .required();
  command.add_option("--key", key, "KEY", "The bitmap's key").required();
  command.add_option("--db", db, "N", "Redis database number");
  login.add(command, "Log in as this Redis user");
  tls.add(command, "--cert-key");
}

std::expected<RedisCall, std::string> RedisKey::open() const {
  if (!address) {
    return std::unexpected("--redis HOST:PORT is required");
  }
  auto redis = TRY(RedisCall::open(*address, kTimeout, tls.chosen(), login.with_environment()));
  if (db != 0) {
    TRY(redis.ask({"SELECT", fmt::to_string(db)}));
  }
  return redis;
}

Parser ImportFilter::add(Parser filter) {
  Parser command = filter.add_subcommand(
      "import", "Copy a Redis bitmap into a file, and print the flags that later commands need");
  command.add_option("file", path, "FILE", "The filter file").required();
  foreign.add(command).required();
  redis.add(command);
  command.add_flag("--force", force, "Replace the file if it exists");
  return command;
}

int ImportFilter::run() const {
  return print(import_filter(*this));
}

Parser ExportFilter::add(Parser filter) {
  Parser command =
      filter.add_subcommand("export", "Write a file's bitmap to Redis, replacing the key's value");
  command.add_option("file", path, "FILE", "The filter file").required();
  foreign.add(command).required();
  redis.add(command);
  return command;
}

int ExportFilter::run() const {
  return print(export_filter(*this));
}

std::expected<std::string, std::string> import_filter(const ImportFilter& options) {
  ForeignFile foreign = options.foreign;
  if (auto why = refuse_format(foreign)) {
    return std::unexpected(*std::move(why));
  }
  if (auto missing = foreign.missing_flags(); missing && !foreign.has_shape_in_redis()) {
    return std::unexpected(*std::move(missing));
  }
  auto file = TRY(
      FileReplacement::begin(options.path, options.force ? Existing::replaced : Existing::refused));
  auto redis = TRY(options.redis.open());
  const auto filter = TRY(filter_in_redis(redis, options.redis.key, foreign));
  TRY(file.commit(filter->bytes()));
  return told(filter->facts());
}

std::expected<std::string, std::string> export_filter(const ExportFilter& options) {
  if (auto why = refuse_format(options.foreign)) {
    return std::unexpected(*std::move(why));
  }
  const auto filter = TRY(options.foreign.read(options.path));
  auto redis = TRY(options.redis.open());
  TRY(replace_key(redis, options.redis.key, *filter));
  return told(filter->facts());
}

}  // namespace cuckooguard::cli
