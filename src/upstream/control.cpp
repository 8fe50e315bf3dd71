#include "upstream/control.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>
#include <utility>

#include "redis/facts.h"
#include "upstream/inquiry.h"
#include "upstream/not_allowed.h"
#include "upstream/redis_reply.h"
#include "upstream/server_reply.h"

namespace cuckooguard::upstream {
namespace {

constexpr const char* kDefaultUser = "default";
constexpr const char* kLeadsElsewhere = "its address now leads to another server";

// Errors of PING that Redis has for whom it has let in.
constexpr std::array<std::string_view, 5> kSaidToWhoIsIn{
    "NOPERM", "LOADING", "BUSY", "MASTERDOWN", "ERR unknown command"};

}  // namespace

// Another connection that reaches the same server changes nothing of what is known of several.
void LedTo::connected(const std::string& run_id) {
  if (current_ != run_id) {
    current_ = run_id;
    if (several_.empty()) {
      others_ = 0;
    }
  }
}

LedTo::Next LedTo::reached(const std::string& run_id) {
  if (run_id.empty() || current_.empty()) {
    others_ = several_.empty() ? 0 : others_;
    return Next::rest;
  }
  if (!several_.empty()) {
    return reached_one_of_several(run_id);
  }
  const bool is_as_before = others_ == 0 || run_id == other_;
  if (run_id == current_ || !is_as_before) {
    if (others_ > 0) {
      be_several(run_id);
    }
    return Next::rest;
  }
  other_ = run_id;
  if (++others_ <= kSure) {
    return Next::ask_again;
  }
  others_ = 0;
  return Next::moved;
}

LedTo::Next LedTo::reached_one_of_several(const std::string& run_id) {
  others_ = run_id == other_ ? others_ + 1 : 1;
  other_ = run_id;
  if (others_ < kAlone) {
    return Next::rest;
  }
  several_.clear();
  others_ = 0;
  return Next::moved;
}

void LedTo::be_several(const std::string& run_id) {
  const auto& [first, second] = std::minmax(other_, run_id);
  several_ = "several servers answer at this address at the same time (run_id " + first + " and " +
             second + ")";
  other_ = run_id;
  others_ = 1;
}

ServerWatch::ServerWatch(config::Upstream settings, const io::TlsSlot* tls, OnChange on_change)
    : settings_(std::move(settings)), on_change_(std::move(on_change)), worker_({}, tls) {}

ServerWatch::~ServerWatch() {
  worker_.stop_and_join();  // before what it works with
}

void ServerWatch::start() {
  worker_.start([this] { run(); });
}

void ServerWatch::connected(const std::string& run_id) {
  const std::lock_guard lock(mutex_);
  led_to_.connected(run_id);
}

void ServerWatch::run() {
  while (!worker_.loop().is_stopped()) {
    worker_.loop().run_until(io::now_since_boot() + kEvery);
    look();
  }
}

void ServerWatch::look() {
  LedTo::Next next = LedTo::Next::ask_again;
  while (next == LedTo::Next::ask_again && !worker_.loop().is_stopped()) {
    const std::string run_id = reached();
    std::unique_lock lock(mutex_);
    next = led_to_.reached(run_id);
    const Change change{.moved_from = next == LedTo::Next::moved ? led_to_.current() : "",
                        .several = led_to_.several()};
    lock.unlock();
    if (!change.moved_from.empty() || change.several != told_) {
      told_ = change.several;
      on_change_(change);
    }
  }
}

std::string ServerWatch::reached() {
  const RedisClient::Opened redis =
      RedisClient::open(worker_.loop(), settings_, Control::kCallTimeout);
  const Reply info = redis ? (*redis)->call({"INFO", "server"}) : nullptr;
  return info ? run_id_of(*info) : std::string();
}

Control::Control(const config::Upstream& settings,
                 Questions questions,
                 Calls calls,
                 const io::TlsSlot* tls)
    : settings_(settings),
      tls_(tls),
      questions_(std::move(questions)),
      calls_(std::move(calls)),
      worker_({}, tls),
      watch_(settings, tls, [this](const ServerWatch::Change& change) { on_change(change); }) {}

Control::~Control() {
  end_soon();
  worker_.stop_and_join();  // before what it works with
}

void Control::start() {
  worker_.start([this] { run(); });
  if (!questions_.of_presence_alone) {
    watch_.start();
  }
}

void Control::refresh() {
  is_due_ = true;
  refresh_soon();
}

void Control::refresh_soon() {
  if (!is_due_soon_.exchange(true)) {
    worker_.loop().post([] {});
  }
}

void Control::run() {
  while (!worker_.loop().is_stopped()) {
    std::string why;
    is_up_ = false;
    is_turned_away_ = false;
    connected_at_ = io::now_since_boot();
    if (const Redis redis = connect(why)) {
      why = questions_.of_presence_alone ? keep_watching(*redis) : keep_asking(*redis);
    }
    if (worker_.loop().is_stopped()) {
      return;
    }
    if (leave_server()) {
      calls_.on_lost(true, kLeadsElsewhere);
      continue;
    }
    calls_.on_lost(is_up_, why);
    if (!is_turned_away_) {
      tell_reachable(false, why);
    }
    rest(nullptr, {.most = kRetryEvery});
  }
}

std::string Control::keep_asking(RedisClient& redis) {
  Inquiry inquiry(redis, questions_);
  while (!worker_.loop().is_stopped()) {
    const std::uint64_t epoch = calls_.epoch();
    const bool trusts = settings_.acl == config::Acl::trust;
    const TimePoint asked_at = io::now_since_boot();
    std::optional<Answers> answers =
        inquiry.ask(trusts ? std::vector<std::string>{} : calls_.users());
    if (!answers) {
      is_up_ = redis.has_timed_out();
      return redis.why_lost();
    }
    answers->reading.good_until = asked_at + redis::Facts::kKnownFor;
    learn_whether_password_is_needed(answers->reading.users);
    const Pause pause = pause_after(answers->reading, asked_at);
    tell_reachable(true, {});
    const std::optional<std::string> several = be_with(answers->server);
    if (!several) {
      return kLeadsElsewhere;
    }
    tell(epoch, *std::move(answers), *several);
    if (!rest(&redis, pause)) {
      return "Redis has closed the connection";
    }
  }
  return {};
}

// Whatever it replies, without a login, too: it is there.
std::string Control::keep_watching(RedisClient& redis) {
  while (!worker_.loop().is_stopped()) {
    const Reply reply = redis.call({"PING"});
    if (!reply) {
      return redis.why_lost();
    }
    is_turned_away_ = is_error(*reply);  // it may be full, and close the connection
    tell_reachable(true, {});
    if (!rest(&redis, {.most = kWatchEvery})) {
      return "Redis has closed the connection";
    }
  }
  return {};
}

// A Redis that closes silent clients must not take this connection for one.
Control::Pause Control::pause_after(const redis::Reading& reading, TimePoint asked_at) {
  const auto took = std::chrono::ceil<std::chrono::milliseconds>(io::now_since_boot() - asked_at);
  const bool serves = reading.availability == redis::Availability::available;
  Pause pause{.most = serves ? kEvery : kRetryEvery,
              .least = std::clamp(kQuietParts * took, kSoon, kEvery)};
  if (reading.idle_timeout.count() != 0) {
    pause.most = std::min(pause.most, std::chrono::milliseconds(reading.idle_timeout) / 2);
  }
  return pause;
}

void Control::tell(std::uint64_t epoch, Answers answers, const std::string& several) {
  redis::Users& users = answers.reading.users;
  const bool trusts = settings_.acl == config::Acl::trust;
  tell_allowed(report_on(answers, several));
  const bool is_of_wrong_kind = !several.empty() || upstream::is_of_wrong_kind(settings_, answers);
  users.trusts_everyone = trusts && !is_of_wrong_kind;
  // In doubt nobody is known, unless the operator has said that there is nothing to ask.
  if (is_of_wrong_kind || (!answers.is_cluster && !trusts)) {
    users.unrestricted.clear();
    users.restricted.clear();
    if (is_of_wrong_kind) {  // whose clients may ask the guard itself why it does nothing
      users.refusal = report_on(answers, several).why;
    } else {
      users.default_needs_no_password = false;
      users.refusal = users.refusal.empty()
                          ? "Redis does not report whether it runs in cluster mode"
                          : users.refusal;
    }
  }
  if (calls_.on_server) {
    calls_.on_server(answers.server);
  }
  calls_.on_facts(epoch, std::move(answers.reading));
}

redis::ControlReport Control::report_on(const Answers& answers, const std::string& several) const {
  if (several.empty()) {
    return not_allowed(settings_, answers);
  }
  return {.state = redis::ControlReport::State::unsupported,
          .why = several,
          .hint =
              "make the address in `upstream` lead to one server at a time, or give each server "
              "its own guard or address; until then all keys pass"};
}

std::optional<std::string> Control::be_with(Server& server) {
  server.connected_at = connected_at_;
  server.is_led_to_anew = is_led_to_anew_;
  std::unique_lock lock(mutex_);
  run_id_ = server.run_id;
  std::optional<std::string> several = is_moved_ ? std::nullopt : std::optional(several_);
  lock.unlock();
  watch_.connected(server.run_id);
  return several;
}

// Whether the connection was given up for that.
bool Control::leave_server() {
  std::unique_lock lock(mutex_);
  const bool is_moved = std::exchange(is_moved_, false);
  const bool was_told = !std::exchange(run_id_, {}).empty();
  lock.unlock();
  watch_.connected({});
  is_led_to_anew_ = is_moved || (is_led_to_anew_ && !was_told);
  return is_moved;
}

void Control::on_change(const ServerWatch::Change& change) {
  std::unique_lock lock(mutex_);
  const bool is_left_already = several_.empty() && change.moved_from != run_id_;
  is_moved_ = is_moved_ || (!change.moved_from.empty() && !is_left_already);
  several_ = change.several;
  lock.unlock();
  refresh();
}

Control::Redis Control::connect(std::string& why) {
  using Login = RedisClient::Login;
  const bool asks = !questions_.of_presence_alone;
  RedisClient::Opened redis = RedisClient::open(
      worker_.loop(), settings_, kCallTimeout, asks ? Login::as_control : Login::none);
  if (redis) {
    return *std::move(redis);
  }
  const RedisClient::Failure& failure = redis.error();
  why = failure.why;
  is_up_ = failure.is_connected;
  if (asks && !is_up_ && tls_ != nullptr && tls_->get()) {  // it may be the handshake alone
    is_up_ = RedisClient::open(nullptr, settings_, kCallTimeout, Login::none).has_value();
  }
  is_turned_away_ = failure.is_from_redis && is_about_login(why);
  if (is_turned_away_) {
    tell_reachable(true, {});
    tell_allowed(not_logged_in(settings_, why));
  }
  return nullptr;
}

void Control::learn_whether_password_is_needed(redis::Users& users) {
  const bool is_told = users.find(kDefaultUser) != nullptr;
  if (!is_told && (settings_.acl == config::Acl::trust || !users.refusal.empty())) {
    users.default_needs_no_password = !tries_in_vain_without_password();
  }
}

// True, too, if that cannot be told. Redis refuses before anything else who must authenticate, and
// before that whom it does not let in at all.
bool Control::tries_in_vain_without_password() {
  const RedisClient::Opened redis =
      RedisClient::open(worker_.loop(), settings_, kCallTimeout, RedisClient::Login::none);
  const Reply reply = redis ? (*redis)->call({"PING"}) : nullptr;
  return !reply || (is_error(*reply) && std::ranges::none_of(kSaidToWhoIsIn, [&](auto words) {
                      return text_of(*reply).starts_with(words);
                    }));
}

void Control::tell_reachable(bool reachable, const std::string& why) {
  if (told_ && reachable == reachable_) {
    return;
  }
  told_ = true;
  reachable_ = reachable;
  calls_.on_reachable(reachable, why);
}

void Control::tell_allowed(redis::ControlReport report) {
  if (report_ != report) {
    report_ = std::move(report);
    calls_.on_allowed(*report_);
  }
}

bool Control::rest(const RedisClient* redis, Pause pause) {
  io::AsioLoop& loop = worker_.loop();
  const TimePoint began = loop.now();
  TimePoint due = began + pause.most;
  while (redis == nullptr || !redis->is_lost()) {
    if (is_due_soon_.exchange(false)) {
      due = std::min(due, began + pause.least);
    }
    if (is_due_.exchange(false) || loop.now() >= due || loop.is_stopped()) {
      return true;
    }
    loop.run_one(due);
  }
  return false;
}

}  // namespace cuckooguard::upstream
