#include "upstream/greeted_connection.h"

#include <algorithm>
#include <array>
#include <utility>

namespace cuckooguard::upstream {

bool is_of_redis_itself(std::string_view refusal) {
  constexpr auto kErrors = std::to_array<std::string_view>({"-BUSY ",
                                                            "-LOADING ",
                                                            "-MASTERDOWN ",
                                                            "-NOPERM ",
                                                            "-NOAUTH ",
                                                            "-ERR max number of clients"});
  return refusal.ends_with("\r\n") && std::ranges::any_of(kErrors, [&](std::string_view error) {
           return refusal.starts_with(error);
         });
}

namespace {

constexpr const char* kDefaultUser = "default";
// The user needs no password.
constexpr std::string_view kNoPassword = "-ERR AUTH <password> called without any password";

// Redis has let the connection in: it could not save, and refuses writes and PING; the user may not
// PING; or it does not serve just now, which the next command hears itself, if it is refused for
// that at all.
bool is_refused_to_ping_alone(std::string_view error) {
  constexpr auto kErrors = std::to_array<std::string_view>(
      {"-MISCONF ", "-NOPERM ", "-LOADING ", "-MASTERDOWN ", "-BUSY "});
  return std::ranges::any_of(kErrors,
                             [&](std::string_view known) { return error.starts_with(known); });
}

}  // namespace

GreetedConnection::GreetedConnection(io::Loop& loop,
                                     const config::Upstream& settings,
                                     const resp::ConnectionState& told,
                                     Owner& owner,
                                     LoginProbe* probe)
    : loop_(loop),
      settings_(settings),
      owner_(&owner),
      probe_(probe),
      opened_at_(loop.now()),
      connection_(connect()) {
  (void)greet(told);  // a new connection can be told anything
}

bool GreetedConnection::greet(const resp::ConnectionState& state) {
  const auto greeting = resp::greeting(as_said(told_), as_said(state));
  if (!greeting) {
    return false;
  }
  if (greeting->replies > 0) {
    connection_->send(greeting->commands);
    owed_ += greeting->replies;
    labels_ = greeting->labels;
    set_reading(reads_);
    await_greeting();
  }
  told_ = state;
  return true;
}

resp::ConnectionState GreetedConnection::as_said(const resp::ConnectionState& state) const {
  resp::ConnectionState said = state;
  if (names_user_ && said.login && said.login->user.empty()) {
    said.login->user = kDefaultUser;
  }
  return said;
}

bool GreetedConnection::must_name_user() const {
  return !names_user_ && told_.login && told_.login->user.empty() &&
         refusal_.starts_with(kNoPassword);
}

void GreetedConnection::touch() {
  if (is_touched_) {
    return;  // the PING before is still owed
  }
  connection_->send("*2\r\n$4\r\nPING\r\n$16\r\nconnection-probe\r\n");
  ++owed_;
  is_touched_ = true;
  set_reading(reads_);
  await_greeting();
}

std::unique_ptr<Connection> GreetedConnection::connect() {
  Connection::Owner& owner = *this;
  return std::make_unique<Connection>(loop_, settings_, owner);
}

void GreetedConnection::await_greeting() {
  if (probe_ == nullptr || greeting_deadline_) {
    return;
  }
  greeting_deadline_ = loop_.after(settings_.silence, [this] {
    greeting_deadline_.reset();
    if (owed_ > 0) {
      probe_->wait(*this);
    }
  });
}

void GreetedConnection::on_entry_known() {
  if (owed_ > 0 && probe_->was_answered() && state() == State::up) {
    greet_anew();
  } else if (owed_ > 0) {
    await_greeting();
  }
}

void GreetedConnection::on_upstream_lost() {
  if (owed_ > 0 && !is_new_) {
    greet_anew();
  } else {
    owner_->on_upstream_lost();
  }
}

// Nothing of the owner's has been sent: it waits for the greeting.
void GreetedConnection::greet_anew() {
  connection_->close();
  loop_.dispose(std::move(connection_));
  connection_ = connect();
  opened_at_ = loop_.now();
  framer_ = {};
  is_new_ = true;
  owed_ = 0;
  (void)greet(std::exchange(told_, {}));
  if (std::exchange(is_touched_, false)) {
    touch();
  }
  send_what_waits();
}

// What a new connection is anyway it needs not to be told: then nothing is owed there.
void GreetedConnection::send_what_waits() {
  if (owed_ > 0) {
    return;
  }
  if (!waiting_.empty()) {
    connection_->send(std::exchange(waiting_, {}));
  }
  if (finish_is_due_) {
    finish_sending();
  }
}

void GreetedConnection::close() {
  greeting_deadline_.reset();
  if (probe_ != nullptr) {
    std::exchange(probe_, nullptr)->forget(*this);
  }
  connection_->close();
}

void GreetedConnection::send(std::string_view bytes) {
  if (owed_ > 0) {
    waiting_.append(bytes);
  } else {
    connection_->send(bytes);
  }
}

void GreetedConnection::finish_sending() {
  finish_is_due_ = owed_ > 0;
  if (!finish_is_due_) {
    connection_->finish_sending();
  }
}

void GreetedConnection::on_upstream_up() {
  if (owed_ == 0) {
    owner_->on_upstream_up();
  }
}

void GreetedConnection::on_upstream_bytes(std::string_view bytes) {
  const bool was_greeting = owed_ > 0;
  if (is_turned_away(bytes) || (was_greeting && !take_greeting(bytes))) {
    if (must_name_user()) {
      names_user_ = true;
      refusal_.clear();
      greet_anew();
      return;
    }
    close();
    owner_->on_upstream_lost();
    return;
  }
  send_what_waits();
  if (was_greeting && owed_ == 0) {
    greeting_deadline_.reset();
    is_touched_ = false;
    set_reading(reads_);
    owner_->on_upstream_up();
  }
  if (!bytes.empty()) {
    owner_->on_upstream_bytes(bytes);
  }
}

// Redis says so unasked, before it closes; the line comes in one piece.
bool GreetedConnection::is_turned_away(std::string_view bytes) {
  constexpr std::string_view kFull = "-ERR max number of clients reached\r\n";
  if (std::exchange(is_new_, false) && bytes.starts_with(kFull)) {
    refusal_ = kFull;
    return true;
  }
  return false;
}

// What refusal_ is about.
bool GreetedConnection::may_be_refused() const {
  if (is_touched_ && owed_ == 1) {
    return is_refused_to_ping_alone(refusal_);
  }
  return owed_ - (is_touched_ ? 1 : 0) <= labels_;
}

// False: refused.
bool GreetedConnection::take_greeting(std::string_view& bytes) {
  while (owed_ > 0 && !bytes.empty()) {  // a PING is the last
    const resp::ReplyFramer::Piece piece = framer_.next(bytes);
    if (framer_.type() == '-') {
      refusal_.append(bytes.substr(0, std::min(piece.bytes, kRefusalBytesMax - refusal_.size())));
    }
    bytes.remove_prefix(piece.bytes);
    if (piece.malformed) {
      return false;
    }
    if (piece.ends && framer_.type() == '-') {
      if (!may_be_refused()) {
        return false;
      }
      refusal_.clear();
    }
    if (piece.ends && framer_.type() != '>') {
      --owed_;
    }
  }
  return true;
}

}  // namespace cuckooguard::upstream
