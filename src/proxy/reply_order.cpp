#include "proxy/reply_order.h"

#include "resp/reply_writer.h"
#include "text/number.h"

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

using io::forget_consumed;

// "*<count>\r\n": a count of arguments that fitted 64 KiB has at most five digits.
constexpr std::size_t kMergeHeaderBytesMax = 16;

// Of EXEC: MULTI is over, and nothing was carried out. Redis 7.0 cluster.c, Valkey 8.0 server.c.
constexpr std::array<std::string_view, 7> kEndMulti{
    "-EXECABORT ", "-MOVED ", "-ASK ", "-TRYAGAIN ", "-CLUSTERDOWN ", "-CROSSSLOT ", "-REDIRECT "};

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

void ComparedReplies::expect(const guard::AbsentKey& key) {
  expected_.push_back({.numbering = key.numbering,
                       .ns = key.ns,
                       .is_string_read = key.is_string_read,
                       .kept_bytes = key.kept_bytes,
                       .key = std::string(key.key),
                       .missing = std::string(key.missing),
                       .replacement = std::string(key.replacement),
                       .read_at = key.read_at});
  bytes_ += expected_.back().bytes();
}

void ComparedReplies::begin() {
  is_held_back_ = !next().replacement.empty();
  reply_bytes_ = 0;
  reply_head_.clear();
}

// It leaves as it comes, unless all that has come could still be the beginning of the one to be
// replaced.
void ComparedReplies::take(std::string_view piece) {
  const std::size_t held_back = is_held_back_ ? reply_head_.size() : 0;
  reply_bytes_ += piece.size();
  reply_head_ += piece.substr(0, next().kept_bytes - reply_head_.size());
  is_held_back_ = is_held_back_ && reply_bytes_ == reply_head_.size() &&
                  next().missing.starts_with(reply_head_);
  if (!is_held_back_) {
    output_.append(std::string_view(reply_head_).substr(0, held_back));
    output_.append(piece);
  }
}

void ComparedReplies::end(char type) {
  const guard::AbsentKeyReply reply = heard(type);
  if (is_held_back_) {
    const bool is_replaced = !next().read_at || owner_.may_replace(reply);
    output_.append(is_replaced ? next().replacement : next().missing);
  }
  owner_.on_absent_key_reply(reply);
  pop();
}

guard::AbsentKeyReply ComparedReplies::heard(char type) const {
  return {.numbering = next().numbering,
          .ns = next().ns,
          .key = next().key,
          .read_at = next().read_at,
          .missing = next().missing,
          .is_string_read = next().is_string_read,
          .reply = reply_head_,
          .is_whole = reply_bytes_ == reply_head_.size(),
          .is_error = type == '-' || type == '!'};
}

void ComparedReplies::refuse() {
  owner_.on_absent_key_reply(
      {.numbering = next().numbering, .ns = next().ns, .key = next().key, .is_error = true});
  pop();
}

void ComparedReplies::pop() {
  bytes_ -= next().bytes();
  ++head_;
  io::forget_consumed(expected_, head_);
}

void ReplyOrder::expect_reply(std::size_t count) {
  expected_ += count;
  if (is_drained()) {
    leading_replies_ += count;
  } else {
    add_relay(count);
  }
}

void ReplyOrder::add_relay(std::size_t count) {
  const auto replies = static_cast<std::uint32_t>(count);
  if (!is_drained() && entries_.back().kind == Kind::relay) {
    entries_.back().amount += replies;
  } else {
    entries_.push_back({Kind::relay, replies});
  }
}

void ReplyOrder::expect_observed_reply(const redis::StateChange& change) {
  if (change.kind == redis::ChangeKind::subscribe) {
    ++expected_;
    observe().expect_confirmations(change);
    entries_.push_back({Kind::confirm, change.confirmations});
  } else {
    expect_reply();
    observe().expect(expected_, change);
  }
  if (rewritten_) {
    rewritten_->expect(expected_, change.kind);
  }
}

ObservedReplies& ReplyOrder::observe() {
  if (!observed_) {
    observed_ = std::make_unique<ObservedReplies>();
  }
  return *observed_;
}

