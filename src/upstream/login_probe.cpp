#include "upstream/login_probe.h"

#include <algorithm>
#include <utility>

namespace cuckooguard::upstream {
namespace {

constexpr std::size_t kReplyBytes = 32;  // enough to tell

}  // namespace

struct LoginProbe::Asking final : io::Disposable, Connection::Owner {
  Asking(LoginProbe& its_probe, io::Loop& loop, const config::Upstream& settings)
      : probe(its_probe),
        version(its_probe.version_()),
        began(loop.now()),
        connection(loop, settings, *this) {}

  void on_upstream_up() override {}
  void on_upstream_bytes(std::string_view bytes) override { probe.take(*this, bytes); }
  void on_upstream_progress() override {}
  void on_upstream_lost() override { probe.lose(*this); }

  LoginProbe& probe;
  std::uint64_t version;
  io::TimePoint began;
  std::string said{};
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
  if (askings_.empty()) {
    ask(false);
  }
}

void LoginProbe::ask(bool is_again) {
  is_again_ = is_again;
  given_up_at_ = loop_.now() + settings_.connect_timeout;
  connect(kSilentFor);
}

void LoginProbe::connect(std::chrono::milliseconds patience) {
  askings_.push_back(std::make_unique<Asking>(*this, loop_, settings_));
  askings_.back()->connection.send(kQuestion);
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(given_up_at_ - loop_.now());
  if (left <= patience) {
    deadline_ = loop_.after(left, [this] { end(Entry::not_known, *askings_.back()); });
  } else {
    deadline_ = loop_.after(patience, [this, patience] { connect(2 * patience); });
  }
}

void LoginProbe::forget(Waiter& waiter) {
  if (std::exchange(waiter.waits_, false)) {
    std::erase(waiters_, &waiter);
    if (waiters_.empty()) {
      give_up();
    }
  }
}

void LoginProbe::ask_anew() {
  valid_until_ = {};
  if (!askings_.empty()) {
    give_up();
    ask(false);
  }
}

void LoginProbe::take(Asking& from, std::string_view bytes) {
  std::string& said = from.said;
  said.append(bytes.substr(0, kReplyBytes - said.size()));
  if (said.size() < kReplyBytes && !said.contains('\n')) {
    return;
  }
  const std::string_view reply = said;
  if (reply.starts_with("-NOAUTH ")) {
    end(Entry::closed, from);
  } else if (reply.starts_with("-ERR max number of clients") || reply.starts_with("-DENIED ")) {
    end(Entry::not_known, from);  // no reply: it was turned away
  } else {
    end(Entry::open, from);
  }
}

// Another one may still be answered.
void LoginProbe::lose(Asking& from) {
  if (askings_.size() == 1) {
    end(Entry::not_known, from);
    return;
  }
  const auto lost = std::ranges::find(askings_, &from, &std::unique_ptr<Asking>::get);
  loop_.dispose(std::move(*lost));
  askings_.erase(lost);
}

void LoginProbe::give_up() {
  deadline_.reset();
  for (auto& asking : std::exchange(askings_, {})) {
    asking->connection.close();
    loop_.dispose(std::move(asking));
  }
}

void LoginProbe::end(Entry said, const Asking& from) {
  entry_version_ = from.version;
  valid_until_ = from.began + kValidFor;
  give_up();
  entry_ = said;
  was_answered_ = said != Entry::not_known;
  if (said == Entry::closed) {
    on_closed_();
  }
  // A change that this asking may have missed, or an answer that took too long, is no answer.
  if (entry() == Entry::not_known) {
    if (said != Entry::not_known && !is_again_) {
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
