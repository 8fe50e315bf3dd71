#include "bloom/dump.h"

#include <expected>
#include <utility>

#include "foreign/redisbloom.h"

namespace cuckooguard::source {
namespace {

using Kind = BloomReading::Kind;

constexpr int kAttemptsMax = 3;

struct Chunk {
  std::string position;  // of the next
  std::string bytes;
};

// Redis's bytes: offsets of foreign/redisbloom.h.
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

std::expected<Chunk, BloomReading> ask_chunk(BloomKeySession& session,
                                             const std::string& key,
                                             bool is_cuckoo,
                                             const std::string& position) {
  auto answer = session.ask({is_cuckoo ? "CF.SCANDUMP" : "BF.SCANDUMP", key, position});
  if (!answer) {
    return std::unexpected(std::move(answer.error()));
  }
  if (answer->list.size() != 2) {
    return std::unexpected(
        BloomReading{.kind = Kind::refused, .why = "Redis's reply to SCANDUMP is no chunk"});
  }
  const resp::Value& at = answer->list[0];
  return Chunk{
      .position = at.kind == resp::Value::Kind::number ? std::to_string(at.number) : at.text,
      .bytes = std::move(answer->list[1].text)};
}

std::expected<std::string, BloomReading> ask_data(BloomKeySession& session,
                                                  const std::string& key,
                                                  bool is_cuckoo,
                                                  std::string position,
                                                  const std::stop_token& stop) {
  std::string data;
  while (position != "0") {
    if (stop.stop_requested()) {
      return std::unexpected(BloomReading{.kind = Kind::stopped});
    }
    auto chunk = ask_chunk(session, key, is_cuckoo, position);
    if (!chunk) {
      return std::unexpected(std::move(chunk.error()));
    }
    if (chunk->bytes.empty()) {
      break;
    }
    if (data.size() + chunk->bytes.size() > kDumpBytesMax) {
      return std::unexpected(
          BloomReading{.kind = Kind::refused, .why = "a filter of more than 4 GiB is not read"});
    }
    data += chunk->bytes;
    position = std::move(chunk->position);
  }
  return data;
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
                       bool is_cuckoo,
                       const std::stop_token& stop) {
  for (int attempt = 0; attempt < kAttemptsMax; ++attempt) {
    auto header = ask_chunk(session, key, is_cuckoo, "0");
    if (!header) {
      return std::move(header.error());
    }
    if (header->bytes.empty()) {
      return session.missing();
    }
    auto data = ask_data(session, key, is_cuckoo, header->position, stop);
    if (!data) {
      return std::move(data.error());
    }
    const auto again = ask_chunk(session, key, is_cuckoo, "0");
    if (!again) {
      return again.error();
    }
    if (is_cuckoo ? again->bytes != header->bytes
                  : !have_same_layers(again->bytes, header->bytes)) {
      continue;
    }
    auto filter = is_cuckoo ? foreign::read_redisbloom_cuckoo(header->bytes, *std::move(data))
                            : foreign::read_redisbloom_bloom(header->bytes, *std::move(data));
    if (!filter) {
      return {.kind = Kind::refused, .why = key + ": " + filter.error()};
    }
    return {.kind = Kind::taken, .filter = *std::move(filter)};
  }
  return {.kind = Kind::unclear, .why = key + " changes faster than it can be dumped"};
}

}  // namespace cuckooguard::source