void ReplyOrder::expect_absent_key_reply(const guard::AbsentKey& key) {
  if (!compared_) {
    compared_ = std::make_unique<ComparedReplies>(*output_, *owner_);
  }
  ++expected_;
  compared_->expect(key);
  entries_.push_back({Kind::compare, 1});
  count_held();
}

void ReplyOrder::answer(std::string_view bytes) {
  if (leading_replies_ == 0 && is_drained() && !within_reply_) {
    output_->append(bytes);
  } else {
    add_local(bytes);
  }
}

void ReplyOrder::promise(std::unique_ptr<guard::PromisedReply> reply) {
  if (!promised_) {
    promised_ = std::make_unique<PromisedReplies>();
  }
  promised_->add(std::move(reply));
  entries_.push_back({Kind::promise, 1});
  count_held();
}

void ReplyOrder::ask(guard::AskedReply asked) {
  ++expected_;
  asked_ = std::make_unique<Asked>(Asked{.how = std::move(asked)});
  entries_.push_back({Kind::ask, 1});
  count_held();
}

void ReplyOrder::begin_asked(char first) {
  if (first != '>' && is_next(Kind::ask)) {
    asked_->is_taken = first != '-' || asked_->how.takes_errors;
  }
}

// False: its reply was relayed, or is made now. True: it is promised.
bool ReplyOrder::end_asked() {
  const std::unique_ptr<Asked> asked = std::move(asked_);
  if (!asked->is_taken) {
    return false;
  }
  std::string out;
  auto promise = asked->how.reply(asked->redis, out);
  output_->append(out);
  if (!promise) {
    return false;
  }
  entries_[head_].kind = Kind::promise;
  promised_ = std::make_unique<PromisedReplies>();
  promised_->add(std::move(promise));
  return true;
}

void ReplyOrder::add_local(std::string_view bytes) {
  append_local(bytes);
  count_held();
}

void ReplyOrder::append_local(std::string_view bytes) {
  local_.append(bytes);
  const auto size = static_cast<std::uint32_t>(bytes.size());
  if (!is_drained() && entries_.back().kind == Kind::local) {
    entries_.back().amount += size;
  } else {
    entries_.push_back({Kind::local, size});
  }
}

void ReplyOrder::expect_anything() {
  if (is_drained() || entries_.back().kind != Kind::anything) {
    entries_.push_back({Kind::anything, 0});
  }
}

bool ReplyOrder::relay(std::string_view bytes) {
  bool well_formed = true;
  while (well_formed) {
    emit_ready();
    if (bytes.empty()) {
      return true;
    }
    if (leading_replies_ == 0 && !is_drained() && !within_reply_) {
      if (entries_[head_].kind == Kind::anything) {
        output_->append(bytes);
        return true;
      }
      if (entries_[head_].kind == Kind::merge) {
        bytes.remove_prefix(relay_merge_header(bytes, well_formed));
        continue;
      }
    }
    const std::size_t plain = relay_plain(bytes);
    bytes.remove_prefix(plain > 0 ? plain : relay_piece(bytes, well_formed));
  }
  return false;
}

// Those at the front that are whole, and relayed unchanged.
std::size_t ReplyOrder::relay_plain(std::string_view bytes) {
  const bool is_relay = !is_drained() && entries_[head_].kind == Kind::relay;
  const std::uint64_t most = leading_replies_ > 0 ? leading_replies_
                             : is_relay           ? entries_[head_].amount
                                                  : 0;
  if (most == 0 || !needs_no_look()) {
    return 0;
  }
  const resp::ReplyFramer::Plain plain = framer_.take_plain(bytes, most);
  if (plain.count == 0) {
    return 0;
  }
  output_->append(bytes.substr(0, plain.bytes));
  if (leading_replies_ > 0) {
    leading_replies_ -= plain.count;
    plain_relayed_ += plain.count;
  } else {
    entries_[head_].amount -= plain.count;  // emit_ready() takes it out
  }
  ended_ += plain.count;
  state_->replied_to(ended_, false, framer_.is_null() && plain.count == 1);
  return plain.bytes;
}

