#include "upstream/control.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>
#include <utility>

#include <poll.h>

#include "redis/facts.h"
#include "upstream/inquiry.h"
#include "upstream/not_allowed.h"
#include "upstream/redis_reply.h"
#include "upstream/server_reply.h"

namespace cuckooguard::upstream {
namespace {

constexpr const char* kDefaultUser = "default";
constexpr const char* kLeadsElsewhere = "its address leads to another server now";

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
  several_ = "several servers answer at this address at one time (run_id " + first + " and " +
             second + ")";
  other_ = run_id;
  others_ = 1;
}

ServerWatch::ServerWatch(RedisConnector connector, OnChange on_change)
    : connector_(std::move(connector)), on_change_(std::move(on_change)) {}

ServerWatch::~ServerWatch() {
  thread_ = {};  // before what it works with
}

void ServerWatch::start() {
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

void ServerWatch::connected(const std::string& run_id) {
  const std::lock_guard lock(mutex_);
  led_to_.connected(run_id);
}

void ServerWatch::run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    std::unique_lock lock(mutex_);
    rest_.wait_for(lock, stop, kEvery, [] { return false; });
    lock.unlock();
    if (!stop.stop_requested()) {
      look(stop);
    }
  }
}

void ServerWatch::look(const std::stop_token& stop) {
  LedTo::Next next = LedTo::Next::ask_again;
  while (next == LedTo::Next::ask_again && !stop.stop_requested()) {
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

std::string ServerWatch::reached() const {
  std::string why;
  const RedisConnector::Redis redis = connector_.open(why);
  if (!redis || connector_.log_in(*redis)) {
    return {};
  }
  const Reply info(static_cast<redisReply*>(redisCommand(redis.get(), "INFO server")));
  return info ? run_id_of(*info) : std::string();
}

Control::Control(const config::Upstream& settings,
                 Questions questions,
                 Calls calls,
                 const io::TlsSlot* tls)
    : connector_(settings, tls, kCallTimeout),
      questions_(std::move(questions)),
      calls_(std::move(calls)),
      watch_(connector_, [this](const ServerWatch::Change& change) { on_change(change); }) {}

Control::~Control() {
  end_soon();
  thread_ = {};  // before what it works with
}

void Control::start() {
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
  if (!questions_.of_presence_alone) {
    watch_.start();
  }
}

void Control::refresh() {
  is_due_ = true;
  wake_up_.call();
}

void Control::run(const std::stop_token& stop) {
  const std::stop_callback wake_to_end(stop, [this] { refresh(); });
  while (!stop.stop_requested()) {
    std::string why;
    is_up_ = false;
    is_turned_away_ = false;
    connected_at_ = io::now_since_boot();
    const Redis redis = questions_.of_presence_alone ? connector_.open(why) : connect(why);
    if (redis) {
      why = questions_.of_presence_alone ? keep_watching(*redis, stop) : keep_asking(*redis, stop);
    }
    if (stop.stop_requested()) {
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
    rest(-1, {.most = kRetryEvery});
  }
}

std::string Control::keep_asking(redisContext& redis, const std::stop_token& stop) {
  Inquiry inquiry(redis, questions_);
  while (!stop.stop_requested()) {
    const std::uint64_t epoch = calls_.epoch();
    const bool trusts = connector_.settings().acl == config::Acl::trust;
    const TimePoint asked_at = io::now_since_boot();
    std::optional<Answers> answers =
        inquiry.ask(trusts ? std::vector<std::string>{} : calls_.users());
    if (!answers) {
      is_up_ = has_timed_out(redis);
      return why_failed(redis, kCallTimeout);
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
    if (!rest(redis.fd, pause)) {
      return "Redis has closed the connection";
    }
  }
  return {};
}

// Whatever it replies, without a login, too: it is there.
std::string Control::keep_watching(redisContext& redis, const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    const Reply reply(static_cast<redisReply*>(redisCommand(&redis, "PING")));
    if (!reply) {
      return why_failed(redis, kCallTimeout);
    }
    is_turned_away_ = is_error(*reply);  // it may be full, and close the connection
    tell_reachable(true, {});
    if (!rest(redis.fd, {.most = kWatchEvery})) {
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
  const bool trusts = connector_.settings().acl == config::Acl::trust;
  tell_allowed(report_on(answers, several));
  const bool is_of_wrong_kind =
      !several.empty() || upstream::is_of_wrong_kind(connector_.settings(), answers);
  users.trusts_everyone = trusts && !is_of_wrong_kind;
  // In doubt nobody is known, unless the operator has said that there is nothing to ask.
  if (is_of_wrong_kind || (!answers.is_cluster && !trusts)) {
    users.unrestricted.clear();
    users.restricted.clear();
    if (is_of_wrong_kind) {  // whose clients may ask the guard itself why it does nothing
      users.refusal = report_on(answers, several).why;
    } else {
      users.default_needs_no_password = false;
      users.refusal =
          users.refusal.empty() ? "it does not say whether it runs in cluster mode" : users.refusal;
    }
  }
  if (calls_.on_server) {
    calls_.on_server(answers.server);
  }
  calls_.on_facts(epoch, std::move(answers.reading));
}

redis::ControlReport Control::report_on(const Answers& answers, const std::string& several) const {
  if (several.empty()) {
    return not_allowed(connector_.settings(), answers);
  }
  return {.state = redis::ControlReport::State::unsupported,
          .why = several,
          .hint =
              "let the address in `upstream` lead to one server at a time, or give each server "
              "a guard, or an address, of its own; until then every key passes"};
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
  Redis redis = connector_.open(why);
  if (!redis && connector_.has_tls()) {
    const Redis plain = connector_.open_plainly();  // it may be the handshake alone
    is_up_ = plain && plain->err == 0;
  }
  return redis && log_in(*redis, why) ? std::move(redis) : nullptr;
}

bool Control::log_in(redisContext& redis, std::string& why) {
  const auto refusal = connector_.log_in(redis);
  if (!refusal) {
    return true;
  }
  is_up_ = true;
  why = refusal->why;
  is_turned_away_ = refusal->is_from_redis && is_about_login(why);
  if (is_turned_away_) {
    tell_reachable(true, {});
    tell_allowed(not_logged_in(connector_.settings(), why));
  }
  return false;
}

void Control::learn_whether_password_is_needed(redis::Users& users) const {
  const bool is_told = users.find(kDefaultUser) != nullptr;
  if (!is_told && (connector_.settings().acl == config::Acl::trust || !users.refusal.empty())) {
    users.default_needs_no_password = !tries_in_vain_without_password();
  }
}

// True, too, if that cannot be told. Redis refuses before anything else who must authenticate, and
// before that whom it does not let in at all.
bool Control::tries_in_vain_without_password() const {
  std::string why;
  const Redis redis = connector_.open(why);
  const Reply reply(redis ? static_cast<redisReply*>(redisCommand(redis.get(), "PING")) : nullptr);
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

bool Control::rest(int redis, Pause pause) {
  std::array<pollfd, 2> watched{{{.fd = wake_up_.descriptor(), .events = POLLIN, .revents = 0},
                                 {.fd = redis, .events = POLLIN, .revents = 0}}};
  using Clock = std::chrono::steady_clock;
  const Clock::time_point began = Clock::now();
  Clock::time_point due = began + pause.most;
  while (!is_due_.exchange(false)) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(due - Clock::now());
    if (left.count() <= 0) {
      break;
    }
    ::poll(watched.data(), watched.size(), static_cast<int>(left.count()));
    if (wake_up_.take()) {
      due = std::min(due, began + pause.least);
    }
    // Nothing was asked: whatever comes is the end.
    if (watched[1].revents != 0) {
      return false;
    }
  }
  return true;
}

}  // namespace cuckooguard::upstream
