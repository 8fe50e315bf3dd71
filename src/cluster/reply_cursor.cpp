#include "cluster/reply_cursor.h"

#include "cluster/node_line.h"
#include "resp/reply_shape.h"

namespace cuckooguard::cluster {

std::optional<std::string_view> ReplyCursor::take_line() {
  const std::size_t end = reply_.find("\r\n", at_);
  if (end == std::string_view::npos) {
    return std::nullopt;
  }
  const std::string_view line = reply_.substr(at_, end - at_);
  at_ = end + 2;
  return line;
}

std::optional<ReplyCursor::Item> ReplyCursor::next() {
  Item item{.type = peek(), .begin = at_};
  const auto line = take_line();
  if (!line || line->empty()) {
    return std::nullopt;
  }
  item.text = line->substr(1);
  item.end = at_;
  if (resp::shape_of(item.type) == resp::Shape::line) {
    item.is_null = item.type == '_';
    return item;
  }
  if (item.text == "-1" && resp::may_be_null(item.type)) {
    item.text = {};
    item.is_null = true;
    return item;
  }
  return take_body(item, item.text) ? std::optional(item) : std::nullopt;
}

// What follows the length, or is announced by it.
bool ReplyCursor::take_body(Item& item, std::string_view length) {
  const auto count = number_in<std::uint32_t>(length);
  const std::size_t left = reply_.size() - at_;
  if (!count) {
    return false;
  }
  switch (resp::shape_of(item.type)) {
    case resp::Shape::elements:
    case resp::Shape::pairs:
      item.text = {};
      item.is_aggregate = true;
      item.values = std::size_t{*count} * (item.type == '%' ? 2 : 1);
      return item.values <= left;  // none is smaller than a byte
    case resp::Shape::text:
      if (left < 2 || *count > left - 2 || reply_.substr(at_ + *count, 2) != "\r\n") {
        return false;
      }
      item.text = reply_.substr(at_, *count);
      at_ += *count + 2;
      item.end = at_;
      return true;
    default:
      return false;
  }
}

bool ReplyCursor::skip() {
  for (std::size_t wanted = 1; wanted != 0; --wanted) {
    const auto item = next();
    if (!item) {
      return false;
    }
    wanted += item->values;
  }
  return true;
}

}  // namespace cuckooguard::cluster
