// A session whose client has missed a key that another client loads (guard/loads.h).
//
// Its read is the only command in flight, and stays so: Redis owes nothing, while its reply is
// still expected here. With the client's next byte it is over, so that a connection that many
// callers share is never held up.
//
//   watched ─ nil ─▶ held ─ ask ─▶ asked: the same read is sent again, and watched
//     │               └ take, or the client goes on ─▶ the nil leaves
//     └ anything else: it leaves, as ever
#include <string_view>

#include "proxy/session.h"
#include "resp/reply_framer.h"
#include "text/number.h"

namespace cuckooguard::proxy {
namespace {

// Which element of such an array, all of whose bytes these are, is nil, if one alone is.
std::optional<std::size_t> sole_nil(std::string_view reply, std::size_t elements) {
  if (!reply.starts_with('*')) {
    return std::nullopt;
  }
  reply.remove_prefix(1);
  if (text::take_number<std::size_t>(reply) != elements || !reply.starts_with("\r\n")) {
    return std::nullopt;
  }
  reply.remove_prefix(2);
  std::optional<std::size_t> nil;
  for (std::size_t i = 0; i < elements; ++i) {
    resp::ReplyFramer framer;
    const resp::ReplyFramer::Piece piece = framer.next(reply);
    if (!piece.ends || (framer.is_null() && nil)) {
      return std::nullopt;
    }
    nil = framer.is_null() ? i : nil;
    reply.remove_prefix(piece.bytes);
  }
  return reply.empty() ? nil : std::nullopt;
}

}  // namespace

// From its first miss or write on its connection counts among those of its address: a pool may have
// one that only writes.
guard::Misses& Session::misses_of(guard::Loads& loads) {
  if (state_.misses() == nullptr) {
    state_.remember_misses(loads.connect(state_.network(), worker_.known, this));
  }
  return *state_.misses();
}

void Session::join_loads() {
  if (state_.writes() != nullptr && state_.writes()->joins != nullptr) [[unlikely]] {
    misses_of(*std::exchange(state_.writes()->joins, nullptr));
  }
}

// The command that was forwarded just now, with nothing before it and nothing behind it.
void Session::watch_for_miss(std::string_view raw) {
  if (!miss_) {
    miss_ = std::make_unique<Miss>();
  }
  miss_->state = Miss::State::watched;
  miss_->request.assign(raw);
}

bool Session::holds_back(std::string_view bytes) {
  if (miss_->state == Miss::State::held) {
    give_up_miss();  // Redis speaks unasked
    return false;
  }
  miss_->state = Miss::State::none;
  resp::RequestScanner scanner;
  scanner.next(miss_->request, worker_.arguments_behind);
  const auto arguments = worker_.arguments_behind.views();
  const std::size_t keys = arguments.size() - 1;
  const bool is_nil = bytes == "$-1\r\n" || bytes == "_\r\n";
  const auto nil = is_nil && keys == 1 ? std::optional<std::size_t>(0) : sole_nil(bytes, keys);
  guard::Misses* const misses = state_.misses();
  const io::TimePoint now = worker_.loop.now();
  const guard::Guard::Missed missed =
      nil ? worker_.guard.missed(arguments[*nil + 1], state_, now) : guard::Guard::Missed{};
  if (missed.loads == nullptr) {
    if (misses != nullptr) {
      misses->end(nil ? guard::Misses::End::let_go : guard::Misses::End::value, now);
    }
    return false;
  }
  using May = guard::Misses::May;
  const bool may_wait = phase_ == Phase::open && !is_draining_ && input_.is_between_commands();
  const May may = missed.is_observed ? May::be_observed : may_wait ? May::wait : May::pass;
  if (!misses_of(*missed.loads).missed(*missed.loads, missed.key, may, now)) {
    return false;
  }
  miss_->state = Miss::State::held;
  miss_->reply.assign(bytes);
  timed_reply_ = {};
  worker_.proofs.add(*this, state_.misses()->until());
  return true;
}

// It was woken, or has waited long enough.
void Session::go_on_with_miss() {
  const io::TimePoint now = worker_.loop.now();
  worker_.proofs.remove(*this);
  switch (state_.misses()->next(now)) {
    case guard::Misses::Next::wait:
      worker_.proofs.add(*this, state_.misses()->until());
      return;
    case guard::Misses::Next::take:
      reply_to_miss();
      return;
    case guard::Misses::Next::ask:
      break;
  }
  // GET and MGET travel among others' reads.
  if (!route_.is_pinned() && !route_.choose(redis::Lane::reads, false, {})) {
    give_up_miss();
    return;
  }
  miss_->state = Miss::State::asked;
  open_lane_.reset();
  heard_at_ = now;
  route_.send(miss_->request);
}

void Session::give_up_miss() {
  if (is_miss_held()) {
    state_.misses()->end(guard::Misses::End::let_go, worker_.loop.now());
    reply_to_miss();
  }
}

void Session::reply_to_miss() {
  miss_->state = Miss::State::none;
  worker_.proofs.remove(*this);
  on_upstream_replies(miss_->reply, 1);
}

}  // namespace cuckooguard::proxy
