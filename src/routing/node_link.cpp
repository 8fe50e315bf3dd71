#include "routing/node_link.h"

#include <utility>

namespace cuckooguard::routing {
namespace {

constexpr std::string_view kAsking = "*1\r\n$6\r\nASKING\r\n";

}  // namespace

NodeLink::NodeLink(io::Loop& loop, std::shared_ptr<Node> node, Owner& owner)
    : address(node->settings.address),
      loop_(loop),
      owner_(owner),
      node_(std::move(node)),
      route_(node_->route, *this) {}

NodeLink::Reach NodeLink::reach() {
  if (route_.is_pinned()) {
    return is_up_ ? Reach::up : Reach::waits;
  }
  upstream::LoginProbe& probe = node_->upstreams.login_probe();
  if (probe.entry() != upstream::LoginProbe::Entry::not_known) {
    return probe.was_answered() ? Reach::up : Reach::down;
  }
  node_->is_asked(loop_.now());
  probe.wait(*this);
  return Reach::waits;
}

void NodeLink::on_entry_known() {
  if (node_->upstreams.login_probe().was_answered()) {
    node_->is_heard();
    owner_.on_link_up(*this);
  } else {
    owner_.on_link_lost(*this);
  }
}

void NodeLink::send(std::string_view bytes, Travel travel) {
  if (waiting_.empty() && may_leave(travel)) {
    pass(bytes, travel);
    return;
  }
  waiting_.push_back({.bytes = std::string(bytes), .travel = travel});
  waiting_bytes_ += bytes.size();
  waiting_replies_ += travel.replies;
}

// Replies are owed to parts that have left, and to others that wait.
bool NodeLink::may_leave(const Travel& travel) {
  return route_.choose(travel.lane, owed.size() > waiting_replies_, {});
}

void NodeLink::pass(std::string_view bytes, const Travel& travel) {
  if (route_.is_lost()) {
    return;
  }
  if (travel.is_prompt) {
    node_->is_asked(loop_.now());
  }
  if (travel.asks) {
    route_.send(kAsking);
  }
  route_.send(bytes);
}

void NodeLink::send_waiting() {
  while (!waiting_.empty() && !route_.is_lost() && may_leave(waiting_.front().travel)) {
    const Waiting next = std::move(waiting_.front());
    waiting_.pop_front();
    waiting_bytes_ -= next.bytes.size();
    waiting_replies_ -= next.travel.replies;
    pass(next.bytes, next.travel);
  }
}

void NodeLink::settle() {
  if (owed.empty() && waiting_.empty()) {
    route_.settle();
  }
}

void NodeLink::close() {
  node_->upstreams.login_probe().forget(*this);
  route_.close();
  waiting_.clear();
}

void NodeLink::on_upstream_up() {
  is_up_ = true;
  owner_.on_link_up(*this);
}

void NodeLink::on_upstream_bytes(std::string_view bytes) {
  node_->is_heard();
  if (bytes.starts_with("-NOAUTH ")) {
    route_.on_login_wanted();
  }
  owner_.on_link_bytes(*this, bytes);
  send_waiting();
}

void NodeLink::on_upstream_progress() {
  send_waiting();
  owner_.on_link_progress();
}

// What has left is what waited for the lease: none of it has been run.
void NodeLink::on_upstream_refused(std::string_view error) {
  for (std::size_t left = owed.size() - waiting_replies_; left > 0 && !route_.is_lost(); --left) {
    owner_.on_link_bytes(*this, error);
  }
  send_waiting();
}

// The first that waits; no other reply is owed.
void NodeLink::on_command_refused(std::string_view error) {
  if (waiting_.empty()) {
    return;
  }
  waiting_bytes_ -= waiting_.front().bytes.size();
  waiting_replies_ -= waiting_.front().travel.replies;
  waiting_.pop_front();
  owner_.on_link_bytes(*this, error);
  send_waiting();
}

// A node that is full or busy refuses what needs a connection, as one Redis would.
void NodeLink::on_upstream_lost() {
  if (!route_.is_pinned() && !owed.empty() && upstream::is_of_redis_itself(refusal_)) {
    refuse_all(std::exchange(refusal_, {}));
  }
  is_unwelcome_ = !refusal_.empty() || (owed.empty() && !route_.has_own());
  owner_.on_link_lost(*this);
}

// Nothing of it has been run. What is sent meanwhile is refused as well.
void NodeLink::refuse_all(std::string_view error) {
  waiting_.clear();
  waiting_bytes_ = 0;
  waiting_replies_ = 0;
  while (!owed.empty() && owner_.is_up()) {
    owner_.on_link_bytes(*this, error);
  }
}

}  // namespace cuckooguard::routing
