#include "routing/routed_transport.h"

#include <algorithm>
#include <array>
#include <utility>

#include "routing/split_command.h"

namespace cuckooguard::routing {
namespace {

constexpr std::string_view kAsking = "*1\r\n$6\r\nASKING\r\n";

constexpr bool has(io::Interest interest, io::Interest part) {
  return (static_cast<unsigned>(interest) & static_cast<unsigned>(part)) != 0;
}

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
  if (travel.is_prompt && owed.size() == waiting_replies_) {
    node_->is_asked(loop_.now());  // for a connection
  }
  waiting_.push_back({.bytes = std::string(bytes), .travel = travel});
  waiting_bytes_ += bytes.size();
  waiting_replies_ += travel.replies;
}

// Replies are owed to parts that have left, and to others that wait.
bool NodeLink::may_leave(const Travel& travel) {
  return route_.choose(
      travel.lane, owed.size() > waiting_replies_, {.waits_for_writes = travel.waits_for_writes});
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
  node_->is_heard();
  for (std::size_t left = owed.size() - waiting_replies_; left > 0 && !route_.is_lost(); --left) {
    owner_.on_link_bytes(*this, error);
  }
  send_waiting();
}

// The first that waits; no other reply is owed.
void NodeLink::on_command_refused(std::string_view error) {
  node_->is_heard();
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

RoutedTransport::RoutedTransport(const Worker& worker, io::Watcher& watcher)
    : worker_(worker),
      watcher_(&watcher),
      held_(worker.loop.chunks()),
      output_(worker.loop.chunks()) {
  if (any_master() == nullptr) {
    worker_.routes.doubt();
  }
  tell_soon();
}

void RoutedTransport::watch(io::Interest interest) {
  const bool wants_more =
      (static_cast<unsigned>(interest) & ~static_cast<unsigned>(interest_)) != 0;
  interest_ = interest;
  if (wants_more && !is_telling_) {
    tell_soon();
  }
  update_reading();
}

io::Transfer RoutedTransport::read(std::span<char> into) {
  if (output_.is_empty()) {
    return {state_ == State::up ? io::Status::would_block : io::Status::closed, 0};
  }
  std::size_t bytes = 0;
  std::array<std::string_view, kPiecesMax> pieces;
  for (const std::string_view piece : output_.front(pieces)) {
    bytes += piece.copy(into.data() + bytes, into.size() - bytes);
    if (bytes == into.size()) {
      break;
    }
  }
  output_.consume(bytes);
  if ((is_write_refused_ || !input_.empty()) && output_.size() < kHeldSoft) {
    tell_soon();
  }
  update_reading();
  return {io::Status::ok, bytes};
}

io::Transfer RoutedTransport::write(std::span<const std::string_view> pieces) {
  if (state_ != State::up || is_finishing_) {
    return {state_ == State::up ? io::Status::would_block : io::Status::failed, 0};
  }
  if (!takes_more() || input_.size() >= kUnsentMax) {
    is_write_refused_ = true;
    return {io::Status::would_block, 0};
  }
  std::size_t bytes = 0;
  for (const std::string_view piece : pieces) {
    input_.append(piece);
    bytes += piece.size();
  }
  process();
  answer_in_order();
  if (!output_.is_empty() || state_ != State::up) {
    proceed_later();
  }
  return {io::Status::ok, bytes};
}

// At the end of the batch: whoever is told reads, into the buffer in which bytes for others may be.
void RoutedTransport::proceed_later() {
  if (!flush_queued_) {
    flush_queued_ = true;
    worker_.loop.flush_at_batch_end(*this, io::FlushOrder::upstream_first);
  }
}

void RoutedTransport::flush() {
  flush_queued_ = false;
  proceed();
}

void RoutedTransport::finish_writing() {
  is_finishing_ = true;
  tell_soon();
}

void RoutedTransport::close() {
  state_ = State::closed;
  again_.reset();
  retry_.reset();
  clock_.reset();
  look_.reset();
  for (const auto& link : links_) {
    link->close();
  }
  output_.clear();
}

// What has been replied may still be read.
void RoutedTransport::lose() {
  if (state_ == State::closed) {
    return;
  }
  state_ = State::lost;
  retry_.reset();
  clock_.reset();
  for (const auto& link : links_) {
    link->close();
  }
}

bool RoutedTransport::takes_more() const {
  if (large_.link != nullptr) {  // others may wait for its end
    return large_.link->unsent() < kUnsentMax;
  }
  return !barrier_ && entries_.size() < kInFlightMax && held_bytes_ < kHeldSoft &&
         output_.size() < kHeldSoft &&
         std::ranges::all_of(links_, [](const auto& link) { return link->unsent() < kUnsentMax; });
}

// All that is whole of what was written, as far as it may go now.
void RoutedTransport::process() {
  std::size_t at = 0;
  while (state_ == State::up && !is_quitting_ && takes_more()) {
    if (!large_.held.empty() && !go_on_with_large()) {
      break;
    }
    const std::string_view rest = std::string_view(input_).substr(at);
    const resp::Scan scan = scanner_.next(rest, worker_.arguments);
    if (scan.outcome == resp::ScanOutcome::incomplete || rest.empty()) {
      break;
    }
    if (scan.outcome == resp::ScanOutcome::protocol_error) {
      answer("-" + std::string(scan.error) + "\r\n");
      quit();
      break;
    }
    const std::string_view bytes = rest.substr(0, scan.consumed);
    if (scan.outcome == resp::ScanOutcome::command && !take_command(bytes)) {
      break;
    }
    if (scan.outcome == resp::ScanOutcome::chunk) {
      take_chunk(scan, bytes);
    }
    at += scan.consumed;
  }
  input_.erase(0, is_quitting_ ? input_.size() : at);
}

// After whatever has happened.
void RoutedTransport::proceed() {
  answer_in_order();
  while (state_ == State::up && !input_.empty() && takes_more()) {
    const std::size_t before = input_.size();
    const std::size_t entries = entries_.size();
    process();
    answer_in_order();
    if (input_.size() == before && entries_.size() == entries && !barrier_) {
      break;
    }
  }
  if (state_ == State::up && is_finishing_ && entries_.empty() && !barrier_ &&
      (input_.empty() || takes_more())) {
    lose();
  }
  for (const auto& link : links_) {
    link->settle();
  }
  update_reading();
  tell();
}

// False: it waits, or all is lost.
bool RoutedTransport::answer_merged(Entry& head) {
  if (head.scan && head.refusal.empty() && !settle_scan(head)) {
    return false;
  }
  const auto reply = head.refusal.empty() ? merged(head.merge, head.places, head.replies)
                                          : std::string(head.refusal);
  for (const std::string& each : head.replies) {
    release(each.size());
  }
  if (!reply) {
    lose();
    return false;
  }
  output_.append(*reply);
  return true;
}

void RoutedTransport::answer_in_order() {
  while (!entries_.empty()) {
    Entry& head = entries_.front();
    if (head.merge != Merge::none && head.awaited == 0) {
      if (!answer_merged(head)) {
        break;
      }
    } else if (!head.reply.empty()) {
      output_.append(head.reply);
      release(head.reply.size());
      head.is_begun = true;
      head.reply.clear();
    }
    if (head.awaited > 0) {
      break;
    }
    entries_.pop_front();
    ++first_entry_;
  }
  if (!pushes_.empty() && (entries_.empty() || !entries_.front().is_begun)) {
    output_.append(pushes_);
    release(pushes_.size());
    pushes_.clear();
  }
  if (barrier_ && barrier_->said != '\0' && entries_.empty() && state_ == State::up) {
    settle_barrier();
  }
}

// Level-triggered, as a socket: until all is read, or nobody wants it.
void RoutedTransport::tell() {
  if (is_telling_ || state_ == State::connecting) {
    return;
  }
  is_telling_ = true;
  while (state_ != State::closed && has(interest_, io::Interest::read) &&
         (!output_.is_empty() || state_ == State::lost)) {
    const std::size_t before = output_.size();
    watcher_->on_ready({.readable = true, .hung_up = state_ == State::lost && before == 0});
    if (before == 0 || output_.size() >= before) {
      break;
    }
  }
  if (state_ == State::up && has(interest_, io::Interest::write) && takes_more() &&
      input_.size() < kUnsentMax) {
    is_write_refused_ = false;
    watcher_->on_ready({.writable = true});
  }
  if (state_ == State::lost && !has(interest_, io::Interest::read) && !is_end_told_) {
    is_end_told_ = true;
    watcher_->on_ready({.hung_up = true});
  }
  is_telling_ = false;
}

void RoutedTransport::tell_soon() {
  if (!again_ && state_ != State::closed) {
    again_ = worker_.loop.after(std::chrono::milliseconds(0), [this] {
      const auto fired = std::move(again_);
      if (state_ == State::connecting) {
        reach_home();
      } else {
        proceed();
      }
    });
  }
}

void RoutedTransport::reach_home() {
  if (home_ == nullptr) {  // no master is known
    state_ = State::lost;
    watcher_->on_ready({.hung_up = true});
    return;
  }
  switch (home_->reach()) {
    case NodeLink::Reach::waits:
      look_after_home();
      return;
    case NodeLink::Reach::up:
      on_link_up(*home_);
      return;
    case NodeLink::Reach::down:
      on_link_lost(*home_);
      return;
  }
}

// Whether this node's reply is the one that others wait for: the client's next one, or one behind
// which a redirected command waits.
bool RoutedTransport::is_next(const NodeLink& link) const {
  return std::ranges::any_of(link.owed, [this](const RoutedPart& part) {
    const auto flight = flights_.find(part.slot);
    return part.reply != RoutedPart::Reply::of_client || part.entry == first_entry_ ||
           (flight != flights_.end() && !flight->second.again.empty());
  });
}

void RoutedTransport::update_reading() {
  if (state_ != State::up) {
    return;
  }
  const bool is_read = has(interest_, io::Interest::read) || output_.size() < kHeldSoft;
  for (const auto& link : links_) {
    const bool reads =
        is_read && output_.size() < kHeldSoft && (held_bytes_ < kHeldSoft || is_next(*link));
    link->set_reading(reads);
  }
}

void RoutedTransport::hold(std::size_t bytes) {
  held_bytes_ += bytes;
  held_.set(held_bytes_);
  if (held_bytes_ > kHeldMax) {
    lose();
  }
}

void RoutedTransport::release(std::size_t bytes) {
  held_bytes_ -= bytes;
  held_.set(held_bytes_);
}

NodeLink* RoutedTransport::link_to(const config::Address& node) {
  const auto found =
      std::ranges::find_if(links_, [&](const auto& link) { return link->address == node; });
  if (found != links_.end()) {
    return found->get();
  }
  NodeLink::Owner& owner = *this;
  links_.push_back(std::make_unique<NodeLink>(worker_.loop, worker_.nodes.at(node), owner));
  return links_.back().get();
}

// The same one as long as it is one, and answers, or something is to come from it; else one that is
// not known to be silent, by turns.
NodeLink* RoutedTransport::any_master() {
  const std::vector<config::Address>& masters = worker_.routes.masters();
  const bool is_one =
      home_ != nullptr &&
      (masters.empty() || std::ranges::find(masters, home_->address) != masters.end());
  if (is_one && (!home_->is_silent() || !home_->owed.empty() || has_state_on(*home_))) {
    return home_;
  }
  const config::Address* const next = pick_master(home_ == nullptr ? nullptr : &home_->address);
  home_ = next == nullptr ? nullptr : link_to(*next);
  return home_;
}

// By turns one that is not known to be silent, and another one than this; else any.
const config::Address* RoutedTransport::pick_master(const config::Address* other_than) const {
  const config::Address* next = nullptr;
  for (std::size_t left = worker_.routes.masters().size(); left > 0; --left) {
    next = &worker_.routes.next_master();
    const bool is_other = other_than == nullptr || *next != *other_than;
    if (is_other && !worker_.nodes.is_silent(*next)) {
      break;
    }
  }
  return next;
}

// Of the client's, which another connection would not have.
bool RoutedTransport::has_state_on(const NodeLink& link) const {
  return link.subscriptions.any() || transaction_.link == &link || watched_ == &link ||
         large_.link == &link;
}

void RoutedTransport::on_link_up(NodeLink& link) {
  if (state_ == State::connecting && &link == home_) {
    state_ = State::up;
    watcher_->on_ready({.writable = true});
    proceed();
  }
}

void RoutedTransport::on_link_bytes(NodeLink& link, std::string_view bytes) {
  while (!bytes.empty() && state_ == State::up) {
    const resp::ReplyFramer::Piece piece = link.framer.next(bytes);
    take_piece(link, bytes.substr(0, piece.bytes), piece);
    bytes.remove_prefix(piece.bytes);
    if (piece.malformed) {
      lose();
    }
  }
  proceed_later();
}

void RoutedTransport::on_link_lost(NodeLink& link) {
  worker_.routes.doubt();
  if (state_ == State::connecting) {
    if (&link == home_) {
      lose_home();
    }
  } else if (link.owed.empty() && !has_state_on(link) && !link.is_unwelcome()) {
    drop(link);
  } else {
    if (entries_.empty() || !entries_.front().is_begun) {
      output_.append(link.refusal());
    }
    lose();
    proceed_later();
  }
}

// Another master may be reached. One that has said no speaks for all.
void RoutedTransport::lose_home() {
  if (home_->refusal().empty() && tried_ + 1 < worker_.routes.masters().size()) {
    ++tried_;
    const config::Address lost = home_->address;
    drop(*home_);
    home_ = link_to(*pick_master(&lost));
    tell_soon();
    return;
  }
  output_.append(home_->refusal());
  state_ = State::lost;
  if (output_.is_empty()) {
    watcher_->on_ready({.hung_up = true});
  } else {
    state_ = State::up;  // it was reached, and has said no
    watcher_->on_ready({.writable = true});
    lose();
    tell();
  }
}

void RoutedTransport::drop(NodeLink& link) {
  link.close();
  home_ = home_ == &link ? nullptr : home_;
  const auto place =
      std::ranges::find_if(links_, [&](const auto& each) { return each.get() == &link; });
  worker_.loop.dispose(std::move(*place));
  links_.erase(place);
}

}  // namespace cuckooguard::routing