bool ReplyOrder::relay_whole(std::string_view bytes, std::uint32_t replies) {
  if (leading_replies_ < replies || !needs_no_look()) {
    return false;
  }
  output_->append(bytes);
  leading_replies_ -= replies;
  plain_relayed_ += replies;
  ended_ += replies;
  constexpr std::size_t kNilBytes = 5;  // "$-1\r\n"; no other whole reply of that type is as short
  state_->replied_to(
      ended_,
      false,
      bytes.size() <= kNilBytes && (bytes.starts_with("$-") || bytes.starts_with('_')));
  emit_ready();
  return true;
}

// What there is of one reply.
std::size_t ReplyOrder::relay_piece(std::string_view bytes, bool& well_formed) {
  if (!within_reply_ && !begin_reply(bytes.front())) {
    well_formed = false;
    return 0;
  }
  const resp::ReplyFramer::Piece piece = framer_.next(bytes);
  if (is_rewritten_) {
    rewritten_->take(bytes.substr(0, piece.bytes), *output_);
  } else if (is_compared_) {
    compared_->take(bytes.substr(0, piece.bytes));
  } else if (takes_asked()) {
    std::string& redis = asked_->redis;
    const std::size_t room = guard::AskedReply::kAskedBytes - redis.size();
    redis.append(bytes.substr(0, std::min(room, piece.bytes)));
  } else if (!is_dropped_) {
    output_->append(bytes.substr(0, piece.bytes));
  }
  if (ends_) {
    ends_->add(bytes.substr(0, piece.bytes));
  }
  within_reply_ = !piece.ends;
  well_formed = !piece.malformed;
  if (piece.ends) {
    if (is_rewritten_) {
      rewritten_->end(*output_);
    }
    on_reply_end(framer_.type());
    ends_.reset();
  }
  if (is_rewritten_) {
    count_held();
    is_rewritten_ = within_reply_;
  }
  return piece.bytes;
}

// Only errors, what EXEC replies and what may be a pub/sub frame are looked into: any push, but an
// array only where RESP2 sends such frames. False: it is nobody's.
bool ReplyOrder::begin_reply(char first) {
  may_be_frame_ = first == '>' || (first == '*' && state_->version() == resp::Version::resp2 &&
                                   (state_->subscriptions().any() || is_awaiting_confirmations()));
  if (first == '-' || may_be_frame_ || (first == '*' && ends_multi(ended_ + 1))) {
    ends_ = std::make_unique<ReplyEnds>();
  }
  if (first == '*' && ends_multi(ended_ + 1)) {
    state_->exec_replies();
  }
  const bool is_unasked = leading_replies_ == 0 && is_drained();
  const bool is_subscribed = state_->subscriptions().any() || is_awaiting_confirmations();
  is_dropped_ = first == '>' && unasked_ != Unasked::all && !is_subscribed;
  is_compared_ = first != '>' && is_next(Kind::compare);
  if (is_compared_) {
    compared_->begin();
  }
  begin_asked(first);
  is_rewritten_ = rewritten_ && !is_dropped_ && !takes_asked() &&
                  (first == '-' || may_be_frame_ || rewritten_->is_expecting()) &&
                  rewritten_->begin(ended_ + 1, first, may_be_frame_);
  if (first != '>' && is_next(Kind::promise)) {
    return false;
  }
  return first == '>' || !is_unasked || is_subscribed || unasked_ != Unasked::none;
}

bool ReplyOrder::is_awaiting_confirmations() const {
  return is_next(Kind::confirm);
}

