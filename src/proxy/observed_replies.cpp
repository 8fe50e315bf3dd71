#include "proxy/observed_replies.h"

#include <algorithm>
#include <utility>

#include "io/consumed_front.h"

namespace cuckooguard::proxy {
namespace {

using redis::ChangeKind;

// A byte: how far behind the reply of the one before, and the kind.
constexpr int kKindBits = 4;
constexpr std::uint64_t kWhole = (1U << kKindBits) - 1;  // in place of a kind
constexpr std::uint64_t kFar = 15;                       // in place of a distance: it follows
// The one behind it is always kept whole.
static_assert(static_cast<std::uint64_t>(ChangeKind::unclear) < kWhole);

constexpr unsigned kNumberBits = 7;  // of each byte; the eighth says that more follow

}  // namespace

bool ObservedReplies::is_kept_whole(const redis::StateChange& change) {
  switch (change.kind) {
    case ChangeKind::select:
    case ChangeKind::multi:
    case ChangeKind::end_multi:
    case ChangeKind::watch:
    case ChangeKind::unwatch:
    case ChangeKind::reset:
    case ChangeKind::tracking_on:
    case ChangeKind::tracking_off:
    case ChangeKind::unknown:
    case ChangeKind::lasting:
    case ChangeKind::unclear:
      return change.for_all_clients;
    default:
      return true;
  }
}

void ObservedReplies::expect(std::uint64_t reply, const redis::StateChange& change) {
  const bool is_whole = is_kept_whole(change);
  if (is_whole) {
    whole_.push_back(change);
  }
  if (size_++ == 0) {
    next_ = {.kind = change.kind, .is_whole = is_whole, .db = change.db};
    next_reply_ = last_reply_ = reply;
    return;
  }
  const std::uint64_t distance = reply - last_reply_ - 1;
  const std::uint64_t code = is_whole ? kWhole : static_cast<std::uint64_t>(change.kind);
  codes_.push_back(static_cast<char>((std::min(distance, kFar) << kKindBits) | code));
  if (distance >= kFar) {
    append_number(distance);
  }
  if (!is_whole && change.kind == ChangeKind::select) {
    append_number(static_cast<std::uint64_t>(std::int64_t{change.db} - redis::kNoDb));
  }
  last_reply_ = reply;
}

redis::StateChange ObservedReplies::take() {
  redis::StateChange change{.kind = next_.kind, .db = next_.db};
  if (next_.is_whole) {
    change = std::move(whole_[whole_head_]);
    ++whole_head_;
    io::forget_consumed(whole_, whole_head_);
  }
  if (--size_ != 0) {
    read_next();
  }
  return change;
}

redis::StateChange ObservedReplies::take_subscription() {
  redis::StateChange change = std::move(subscriptions_[subscription_head_]);
  ++subscription_head_;
  io::forget_consumed(subscriptions_, subscription_head_);
  return change;
}

void ObservedReplies::read_next() {
  const auto byte = static_cast<std::uint8_t>(codes_[codes_head_++]);
  const std::uint64_t code = byte & kWhole;
  const std::uint64_t distance = byte >> kKindBits;
  next_ = {.kind = static_cast<ChangeKind>(code), .is_whole = code == kWhole};
  next_reply_ += 1 + (distance == kFar ? take_number() : distance);
  if (next_.kind == ChangeKind::select) {
    next_.db = static_cast<int>(static_cast<std::int64_t>(take_number()) + redis::kNoDb);
  }
  io::forget_consumed(codes_, codes_head_);
}

void ObservedReplies::append_number(std::uint64_t number) {
  for (; number >> kNumberBits != 0; number >>= kNumberBits) {
    codes_.push_back(static_cast<char>(number | (1U << kNumberBits)));
  }
  codes_.push_back(static_cast<char>(number));
}

std::uint64_t ObservedReplies::take_number() {
  std::uint64_t number = 0;
  for (unsigned shift = 0;; shift += kNumberBits) {
    const auto byte = static_cast<std::uint8_t>(codes_[codes_head_++]);
    number |= std::uint64_t{byte & ((1U << kNumberBits) - 1)} << shift;
    if (byte >> kNumberBits == 0) {
      return number;
    }
  }
}

}  // namespace cuckooguard::proxy
