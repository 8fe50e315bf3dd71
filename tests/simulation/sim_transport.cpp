#include "simulation/sim_transport.h"

#include <algorithm>
#include <utility>

#include "simulation/link.h"
#include "simulation/proxy_memory.h"

namespace cuckooguard::simulation {
namespace {

// How often a watcher may be told without doing anything about it.
constexpr int kFruitlessCallsMax = 4;
constexpr std::uint64_t kSpuriousOneIn = 40;
constexpr std::size_t kShortWriteMax = 5000;

bool has(io::Interest interest, io::Interest part) {
  return (static_cast<unsigned>(interest) & static_cast<unsigned>(part)) != 0;
}

}  // namespace

SimTransport::SimTransport(SimLoop& loop, State state)
    : loop_(loop),
      id_(++loop.transports_made_),
      state_(state),
      self_(std::make_shared<SimTransport*>(this)) {
  loop_.transports_.emplace(id_, this);
}

SimTransport::~SimTransport() {
  SimTransport::close();
  if (loop_.delivering_.contains(id_)) {
    loop_.fail("a transport was destroyed within a batch that holds its readiness");
  }
  const OutsideProxy outside;
  loop_.transports_.erase(id_);
}

void SimTransport::join(SimPeer& peer) {
  link_ = std::make_shared<Link>(loop_);
  link_->product = this;
  link_->world = &peer;
  peer.link_ = link_;
  peer.pump();
}

void SimTransport::establish(SimPeer& peer) {
  if (state_ == State::connecting) {
    join(peer);
    connect_is_news_ = true;
    touch();
  }
}

void SimTransport::refuse() {
  if (state_ == State::connecting) {
    refused_ = true;
    connect_is_news_ = true;
    touch();
  }
}

void SimTransport::watch(io::Interest interest) {
  const OutsideProxy outside;
  if (interest != interest_) {
    interest_ = interest;
    hang_up_is_told_ = false;
    fruitless_calls_ = 0;
  }
  touch();
}

bool SimTransport::is_hung_up() const {
  return link_->is_dead || (link_->to_product.finish_has_arrived() &&
                            (link_->is_unix ? link_->world == nullptr || link_->world->closed_
                                            : link_->to_world.is_finished()));
}

bool SimTransport::is_ready() const {
  if (state_ == State::connecting) {
    return connect_is_news_;
  }
  if (state_ == State::closed || watcher_ == nullptr) {
    return false;
  }
  const bool hung_up = is_hung_up();
  if (interest_ == io::Interest::none) {
    return hung_up && !hang_up_is_told_;
  }
  const bool readable = hung_up || link_->to_product.unread() > 0 || link_->to_product.at_end();
  const bool writable = hung_up || link_->to_world.room() > 0;
  return hung_up || (has(interest_, io::Interest::read) && readable) ||
         (has(interest_, io::Interest::write) && writable);
}

io::Readiness SimTransport::take_readiness() {
  if (state_ == State::connecting) {
    return {.writable = !refused_, .hung_up = refused_};
  }
  const bool hung_up = is_hung_up();
  hang_up_is_told_ = hung_up;
  const bool spurious = loop_.weather().rough && loop_.random().one_in(kSpuriousOneIn);
  const bool readable =
      spurious || hung_up || link_->to_product.unread() > 0 || link_->to_product.at_end();
  const bool writable = spurious || hung_up || link_->to_world.room() > 0;
  return {.readable = has(interest_, io::Interest::read) && readable,
          .writable = has(interest_, io::Interest::write) && writable,
          .hung_up = hung_up};
}

void SimTransport::tell(io::Readiness readiness) {
  if (state_ == State::connecting) {
    connect_is_news_ = false;
    if (!refused_) {
      state_ = State::up;
    }
    touch();
  }
  if (++fruitless_calls_ > kFruitlessCallsMax) {
    loop_.fail("a watcher is told of readiness again and again and does nothing about it");
  }
  loop_.trace(id_);
  watcher_->on_ready(readiness);
}

io::Transfer SimTransport::took(io::Status status, std::size_t bytes) {
  if (status != io::Status::would_block) {
    fruitless_calls_ = 0;
  }
  touch();
  return {status, bytes};
}

io::Transfer SimTransport::read(std::span<char> into) {
  const OutsideProxy outside;
  if (state_ != State::up) {
    return {io::Status::would_block, 0};
  }
  if (loop_.weather().rough && loop_.random().one_in(4)) {
    into = into.first(loop_.random().between(1, into.size()));
  }
  Pipe& pipe = link_->to_product;
  if (const std::size_t bytes = pipe.read(into); bytes > 0) {
    const std::string_view got(into.data(), bytes);
    loop_.trace(got);
    if (observer_.on_read) {
      observer_.on_read(got);
    }
    if (link_->world != nullptr) {
      link_->world->pump();
    }
    return took(io::Status::ok, bytes);
  }
  if (link_->is_dead) {
    return took(io::Status::failed, 0);
  }
  return took(pipe.at_end() ? io::Status::closed : io::Status::would_block, 0);
}

io::Transfer SimTransport::write(std::span<const std::string_view> pieces) {
  const OutsideProxy outside;
  if (state_ != State::up) {
    return {io::Status::would_block, 0};
  }
  const bool hangs_up_at_once =
      link_->is_unix && (link_->world == nullptr || link_->world->closed_);
  if (link_->is_dead || hangs_up_at_once) {
    return took(io::Status::failed, 0);
  }
  std::size_t room = link_->to_world.room();
  if (loop_.weather().rough && room > 1 && loop_.random().one_in(6)) {
    room = loop_.random().between(1, std::min(room, kShortWriteMax));
  }
  std::string bytes;
  for (const std::string_view piece : pieces.first(std::min(pieces.size(), kPiecesMax))) {
    bytes.append(piece.substr(0, room - bytes.size()));
  }
  if (bytes.empty()) {
    return took(io::Status::would_block, 0);
  }
  loop_.trace(bytes);
  if (observer_.on_write) {
    observer_.on_write(bytes);
  }
  link_->to_world.write(bytes);
  link_->move_to_world();
  return took(io::Status::ok, bytes.size());
}

void SimTransport::finish_writing() {
  const OutsideProxy outside;
  if (observer_.on_finish) {
    observer_.on_finish();
  }
  if (state_ == State::up && !link_->is_dead) {
    link_->to_world.finish();
    link_->move_to_world();
  }
}

// Delivery is acknowledgement.
std::optional<std::chrono::milliseconds> SimTransport::unheard_for() const {
  if (state_ != State::up || link_->is_unix || link_->to_world.in_flight() == 0) {
    return std::nullopt;
  }
  return std::chrono::floor<std::chrono::milliseconds>(loop_.now() - link_->heard_at);
}

void SimTransport::close() {
  const OutsideProxy outside;
  if (state_ == State::closed) {
    return;
  }
  state_ = State::closed;
  if (link_) {
    link_->product = nullptr;
    link_->to_world.finish();
    const bool leaves_unread = link_->to_product.unread() + link_->to_product.in_flight() > 0;
    if (leaves_unread && loop_.weather().rough && loop_.random().one_in(2)) {
      link_->reset();
    } else {
      link_->move_to_world();
    }
    link_.reset();
  }
  if (observer_.on_close) {
    observer_.on_close();
  }
}

int SimTransport::release() {
  const OutsideProxy outside;
  if (loop_.delivering_.contains(id_)) {
    loop_.fail("a transport was released within a batch that holds its readiness");
  }
  auto next = std::make_unique<SimTransport>(loop_, State::up);
  next->link_ = std::move(link_);
  next->link_->product = next.get();
  next->observer_ = std::move(observer_);
  state_ = State::closed;
  const int socket = static_cast<int>(next->id_);
  loop_.released_.emplace(socket, std::move(next));
  return socket;
}

SimPeer::~SimPeer() {
  if (link_) {
    close();
    if (!link_->is_dead) {  // the kernel goes on sending what it has been given
      link_->to_product.write(unsent_.view());
      link_->to_product.finish();
      link_->move_to_product();
    }
    link_->world = nullptr;
  }
}

void SimPeer::send(std::string_view bytes) {
  unsent_.append(bytes);
  pump();
}

void SimPeer::pump() {
  if (!link_ || link_->is_dead) {
    return;
  }
  const std::size_t bytes = std::min(link_->to_product.room(), unsent_.size());
  link_->to_product.write(unsent_.view().substr(0, bytes));
  unsent_.take(bytes);
  if (finish_is_due_ && unsent_.empty()) {
    link_->to_product.finish();
  }
  link_->move_to_product();
}

void SimPeer::arrived() const {
  if (calls_.on_arrival && !closed_) {
    const auto call = calls_.on_arrival;  // it may destroy this peer
    call();
  }
}

std::string SimPeer::read(std::size_t max) {
  if (!link_) {
    return {};
  }
  std::string bytes(std::min(max, link_->to_world.unread()), '\0');
  link_->to_world.read(bytes);
  if (link_->product != nullptr) {
    link_->product->touch();
  }
  return bytes;
}

std::size_t SimPeer::unread() const {
  return link_ ? link_->to_world.unread() : 0;
}

bool SimPeer::at_end() const {
  return link_ && link_->to_world.at_end();
}

bool SimPeer::is_reset() const {
  return link_ && link_->is_dead;
}

void SimPeer::finish() {
  finish_is_due_ = true;
  pump();
}

void SimPeer::close() {
  closed_ = true;
  finish();
  if (link_ && link_->to_world.unread() > 0) {
    link_->reset();
  }
}

void SimPeer::reset() {
  closed_ = true;
  if (link_) {
    link_->reset();
  }
}

bool SimPeer::is_unix() const {
  return link_ && link_->is_unix;
}

void SimPeer::stall(std::chrono::nanoseconds time) {
  if (link_) {
    link_->still_until = loop_.now() + time;
  }
}

}  // namespace cuckooguard::simulation
