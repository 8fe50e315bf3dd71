#include "upstream/login_probe.h"

#include <utility>

namespace cuckooguard::upstream {
namespace {

constexpr std::size_t kReplyBytes = 32;  // enough to tell

}  // namespace

struct LoginProbe::Asking final : io::Disposable {
  Asking(io::Loop& loop,
         const config::Upstream& settings,
         std::uint64_t version_now,
         Connection::Owner& owner)
      : version(version_now), began(loop.now()), connection(loop, settings, owner) {}

  std::uint64_t version;
  io::TimePoint began;
  std::string said{};
  bool is_again = false;
  std::unique_ptr<io::Timer> deadline{};
  Connection connection;
};

LoginProbe::LoginProbe(io::Loop& loop,
                       const config::Upstream& settings,
                       std::function<std::uint64_t()> version,
                       std::function<void()> on_closed)
    : loop_(loop),
      settings_(settings),
      version_(std::move(version)),
      on_closed_(std::move(on_closed)) {}

LoginProbe::~LoginProbe() = default;

LoginProbe::Entry LoginProbe::entry() const {
  const bool holds = loop_.now() < valid_until_ && entry_version_ == version_();
  return holds ? entry_ : Entry::not_known;
}

void LoginProbe::wait(Waiter& waiter) {
  if (!std::exchange(waiter.waits_, true)) {
    waiters_.push_back(&waiter);
  }
  if (!asking_) {
    ask(false);
  }
}

void LoginProbe::ask(bool is_again) {
  given_up_at_ = loop_.now() + settings_.connect_timeout;
  connect(is_again, kSilentFor);
}

void LoginProbe::connect(bool is_again, std::chrono::milliseconds patience) {
  Connection::Owner& self = *this;
  asking_ = std::make_unique<Asking>(loop_, settings_, version_(), self);
  asking_->is_again = is_again;
  asking_->connection.send(kQuestion);
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(given_up_at_ - loop_.now());
  if (left <= patience) {
    asking_->deadline = loop_.after(left, [this] { end(Entry::not_known); });
    return;
  }
  asking_->deadline = loop_.after(patience, [this, is_again, patience] {
    give_up();
    connect(is_again, 2 * patience);
  });
}

void LoginProbe::forget(Waiter& waiter) {
  if (std::exchange(waiter.waits_, false)) {
    std::erase(waiters_, &waiter);
    if (waiters_.empty() && asking_) {
      give_up();
    }
  }
}

void LoginProbe::ask_anew() {
  valid_until_ = {};
  if (asking_) {
    give_up();
    ask(false);
  }
}

void LoginProbe::on_upstream_bytes(std::string_view bytes) {
  std::string& said = asking_->said;
  said.append(bytes.substr(0, kReplyBytes - said.size()));
  if (said.size() < kReplyBytes && !said.contains('\n')) {
    return;
  }
  const std::string_view reply = said;
  if (reply.starts_with("-NOAUTH ")) {
    end(Entry::closed);
  } else if (reply.starts_with("-ERR max number of clients") || reply.starts_with("-DENIED ")) {
    end(Entry::not_known);  // no reply: it was turned away
  } else {
    end(Entry::open);
  }
}

void LoginProbe::give_up() {
  asking_->deadline.reset();
  asking_->connection.close();
  loop_.dispose(std::move(asking_));
}

void LoginProbe::end(Entry said) {
  entry_version_ = asking_->version;
  valid_until_ = asking_->began + kValidFor;
  const bool was_again = asking_->is_again;
  give_up();
  entry_ = said;
  was_answered_ = said != Entry::not_known;
  if (said == Entry::closed) {
    on_closed_();
  }
  // A change that this asking may have missed, or an answer that took too long, is no answer.
  if (entry() == Entry::not_known) {
    if (said != Entry::not_known && !was_again) {
      ask(true);
      return;
    }
    // Whoever waits goes on without.
    entry_ = Entry::closed;
    entry_version_ = version_();
    valid_until_ = loop_.now() + kUnknownFor;
  }
  // Whoever is told may end others, who are forgotten then.
  for (std::size_t left = waiters_.size(); left > 0 && !waiters_.empty(); --left) {
    Waiter* const waiter = waiters_.front();
    waiters_.pop_front();
    waiter->waits_ = false;
    waiter->on_entry_known();
  }
}

}  // namespace cuckooguard::upstream
