#include "filled/dump_reader.h"

#include <span>
#include <utility>

#include "filled/dump.h"
#include "filled/operation.h"

namespace cuckooguard::filled {
namespace {

constexpr std::size_t kNumber = sizeof(std::uint64_t);
constexpr std::size_t kTrailer = kNumber;  // the checksum

std::span<const std::byte> as_bytes(std::string_view text) {
  return std::as_bytes(std::span(text));
}

}  // namespace

DumpReader::DumpReader(const filter::HashSecret& secret,
                       std::uint64_t bytes,
                       filter::FilterFileOrigin origin)
    : secret_(secret), bytes_(bytes), origin_(origin), mac_(begin_dump_tag(secret)) {
  if (bytes_ < kDumpFrontBytes + kTrailer) {
    fail(std::string(kNoDump));
  }
}

void DumpReader::fail(std::string why) {
  error_ = error_ ? error_ : std::move(why);
}

void DumpReader::add(std::string_view part) {
  while (!part.empty()) {
    if (error_) {  // the rest only comes
      received_ += part.size();
      return;
    }
    const std::string_view taken = part.substr(0, left_of_section());
    if (section_ == Section::file) {
      take_file(taken);
    } else {
      text_ += taken;
      if (section_ != Section::sum) {
        mac_.add(taken);
      }
    }
    if (section_ != Section::sum) {
      sum_.add(as_bytes(taken));
    }
    received_ += taken.size();
    part.remove_prefix(taken.size());
    if (left_of_section() == 0) {
      end_section();
    }
  }
}

std::uint64_t DumpReader::left_of_section() const {
  switch (section_) {
    case Section::front:
      return kDumpFrontBytes - text_.size();
    case Section::length:
    case Section::sum:
      return kNumber - text_.size();
    case Section::file:
      // What is hashed for the tag is not the first header itself.
      return (position_ ? file_bytes_ : filter::kFileHeaderBytes) - file_->received();
    case Section::over:
      break;
  }
  return 0;
}

void DumpReader::take_file(std::string_view bytes) {
  file_->add(as_bytes(bytes));
  if (position_) {
    mac_.add(bytes);
  }
}

void DumpReader::end_section() {
  switch (section_) {
    case Section::front:
      read_front();
      section_ = Section::length;
      break;
    case Section::length: {
      file_bytes_ = text::LittleEndianCursor(text_).take<std::uint64_t>();
      if (file_bytes_ < filter::kFileHeaderBytes || file_bytes_ > bytes_ - kTrailer - received_) {
        fail(std::string(kNoDump));
        return;
      }
      file_ = std::make_unique<filter::FilterFileStream>(secret_, file_bytes_, origin_);
      section_ = Section::file;
      break;
    }
    case Section::file: {
      if (!position_) {
        const auto header = file_->header_bytes();
        const auto front = filter::read_filter_file_front(header);
        position_ = front ? front->source_position : "";
        const auto blank = filter::header_with_position(header, "");
        mac_.add({reinterpret_cast<const char*>(blank.data()), blank.size()});
        if (left_of_section() != 0) {
          return;
        }
      }
      layers_.push_back(std::move(file_));
      section_ = --layers_left_ == 0 ? Section::sum : Section::length;
      break;
    }
    case Section::sum:
      if (text::LittleEndianCursor(text_).take<std::uint64_t>() != sum_.value() ||
          received_ != bytes_) {
        fail(std::string(kNoDump));
      }
      section_ = Section::over;
      break;
    case Section::over:
      fail(std::string(kNoDump));  // something follows
      break;
  }
  text_.clear();
}

void DumpReader::read_front() {
  text::LittleEndianCursor reader(text_);
  const auto bytes = bytes_of_dump(text_);
  reader.skip(kNumber + kDumpMagic.size());
  shape_ = take_shape(reader);
  items_ = reader.take<std::uint64_t>();
  erased_ = reader.take<std::uint64_t>();
  layers_left_ = reader.take<std::uint32_t>();
  if (bytes != bytes_ || !shape_ || layers_left_ == 0 || layers_left_ > kLayersMax) {
    fail(std::string(kNoDump));
  }
}

std::optional<std::string> DumpReader::wrong_tag() {
  if (!position_) {
    return std::string(kNoDump);
  }
  if (position_->empty()) {
    return "it has no tag, so it is from an older version of the guard; create a new dump of the "
           "filter";
  }
  return is_same_tag(*position_, mac_.finish().substr(0, kDumpTagBytes))
             ? std::nullopt
             : std::optional<std::string>(
                   "it was not created by a guard with this secret, or has been modified");
}

std::expected<std::unique_ptr<FilledFilter>, std::string> DumpReader::finish() {
  if (error_ || section_ != Section::over || !shape_) {
    return std::unexpected(error_.value_or(std::string(kNoDump)));
  }
  FilledFilter::Layers layers;
  for (const auto& file : layers_) {
    auto layer = file->finish();
    if (!layer) {
      return std::unexpected(layer.error().what);
    }
    layers.push_back(*std::move(layer));
  }
  auto filter = std::make_unique<FilledFilter>(*shape_, std::move(layers), items_, erased_);
  if (const auto misfit = filter->misfit()) {
    return std::unexpected(*misfit);
  }
  return filter;
}

}  // namespace cuckooguard::filled
