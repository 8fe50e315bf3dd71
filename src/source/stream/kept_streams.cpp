#include "stream/kept_streams.h"

#include <filesystem>
#include <fstream>
#include <string_view>
#include <utility>

#include "filter/filter_file.h"
#include "text/little_endian.h"
#include "text/try.h"

namespace cuckooguard::source::stream {
namespace {

constexpr std::string_view kFormat = "cuckooguard streams 1";
constexpr std::size_t kRowBytes = 16;
constexpr std::size_t kRowsOfBlock = std::size_t{64} << 10;

std::uint64_t checksum_of(std::uint64_t number, std::string_view block) {
  return filter::hash_of_definition(block) ^ (number * 0x9E3779B97F4A7C15U);
}

class Writer {
 public:
  Writer(std::uint64_t secret,
         std::span<const KeptStreams::Channel> channels,
         std::vector<const StreamedTable*> tables)
      : secret_(secret), channels_(channels), tables_(std::move(tables)) {}

  // Appends a block. False: that was the last.
  bool next(std::string& out) {
    std::string block;
    const bool is_more = write(block);
    text::put_text(out, block);
    text::put(out, checksum_of(number_++, block));
    return is_more;
  }

 private:
  bool write(std::string& block) {
    if (number_ == 0) {
      text::put_text(block, kFormat);
      text::put(block, secret_);
      text::put(block, std::uint64_t{channels_.size()});
      text::put(block, std::uint64_t{tables_.size()});
    } else if (number_ <= channels_.size()) {
      const KeptStreams::Channel& channel = channels_[number_ - 1];
      text::put_text(block, channel.topic);
      text::put(block, channel.partition);
      text::put_text(block, channel.place);
      text::put_text(block, channel.seen);
    } else if (!row_) {
      const StreamedTable& table = *tables_[table_];
      text::put(block, table.plan().definition);
      text::put(block, static_cast<std::uint64_t>(table.torn_until().count()));
      text::put(block, std::uint64_t{table.rows().size()});
      text::put_text(block, table.isolated().bytes());
      row_ = table.rows().begin();
    } else {
      for (std::size_t i = 0; i < kRowsOfBlock && *row_ != rows().end(); ++i, ++*row_) {
        text::put(block, (*row_)->first);
        text::put(block, (*row_)->second);
      }
    }
    if (row_ && *row_ == rows().end()) {
      row_.reset();
      ++table_;
    }
    return number_ < channels_.size() || table_ < tables_.size();
  }
  const StreamedTable::Rows& rows() const { return tables_[table_]->rows(); }

  std::uint64_t secret_;
  std::span<const KeptStreams::Channel> channels_;
  std::vector<const StreamedTable*> tables_;
  std::uint64_t number_ = 0;
  std::size_t table_ = 0;
  std::optional<StreamedTable::Rows::const_iterator> row_{};
};

class Blocks {
 public:
  explicit Blocks(const std::string& path) : file_(path, std::ios::binary) {}

  // Valid until the next. Not ok(): there is none, or it is damaged.
  text::LittleEndianCursor next() {
    const std::string_view length = take(sizeof(std::uint32_t));
    const std::size_t size = text::LittleEndianCursor(length).take<std::uint32_t>();
    if (length.empty() || size > KeptStreams::kBlockMax) {
      return failed();
    }
    std::string_view taken = take(size + sizeof(std::uint64_t));
    const std::string_view block = taken.substr(0, size);
    taken.remove_prefix(block.size());
    const auto sum = text::LittleEndianCursor(taken).take<std::uint64_t>();
    return taken.empty() || sum != checksum_of(number_++, block) ? failed()
                                                                 : text::LittleEndianCursor(block);
  }

 private:
  std::string_view take(std::size_t size) {
    buffer_.resize(size);
    file_.read(buffer_.data(), static_cast<std::streamsize>(size));
    return file_ ? std::string_view(buffer_) : std::string_view();
  }
  static text::LittleEndianCursor failed() {
    text::LittleEndianCursor none{std::string_view()};
    none.fail();
    return none;
  }

  std::ifstream file_;
  std::string buffer_;
  std::uint64_t number_ = 0;
};

std::optional<KeptStreams::Channel> take_channel(text::LittleEndianCursor from) {
  KeptStreams::Channel channel;
  channel.topic = from.take_text();
  channel.partition = from.take<std::uint64_t>();
  channel.place = from.take_text();
  channel.seen = from.take_text();
  return from.at_end() ? std::optional(std::move(channel)) : std::nullopt;
}

std::optional<KeptStreams::Table> take_table(Blocks& blocks) {
  auto head = blocks.next();
  KeptStreams::Table table;
  table.definition = head.take<std::uint64_t>();
  table.torn_until =
      std::chrono::milliseconds(static_cast<std::int64_t>(head.take<std::uint64_t>()));
  const auto rows = head.take<std::uint64_t>();
  auto isolated = filter::IsolatedRows::parse(head.take_text());
  if (!head.at_end() || !isolated) {
    return std::nullopt;
  }
  table.isolated = *std::move(isolated);
  while (table.rows.size() < rows) {
    auto block = blocks.next();
    if (!block.ok() || block.left() == 0 || block.left() % kRowBytes != 0) {
      return std::nullopt;
    }
    while (block.left() > 0) {
      const auto digest = block.take<std::uint64_t>();
      if (!table.rows.emplace(digest, block.take<std::uint64_t>()).second) {
        return std::nullopt;
      }
    }
  }
  return table;
}

}  // namespace

std::expected<std::optional<KeptStreams>, std::string> KeptStreams::read(const std::string& path,
                                                                         std::uint64_t secret) {
  if (std::error_code error; !std::filesystem::exists(path, error)) {
    return std::nullopt;
  }
  Blocks blocks(path);
  auto first = blocks.next();
  const bool is_known = first.take_text() == kFormat;
  const bool is_ours = first.take<std::uint64_t>() == secret;
  const auto channels = first.take<std::uint64_t>();
  const auto tables = first.take<std::uint64_t>();
  if (!is_known || !first.at_end()) {
    return std::unexpected(path + " is not what a source of type debezium has kept");
  }
  if (!is_ours) {
    return std::unexpected(path + " is of another secret");
  }
  const auto damaged = std::unexpected(path + " is damaged");
  KeptStreams kept;
  for (std::uint64_t i = 0; i < channels; ++i) {
    auto channel = take_channel(blocks.next());
    if (!channel) {
      return damaged;
    }
    kept.channels.push_back(*std::move(channel));
  }
  for (std::uint64_t i = 0; i < tables; ++i) {
    auto table = take_table(blocks);
    if (!table) {
      return damaged;
    }
    kept.tables.push_back(*std::move(table));
  }
  return kept;
}

std::expected<void, std::string> keep_streams(const std::string& path,
                                              std::uint64_t secret,
                                              std::span<const KeptStreams::Channel> channels,
                                              std::span<const StreamedTable> tables) {
  std::vector<const StreamedTable*> followed;
  for (const StreamedTable& table : tables) {
    if (table.is_following()) {
      followed.push_back(&table);
    }
  }
  Writer writer(secret, channels, std::move(followed));
  auto written = filter::WrittenFilterFile::write(
      path, [&writer](std::string& out) { return writer.next(out); });
  const auto done = written ? written->put_in_place() : std::unexpected(written.error());
  return done ? std::expected<void, std::string>() : std::unexpected(done.error().what);
}

}  // namespace cuckooguard::source::stream
