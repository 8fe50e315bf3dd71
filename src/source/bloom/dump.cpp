#include <expected>
#include <utility>
#include <vector>

#include "bloom/key_origin.h"
#include "foreign/format.h"
#include "text/try.h"

namespace cuckooguard::source {
namespace {

using Kind = BloomReading::Kind;

struct Chunk {
  std::string position;  // of the next
  std::string bytes;
};

// Redis's bytes: offsets of formats/formats.h.
constexpr std::size_t kCount = 8;
constexpr std::size_t kLayersAt = 8;
constexpr std::size_t kFirstLayer = 20;
constexpr std::size_t kLayerCountAt = 16;

std::uint32_t layers_of(std::string_view header) {
  std::uint32_t layers = 0;
  for (std::size_t i = sizeof(layers); i-- > 0;) {
    layers = (layers << 8U) | static_cast<unsigned char>(header[kLayersAt + i]);
  }
  return layers;
}

bool is_cuckoo(const foreign::Format& format) {
  return format.kept == foreign::Format::Kept::by_cuckoo_dump;
}

std::string_view command_of(const foreign::Format& format) {
  return is_cuckoo(format) ? "CF.SCANDUMP" : "BF.SCANDUMP";
}

std::expected<Chunk, BloomReading> chunk_of(resp::Value&& answer) {
  if (answer.list.size() != 2) {
    return std::unexpected(
        BloomReading{.kind = Kind::refused, .why = "Redis's reply to SCANDUMP is not a chunk"});
  }
  const resp::Value& at = answer.list[0];
  return Chunk{
      .position = at.kind == resp::Value::Kind::number ? std::to_string(at.number) : at.text,
      .bytes = std::move(answer.list[1].text)};
}

std::expected<Chunk, BloomReading> ask_chunk(BloomKeySession& session,
                                             const std::string& key,
                                             const foreign::Format& format,
                                             const std::string& position) {
  auto answer = session.ask({command_of(format), key, position});
  return answer ? chunk_of(*std::move(answer)) : std::unexpected(std::move(answer.error()));
}

// In their order, the header first and the empty one that is the end last.
struct Dump {
  std::vector<std::string> positions;
  std::string header;
  std::string data;

  bool take(const std::string& position, Chunk&& chunk) {
    positions.push_back(position);
    if (positions.size() == 1) {
      header = std::move(chunk.bytes);
    } else {
      data += chunk.bytes;
    }
    return data.size() <= kDumpBytesMax;
  }
};

std::expected<Dump, BloomReading> ask_dump(BloomKeySession& session,
                                           const std::string& key,
                                           const foreign::Format& format,
                                           const std::stop_token& stop) {
  Dump dump;
  std::string position = "0";
  bool is_end = false;
  while (!is_end) {
    if (stop.stop_requested()) {
      return std::unexpected(BloomReading{.kind = Kind::stopped});
    }
    auto chunk = TRY(ask_chunk(session, key, format, position));
    if (dump.positions.empty() && chunk.bytes.empty()) {
      return std::unexpected(session.missing());
    }
    is_end = chunk.bytes.empty() || chunk.position == "0";
    const std::string next = chunk.position;
    if (!dump.take(position, std::move(chunk))) {
      return std::unexpected(BloomReading{.kind = Kind::refused,
                                          .why = "the filter is larger than 4 GiB, the maximum"});
    }
    position = next;
  }
  return dump;
}

BloomReading reading_of(const std::string& key, const foreign::Format& format, Dump dump) {
  auto filter = format.read_dump(dump.header, std::move(dump.data));
  if (!filter) {
    return {.kind = Kind::refused, .why = key + ": " + filter.error()};
  }
  return {.kind = Kind::taken, .filter = *std::move(filter)};
}

BloomReading unclear(const std::string& key) {
  return {.kind = Kind::unclear, .why = key + " changes faster than the guard can dump it"};
}

}  // namespace

bool have_same_layers(std::string_view header, std::string_view other) {
  if (header.size() != other.size() || header.size() < kFirstLayer) {
    return false;
  }
  const std::uint32_t layers = layers_of(header);
  const std::size_t layer_bytes = layers == 0 ? 0 : (header.size() - kFirstLayer) / layers;
  std::string one(header);
  std::string two(other);
  for (std::string* each : {&one, &two}) {
    each->replace(0, kCount, kCount, '\0');
    for (std::uint32_t i = 0; i < layers && layer_bytes >= kLayerCountAt + kCount; ++i) {
      each->replace(kFirstLayer + i * layer_bytes + kLayerCountAt, kCount, kCount, '\0');
    }
  }
  return one == two;
}

BloomReading read_dump(BloomKeySession& session,
                       const std::string& key,
                       const foreign::Format& format,
                       const std::stop_token& stop) {
  auto dump = ask_dump(session, key, format, stop);
  if (!dump) {
    return std::move(dump.error());
  }
  const auto again = ask_chunk(session, key, format, "0");
  if (!again) {
    return again.error();
  }
  if (is_cuckoo(format) ? again->bytes != dump->header
                        : !have_same_layers(again->bytes, dump->header)) {
    return unclear(key);
  }
  const bool has_one_layer = !is_cuckoo(format) && layers_of(dump->header) == 1;
  BloomReading reading = reading_of(key, format, *std::move(dump));
  reading.must_have_stood_still = !has_one_layer;
  return reading;
}

// The positions are those of a dump before; if it has others by now, that is seen.
BloomReading read_dump_at_once(BloomKeySession& session,
                               const std::string& key,
                               const foreign::Format& format,
                               const std::stop_token& stop) {
  const auto before = ask_dump(session, key, format, stop);
  if (!before) {
    return before.error();
  }
  if (before->data.size() > kAtOnceBytesMax) {
    return unclear(key);
  }
  std::vector<std::vector<std::string>> commands;
  for (const std::string& position : before->positions) {
    commands.push_back({std::string(command_of(format)), key, position});
  }
  auto all = session.ask_at_once(commands);
  if (!all) {
    const bool is_lost = all.error().kind == Kind::lost;
    return is_lost ? std::move(all.error()) : unclear(key);
  }
  Dump dump;
  for (std::size_t i = 0; i < all->size(); ++i) {
    auto chunk = chunk_of(std::move((*all)[i]));
    if (!chunk) {
      return unclear(key);
    }
    const bool is_end = chunk->bytes.empty() || chunk->position == "0";
    const bool is_last = i + 1 == all->size();
    if (is_end != is_last || (!is_last && chunk->position != before->positions[i + 1])) {
      return unclear(key);
    }
    dump.take(before->positions[i], *std::move(chunk));
  }
  return reading_of(key, format, std::move(dump));
}

}  // namespace cuckooguard::source
