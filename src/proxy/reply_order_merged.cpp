// One array reply of Redis becomes one of the client's: the elements that it lacks are the guard's
// own.
#include <algorithm>
#include <string>

#include "io/consumed_front.h"
#include "proxy/reply_order.h"
#include "resp/reply_writer.h"
#include "text/number.h"

namespace cuckooguard::proxy {
namespace {

// "*<count>\r\n": a count of arguments that fitted 64 KiB has at most five digits.
constexpr std::size_t kMergeHeaderBytesMax = 16;

using io::forget_consumed;

}  // namespace

void ReplyOrder::expect_merged_reply(std::span<const std::optional<std::string_view>> elements,
                                     std::span<const guard::AbsentKey> absent_keys) {
  const auto from_redis =
      std::ranges::count_if(elements, [](const auto& element) { return !element; });
  const std::size_t merge = entries_.size();
  entries_.push_back({Kind::merge,
                      static_cast<std::uint32_t>(elements.size()),
                      static_cast<std::uint32_t>(from_redis)});
  for (std::size_t i = 0; i < elements.size(); ++i) {
    if (const auto& element = elements[i]) {
      add_local(*element);
    } else if (!absent_keys.empty() && absent_keys.front().element == i) {
      expect_absent_key_reply(absent_keys.front());
      absent_keys = absent_keys.subspan(1);
    } else {
      ++expected_;
      add_relay();
    }
  }
  entries_[merge].parts = static_cast<std::uint32_t>(entries_.size() - merge - 1);
  // What comes later must not join the last part: an error in place of the array drops the parts
  // alone.
  entries_.push_back({Kind::relay, 0});
}

std::size_t ReplyOrder::relay_merge_header(std::string_view bytes, bool& well_formed) {
  if (!ends_ && bytes.front() != '*') {
    if (bytes.front() == '>') {  // a push comes between replies, so before this one
      return relay_piece(bytes, well_formed);
    }
    drop_merge_parts();
    return 0;
  }
  const std::size_t line_end = bytes.find('\n');
  const std::size_t taken = line_end == std::string_view::npos ? bytes.size() : line_end + 1;
  if (!ends_) {
    ends_ = std::make_unique<ReplyEnds>();
  }
  ends_->add(bytes.substr(0, taken));
  well_formed = ends_->head().size() <= kMergeHeaderBytesMax;
  if (well_formed && line_end != std::string_view::npos) {
    well_formed = begin_merge(ends_->head());
    ends_.reset();
  }
  return taken;
}

bool ReplyOrder::begin_merge(std::string_view header_of_redis) {
  const Entry& entry = entries_[head_];
  header_of_redis.remove_prefix(1);
  if (text::take_number<std::uint32_t>(header_of_redis) != entry.from_redis ||
      header_of_redis != "\r\n") {
    return false;
  }
  std::string header;
  resp::append_array_header(header, entry.amount);
  output_->append(header);
  pop();
  return true;
}

// An error came instead of the array: it alone is the reply.
void ReplyOrder::drop_merge_parts() {
  const std::size_t last_part = head_ + entries_[head_].parts;
  for (std::size_t i = head_ + 1; i <= last_part; ++i) {
    if (entries_[i].kind == Kind::local) {
      local_head_ += entries_[i].amount;
    } else if (entries_[i].kind == Kind::compare) {
      compared_->refuse();
    }
  }
  forget_consumed(local_, local_head_);
  ended_ += entries_[head_].from_redis - 1;
  entries_[last_part] = {Kind::relay, 1};
  head_ = last_part;
}

}  // namespace cuckooguard::proxy
