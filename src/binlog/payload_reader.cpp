#include "binlog/payload_reader.h"

#include <algorithm>
#include <cstring>
#include <new>

#include <zstd.h>

namespace cuckooguard::binlog {

namespace {

constexpr std::size_t kChunkBytes = 128 * 1024;  // zstd's largest block

}  // namespace

void PayloadReader::Release::operator()(ZSTD_DCtx_s* stream) const {
  ::ZSTD_freeDCtx(stream);
}

PayloadReader::PayloadReader(std::size_t event_bytes_max)
    : event_bytes_max_(event_bytes_max), stream_(::ZSTD_createDCtx()) {
  if (stream_ == nullptr) {
    throw std::bad_alloc();
  }
  ::ZSTD_DCtx_setParameter(stream_.get(), ZSTD_d_windowLogMax, kWindowLogMax);
}

void PayloadReader::open(const TransactionPayload& payload) {
  ::ZSTD_DCtx_reset(stream_.get(), ZSTD_reset_session_only);
  payload_ = payload;
  consumed_ = 0;
  delivered_ = 0;
  frame_is_open_ = false;
  error_.reset();
  begin_ = 0;
  end_ = 0;
}

std::unexpected<DecodeError> PayloadReader::refuse(DecodeError error) {
  error_ = error;
  return std::unexpected(error);
}

std::expected<std::string_view, DecodeError> PayloadReader::next() {
  if (error_) {
    return std::unexpected(*error_);
  }
  const auto has_header = demand(kEventHeaderBytes);
  if (!has_header) {
    return refuse(has_header.error());
  }
  if (!*has_header) {
    if (begin_ != end_ || delivered_ != payload_.uncompressed_bytes) {
      return refuse(DecodeError::truncated);
    }
    return std::string_view{};
  }
  const auto header = read_event_header({buffer_.data() + begin_, end_ - begin_});
  if (!header) {
    return refuse(header.error());
  }
  if (header->event_bytes > event_bytes_max_) {
    return refuse(DecodeError::too_large);
  }
  const auto is_whole = demand(header->event_bytes);
  if (!is_whole) {
    return refuse(is_whole.error());
  }
  if (!*is_whole) {
    return refuse(DecodeError::truncated);
  }
  const std::string_view event(buffer_.data() + begin_, header->event_bytes);
  begin_ += header->event_bytes;
  return event;
}

std::expected<bool, DecodeError> PayloadReader::demand(std::size_t count) {
  while (end_ - begin_ < count) {
    if (begin_ != 0) {
      std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
      end_ -= begin_;
      begin_ = 0;
    }
    // It grows as bytes come, and not by what an event's header claims.
    if (buffer_.size() - end_ < kChunkBytes) {
      buffer_.resize(std::max(buffer_.size() * 2, end_ + kChunkBytes));
    }
    const auto more = decompress_some();
    if (!more || !*more) {
      return more;
    }
  }
  return true;
}

// False: there is nothing left to decompress.
std::expected<bool, DecodeError> PayloadReader::decompress_some() {
  const std::string_view input = payload_.payload.substr(consumed_);
  const std::size_t before = end_;
  if (payload_.compression == TransactionPayload::Compression::none) {
    const std::size_t count = std::min(input.size(), buffer_.size() - end_);
    std::ranges::copy(input.substr(0, count), buffer_.data() + end_);
    consumed_ += count;
    end_ += count;
  } else {
    if (input.empty() && !frame_is_open_) {
      return false;
    }
    ZSTD_inBuffer in{input.data(), input.size(), 0};
    ZSTD_outBuffer out{buffer_.data(), buffer_.size(), end_};
    const std::size_t status = ::ZSTD_decompressStream(stream_.get(), &out, &in);
    if (::ZSTD_isError(status) != 0) {
      return std::unexpected(DecodeError::decompression_failed);
    }
    frame_is_open_ = status != 0;
    consumed_ += in.pos;
    end_ = out.pos;
    if (in.pos == 0 && end_ == before) {
      return std::unexpected(DecodeError::decompression_failed);  // cut off inside a frame
    }
  }
  delivered_ += end_ - before;
  if (delivered_ > payload_.uncompressed_bytes) {
    return std::unexpected(DecodeError::decompression_failed);
  }
  return end_ != before || consumed_ < payload_.payload.size() || frame_is_open_;
}

}  // namespace cuckooguard::binlog
