// Of a session: commands that are not held whole before Redis has some of them.
#include "proxy/session.h"

namespace cuckooguard::proxy {

// Whose key it is will be seen when a little more has come.
bool Session::may_take_chunk(const resp::Scan& scan, std::string_view raw) {
  const bool is_key_to_come = scan.begins && raw.size() < guard::OwnCommands::kKeyIsInFront &&
                              worker_.own_commands.must_see_key(worker_.arguments.views());
  if (is_key_to_come) {
    wait_for_more();
    return false;
  }
  return may_go_to_redis(redis::Lane::own);
}

void Session::take_chunk(const resp::Scan& scan, std::string_view raw) {
  const guard::Decision decision =
      worker_.guard.stream(scan, worker_.arguments.views(), state_, now_);
  if (decision.action == guard::Action::unread) {
    order_.expect_anything();
  } else if (scan.begins && state_.next_has_reply()) {
    order_.expect_reply();
  }
  if (decision.awaits_reply) {
    state_.writes()->await(order_.last_expected());
  }
  const auto front = worker_.arguments.views();
  if (!scan.begins || !worker_.own_commands.may_take_large(front, state_, now_)) {
    forward(raw);
  } else if (input_.is_ahead()) {
    end_when_written();  // Redis has its front: it must not have all of it
  } else {
    forward(worker_.own_commands.unknown_to_redis(front, raw));
  }
}

// A length too large for who has not logged in: Redis says so at once, in its own words, and
// closes. If it does not, since it has let everybody in meanwhile, the command is scanned like any
// other when the rest has come.
void Session::send_ahead(std::string_view input) {
  forward(input);
  input_.set_ahead(input.size());
}

}  // namespace cuckooguard::proxy
