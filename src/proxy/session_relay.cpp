// What comes from Redis for a session.
#include "proxy/session.h"

namespace cuckooguard::proxy {

void Session::on_upstream_bytes(std::string_view bytes) {
  worker_.guard.relayed(state_);
  order_.take_unasked(route_.has_for_good() ? ReplyOrder::Unasked::all
                      : route_.has_new()    ? ReplyOrder::Unasked::replies
                                            : ReplyOrder::Unasked::none);
  on_relayed(order_.relay(bytes));
}

void Session::on_upstream_replies(std::string_view bytes, std::uint32_t replies) {
  on_relayed(order_.relay_whole(bytes, replies) || order_.relay(bytes));
}

void Session::on_relayed(bool well_formed) {
  if (!well_formed || holds_too_much()) {
    end();  // not RESP: what follows belongs to nobody
    return;
  }
  stir();
  if (state_.writes() != nullptr && state_.writes()->has_outcomes()) {
    worker_.guard.learn_replied(state_, worker_.loop.now());
  }
  queue_flush();
  update_watch();
  if (!order_.is_waiting()) {
    on_all_replied();
  }
  go_on();
}

// Only what is shared is read for clients that do not read.
bool Session::holds_too_much() const {
  const config::Limits& limits = worker_.settings.limits;
  const std::size_t size = output_.size();
  return size > limits.client_output_hard ||
         (size > limits.client_output_soft &&
          worker_.loop.chunks().bytes_in_use() > worker_.settings.output_total);
}

void Session::on_redis_error(std::string_view first_bytes) {
  worker_.guard.note_error(first_bytes, state_);
  if (first_bytes.starts_with("-NOAUTH ")) {
    route_.on_login_wanted();
  }
  // There may be another one by now.
  if (first_bytes.starts_with("-READONLY ") || first_bytes.starts_with("-LOADING ")) {
    route_.retire();
  }
}

void Session::on_upstream_lost() {
  // A Redis that could not be reached at all may be down: absent keys are still answered, the first
  // command that needs it ends the session. A connection that was up and is closed ends it at once,
  // as Redis's own close would.
  if (contact_ != Contact::none || phase_ == Phase::client_finished) {
    end_when_written();
  }
}

}  // namespace cuckooguard::proxy