void ReplyOrder::on_reply_end(char type) {
  if (type == '-') {
    owner_->on_redis_error(head_of_reply());
  } else if (may_be_frame_) {
    const redis::PubSubFrame frame = redis::parse_pubsub_frame(ends_->head(), ends_->tail());
    if (frame.kind == redis::PubSubFrame::Kind::confirmation) {
      on_confirmation(frame);
      return;
    }
    if (frame.kind == redis::PubSubFrame::Kind::message || type == '>') {
      return;  // nobody's reply
    }
  }
  if (leading_replies_ > 0) {
    --leading_replies_;
    ++plain_relayed_;
    note_end(type);
    return;
  }
  if (is_drained()) {
    // Redis speaks unasked: "-ERR max number of clients reached", a time-out's farewell. To a
    // client that wants no replies it says nothing; if it does, it has refused CLIENT REPLY, and
    // nobody knows what comes next.
    if (state_->is_silent()) {
      state_->stop_reading_replies();
      expect_anything();
    }
    return;
  }
  Entry& entry = entries_[head_];
  if (entry.kind == Kind::confirm) {
    end_subscription(type);
    return;
  }
  if (entry.kind == Kind::compare) {
    if (is_rewritten_) {
      compared_->refuse();
    } else {
      compared_->end(type);
    }
    is_compared_ = false;
    pop();
  } else if (entry.kind == Kind::ask) {
    if (!end_asked()) {
      pop();
    }
  } else if (--entry.amount == 0) {
    pop();
  }
  note_end(type);
}

void ReplyOrder::on_confirmation(const redis::PubSubFrame& frame) {
  const bool awaited = is_awaiting_confirmations();
  if (awaited && entries_[head_].amount == 0) {  // UNSUBSCRIBE of all there is
    const std::uint32_t held = state_->subscriptions().count(observed_->subscription().channels);
    entries_[head_].amount = std::max(held, 1U);
  }
  state_->confirmed(frame);
  if (awaited && --entries_[head_].amount == 0) {
    end_subscription(framer_.type());
  }
}

void ReplyOrder::end_subscription(char type) {
  ++ended_;
  tell(observed_->take_subscription(), type);
  pop();
}

void ReplyOrder::tell(const redis::StateChange& change, char type) {
  if (observed_->is_empty()) {
    observed_.reset();
  }
  state_->replied(change, type);
}

// A reply to a command, or an element of a merged one, that no subscription waits for.
void ReplyOrder::note_end(char type) {
  ++ended_;
  if (!observed_ || !observed_->is_next(ended_)) {
    state_->replied_to(ended_, type == '-' || type == '!', framer_.is_null());
    return;
  }
  if (ends_multi(ended_)) {
    // An EXEC that Redis has aborted, or led elsewhere, has ended MULTI and WATCH like one that
    // ran, and so has one that did nothing because of WATCH; any other error of EXEC has not.
    const bool is_nil = type == '*' && head_of_reply().starts_with("*-");
    const bool is_aborted = type == '-' && std::ranges::any_of(kEndMulti, [&](auto error) {
                              return head_of_reply().starts_with(error);
                            });
    type = is_nil || is_aborted ? '_' : type;
  }
  tell(observed_->take(), type);
}

// Our own answers leave as soon as nothing of Redis's is before them.
void ReplyOrder::emit_ready() {
  while (leading_replies_ == 0 && !is_drained() && !within_reply_) {
    const Entry& entry = entries_[head_];
    if (entry.kind == Kind::local) {
      output_->append(std::string_view(local_).substr(local_head_, entry.amount));
      local_head_ += entry.amount;
      forget_consumed(local_, local_head_);
    } else if (entry.kind == Kind::promise && promised_->is_next_known()) {
      output_->append(promised_->take());
      if (promised_->is_empty()) {
        promised_.reset();
      }
    } else if (entry.kind != Kind::relay || entry.amount > 0) {
      return;
    }
    pop();
  }
}

void ReplyOrder::pop() {
  ++head_;
  forget_consumed(entries_, head_);
  count_held();
}

// One array reply of Redis becomes one of the client's: the elements that it lacks are the guard's
// own.
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
      append_local(*element);
    } else if (!absent_keys.empty() && absent_keys.front().element == i) {
      expect_absent_key_reply(absent_keys.front());
      absent_keys = absent_keys.subspan(1);
    } else {
      ++expected_;
      add_relay(1);
    }
  }
  entries_[merge].parts = static_cast<std::uint32_t>(entries_.size() - merge - 1);
  // What comes later must not join the last part: an error in place of the array drops the parts
  // alone.
  entries_.push_back({Kind::relay, 0});
  count_held();
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
