// How a session ends when the process is to end: where the client's commands do.
//
//   drain()  ──▶ what has come is read, to the end of a command ──▶ all is carried out and replied
//                to, and the replies are written ──▶ farewell: FIN; what the client sends behind
//                it is read, and thrown away ──▶ closed
//
// The promise: a command of which anything was read before the farewell is carried out, and its
// reply is on its way before the FIN. One of which nothing was read is not carried out. So to a
// client that has seen the end of the stream, no reply means: not done.
//
// Why the farewell: to close a socket on which something is unread is to reset it, and a reset
// throws away replies that the client has not received. Clients cross it with their next command
// all the time.
//
//   MULTI, WATCH                      their transaction is waited for
//   BLPOP and the like, GUARD.WAIT    waited for, too; at the deadline (cut_off()) Redis is told
//                                     that the client sends no more: it forgets the command, or has
//                                     carried it out, and then its reply still comes
//   SUBSCRIBE                         between two messages; it has no end of its own
//   CLIENT REPLY OFF, MONITOR, PSYNC  nobody knows when Redis is done: it is told that the client
//                                     sends no more, carries out what it has, and closes
#include "proxy/session.h"

namespace cuckooguard::proxy {

using std::chrono::milliseconds;

namespace {

// For what crosses the FIN: a sidecar's way to its client takes less than one.
constexpr milliseconds kFarewell{100};

}  // namespace

void Session::drain() {
  if (!is_draining_ && phase_ != Phase::ended) {
    is_draining_ = true;
    give_up_miss();
    worker_.held.add(*this);  // looked at until it has ended
    update_watch();
  }
}

void Session::on_tick() {
  go_on();
  drain_on();
}

bool Session::is_between_commands() const {
  return state_.is_raw() || (input_.is_between_commands() &&
                             (state_.has_unread_replies() || state_.is_between_transactions()));
}

// From here on no more is taken: a client that never stops writing would never be let go.
void Session::note_end_of_input(bool has_read_all) {
  if (is_draining_ && has_read_all && phase_ == Phase::open && is_between_commands()) {
    phase_ = Phase::input_over;
    update_watch();
  }
}

void Session::drain_on() {
  if (!is_draining_) {
    return;
  }
  if (phase_ == Phase::open && !held_) {
    read_client();  // nobody would tell that there is nothing to be read
  }
  if (phase_ != Phase::input_over) {
    return;
  }
  if (state_.has_unread_replies() || state_.is_silent()) {
    on_client_finished();
    return;
  }
  const bool owes = order_.is_waiting() || order_.is_within_reply() || !output_.is_empty();
  if (!owes && !held_ && route_.unsent() == 0) {
    leave();
  }
}

// Its replies are written.
void Session::leave() {
  if (!is_draining_) {
    end();
    return;
  }
  if (phase_ >= Phase::farewell) {
    return;
  }
  phase_ = Phase::farewell;
  worker_.held.remove(*this);
  worker_.proofs.remove(*this);
  route_.close();
  client_->finish_writing();
  client_->watch(io::Interest::read);
  farewell_ = worker_.loop.after(kFarewell, [this] { end(); });
}

void Session::read_behind_farewell(bool hung_up) {
  const io::Transfer transfer = client_->read(worker_.loop.read_buffer());
  const bool is_over =
      transfer.status == io::Status::closed || transfer.status == io::Status::failed;
  if (is_over || (hung_up && transfer.status == io::Status::would_block)) {
    end();
  }
}

void Session::cut_off() {
  if (phase_ >= Phase::farewell) {
    return;
  }
  const bool may_hear_of_it = route_.has_own() && !route_.is_lost() && !held_;
  if (!may_hear_of_it || phase_ >= Phase::client_finished) {
    end();
    return;
  }
  on_client_finished();
}

}  // namespace cuckooguard::proxy
