#include "simulation/attack_world.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <utility>

#include "simulation/command_kinds.h"
#include "simulation/proxy_memory.h"

namespace cuckooguard::simulation {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr milliseconds kBegin{60};  // until then the guard has learned what it must
constexpr milliseconds kAttack{350};
constexpr milliseconds kLongAttack{1800};
// Behind the guard's back it learns of a change within a second.
constexpr milliseconds kLearnsWithin{1060};
constexpr std::uint64_t kStepsMax = 3'000'000;
constexpr std::uint64_t kRepeatedBursts = 150;
constexpr int kClientsMax = 55;  // marks are one byte
constexpr std::size_t kSharedMemoryMax = std::size_t{4} << 20U;
constexpr std::size_t kBigBytes = 90'000;
const std::string kLatePassword = "swordfish";

}  // namespace

AttackWorld::AttackWorld(std::uint64_t seed, config::UpstreamMode mode, bool moves)
    : random_(seed),
      loop_(random_.next()),
      shop_(loop_, random_.next()),
      redis_(loop_, *this),
      control_(loop_, shop_.facts(), redis_.store(), shop_.commands(), SimShop::kNamespaces),
      records_{.redis = redis_.store()},
      moves_(moves),
      memory_before_(proxy_memory().live) {
  settings_.upstream.mode = mode;
  // NOLINTNEXTLINE(concurrency-mt-unsafe): one thread
  if (const char* const told = std::getenv("CUCKOOGUARD_CLIENT")) {
    records_.told = std::atoi(told);
  }
  make_weather();
  make_redis();
  make_proxy();
}

AttackWorld::~AttackWorld() {
  is_gone_ = true;
}

void AttackWorld::make_weather() {
  Weather& weather = loop_.weather();
  weather.rough = random_.one_in(3);
  weather.latency_max = microseconds(random_.between(10, 400));
  loop_.on_batch([this] { shop_.epochs().reader(0).enter(); },
                 [this] { shop_.epochs().reader(0).leave(); });
}

void AttackWorld::make_redis() {
  password_ = random_.one_in(2) ? "first" : "";
  RedisStore& store = redis_.store();
  constexpr unsigned kOrdinary = kAllRights & ~kAdminRight;
  store.users["default"] = {.password = password_, .rights = kOrdinary};
  store.users["app"] = {.password = kUsersPassword};
  store.users["ordinary"] = {.password = kUsersPassword, .rights = kOrdinary};
  store.users["plain"] = {.password = kUsersPassword, .rights = kReadRight | kWriteRight};
  store.users["pinger"] = {.password = kUsersPassword, .rights = kConnectionRight};
  store.values[{0, "big:1"}] = {.text = random_.text(kBigBytes)};
  store.values[{0, "free:3"}] = {.text = "three"};
  redis_.ask_straight({"AUTH", "app", kUsersPassword});
  for (int i = 0; i < 40; ++i) {
    const std::string key = shop_.existing_key(SimShop::kUsers);
    existing_keys_.push_back(key);
    store.values[{0, key}] = {.text = "value of " + key};
  }
}

void AttackWorld::make_proxy() {
  constexpr std::array<std::uint32_t, 3> kInflight{32, 200, 1024};
  settings_.limits.inflight_per_client = random_.pick(kInflight);
  for (std::size_t i = 0; i < (moves_ ? 2U : 1U); ++i) {
    workers_.push_back(std::make_unique<proxy::Clients>(
        proxy::Clients::Worker{.loop = loop_,
                               .guard = shop_.guard(i),
                               .own_commands = shop_.own_commands(i),
                               .settings = settings_,
                               .total = total_}));
  }
  if (moves_) {
    move_one();
  }
  loop_.on_connect([this](SimTransport& upstream) {
    ++connection_ids_;
    if (shares()) {
      redis_.connect(upstream, wires_++);
    } else {
      redis_.connect(upstream, static_cast<int>(clients_.size()) - 1);
    }
  });
}

void AttackWorld::move_one() {
  if (is_gone_) {
    return;
  }
  loop_.weather().post_latency_max = microseconds(random_.below(2'000));
  const std::size_t from = random_.below(workers_.size());
  loop_.as_batch([this, from] {
    workers_[from]->give_one(*workers_[1 - from],
                             static_cast<unsigned>(random_.between(100, 900)),
                             [this](int socket) { return loop_.adopt(socket); });
  });
  loop_.at(microseconds(random_.below(8'000)), [this] { move_one(); });
}

std::size_t AttackWorld::sessions() const {
  std::size_t all = 0;
  for (const auto& worker : workers_) {
    all += worker->count();
  }
  return all;
}

std::string AttackWorld::user_for(Conduct conduct) {
  constexpr std::array kOrdinary{"ordinary", "ordinary", "plain", ""};
  constexpr std::array kGood{"app", "ordinary", ""};
  std::string user;
  switch (conduct) {
    case Conduct::hostile:
      user = random_.pick(kOrdinary);
      break;
    case Conduct::refused:
      return password_.empty() || random_.one_in(2) ? "pinger" : "";
    case Conduct::operates:
      return "app";
    default:
      user = random_.pick(kGood);
  }
  return user.empty() && !password_.empty() ? "ordinary" : user;
}

AttackClient& AttackWorld::add_client(Conduct conduct, std::string user) {
  const bool is_good = conduct != Conduct::refused && conduct != Conduct::hostile;
  const bool repeats = !is_good && random_.one_in(4);
  AttackClient::Habits habits{
      .conduct = conduct,
      .bursts = is_good ? random_.between(5, 60) : random_.between(1, 50),
      .thinks_max = microseconds(random_.between(50, is_good ? 10'000 : 6'000)),
      .awaits_replies = is_good || random_.one_in(2),
      .leaves_half_a_command = !is_good && random_.one_in(3)};
  if (repeats) {
    habits.bursts = kRepeatedBursts;
    habits.thinks_max = microseconds(random_.between(50, 1'000));
  }
  clients_.push_back(
      std::make_unique<AttackClient>(loop_,
                                     records_,
                                     AttackSettings{.client = static_cast<int>(clients_.size()),
                                                    .conduct = conduct,
                                                    .user = std::move(user),
                                                    .existing_keys = &existing_keys_,
                                                    .connection_ids = &connection_ids_,
                                                    .repeats = repeats},
                                     habits,
                                     random_.next()));
  AttackClient& client = *clients_.back();
  auto transport = loop_.accept(client.peer());
  proxy::Clients& worker = *workers_[moves_ ? random_.below(workers_.size()) : 0];
  loop_.as_batch([&worker, &transport] { worker.admit(std::move(transport)); });
  client.start();
  return client;
}

void AttackWorld::admit_later(std::uint64_t slot) {
  loop_.at(microseconds(random_.below(30'000)), [this, slot] { admit(slot); });
}

// As soon as a client has left, another one comes in its place.
void AttackWorld::admit(std::uint64_t slot) {
  if (is_over_ || clients_.size() >= kClientsMax) {
    return;
  }
  Conduct conduct = slots_[slot];
  std::string user = user_for(conduct);
  if (records_.closing_since && conduct != Conduct::operates && random_.one_in(3)) {
    conduct = Conduct::refused;
    user.clear();
  }
  AttackClient& client = add_client(conduct, user);
  const auto again = std::make_shared<std::function<void()>>();
  *again = [this, slot, &client, weak = std::weak_ptr(again)] {
    if (client.has_left()) {
      admit_later(slot);
    } else if (const auto call = weak.lock()) {
      loop_.at(milliseconds(10), [call] { (*call)(); });
    }
  };
  loop_.at(milliseconds(10), [again] { (*again)(); });
}

void AttackWorld::on_executed(int number,
                              const RedisConnection::Executed& executed,
                              std::uint64_t /*stream_bytes*/) {
  const auto mark = AttackClient::mark_of(executed.raw, executed.words);
  if (!mark) {
    if (executed.words.empty() ||
        !is_one_of(lower(executed.words[0]), {"hello", "auth", "select", "client", "ping"})) {
      loop_.fail("Redis was sent what no client has sent: " +
                 std::string(executed.raw.substr(0, 100)));
    }
    if (executed.reply.starts_with('-')) {
      records_.refused_greetings.emplace(executed.reply);
    }
    return;
  }
  if (static_cast<std::size_t>(mark->first) >= clients_.size()) {
    loop_.fail("Redis was sent what no client has marked");
    return;
  }
  clients_[static_cast<std::size_t>(mark->first)]->on_executed(executed, mark->second, number);
}

void AttackWorld::on_push(int number, std::string_view bytes) {
  records_.pushes[std::string(bytes)].insert(number);
}

void AttackWorld::on_redis_end(int /*number*/, RedisEnd /*how*/) {}

void AttackWorld::set_password(bool through_guard) {
  if (!password_.empty() || records_.closing_since) {
    return;
  }
  ++changes_;
  records_.logins_have_changed = true;
  if (!through_guard) {
    redis_.ask_straight({"CONFIG", "SET", "requirepass", kLatePassword});
    records_.closing_since = loop_.now();
    records_.closed_since = loop_.now() + kLearnsWithin;
    return;
  }
  records_.closing_since = loop_.now();
  operator_->on_reply([this](const Words& words, const std::string& reply) {
    if (lower(words[0]) == "config" && reply == "+OK\r\n" && !records_.closed_since) {
      records_.closed_since = loop_.now();
    }
  });
  operator_->send({AttackScript::make({"CONFIG", "SET", "requirepass", kLatePassword})});
}

void AttackWorld::deny(bool through_guard) {
  ++changes_;
  if (!through_guard) {
    redis_.ask_straight({"ACL", "SETUSER", "ordinary", "-@all"});
    records_.denied_since.emplace("ordinary", loop_.now() + kLearnsWithin);
    return;
  }
  operator_->on_reply([this](const Words& words, const std::string& reply) {
    if (lower(words[0]) == "acl" && reply == "+OK\r\n") {
      records_.denied_since.emplace("ordinary", loop_.now());
    }
  });
  operator_->send({AttackScript::make({"ACL", "SETUSER", "ordinary", "-@all"})});
}

void AttackWorld::pause() {
  redis_.ask_straight({"CLIENT", "PAUSE", "1000", "WRITE"});
  ++changes_;
}

// Somebody straight at Redis.
void AttackWorld::redirect_pushes() {
  for (int left = 3; left > 0; --left) {
    loop_.at(milliseconds(random_.below(200)), [this] {
      redis_.ask_straight({"CLIENT",
                           "TRACKING",
                           "ON",
                           "REDIRECT",
                           std::to_string(random_.between(1, connection_ids_ + 2)),
                           "BCAST"});
    });
  }
}

void AttackWorld::cause_trouble() {
  const bool through_guard = random_.one_in(2);
  switch (random_.below(8)) {
    case 0:
    case 1:
      set_password(through_guard);
      break;
    case 2:
      deny(through_guard);
      break;
    case 3:
      pause();
      break;
    case 4:
    case 5:
      redirect_pushes();
      break;
    default:
      break;
  }
}

void AttackWorld::run_for(std::chrono::nanoseconds time) {
  const io::TimePoint end = loop_.now() + time;
  for (std::uint64_t steps = 0; loop_.now() < end && loop_.step(); ++steps) {
    check_memory();
    if (steps > kStepsMax) {
      loop_.fail("it does not come to rest");
    }
  }
}

void AttackWorld::check_memory() {
  const std::size_t per_client =
      proxy::Session::kUpstreamQueueBytesMax + 4 * io::Loop::kReadBufferBytes +
      2 * settings_.limits.client_output_soft + 2 * resp::kWholeCommandBytesMax;
  const std::size_t live = proxy_memory().live - memory_before_;
  if (live > workers_.size() * kSharedMemoryMax + sessions() * per_client) {
    loop_.fail("the proxy holds " + std::to_string(live) + " bytes for " +
               std::to_string(sessions()) + " clients");
  }
}

void AttackWorld::judge() {
  const auto asked = static_cast<double>(records_.absent_reads);
  const std::uint64_t few = kPassedFew + changes_ * 4 * kPassedFew;
  // Reads of a client that has written pass for a while when it has moved, here all the time.
  if (!moves_ && static_cast<double>(records_.absent_reads_passed) >
                     kPassedShareMax * asked + static_cast<double>(few)) {
    loop_.fail("of " + std::to_string(records_.absent_reads) +
               " reads of absent keys by good clients " +
               std::to_string(records_.absent_reads_passed) + " have reached Redis");
  }
  if (records_.slowest_read > kReadWaitMax) {
    loop_.fail(
        "a reader has waited " +
        std::to_string(std::chrono::duration_cast<milliseconds>(records_.slowest_read).count()) +
        " ms");
  }
}

AttackOutcome AttackWorld::run() {
  const bool is_long = random_.one_in(4);
  const io::TimePoint began = loop_.now();
  loop_.as_batch([this] { shop_.start(); });
  control_.start();
  run_for(kBegin);
  operator_ = &add_client(Conduct::operates, "");
  if (password_.empty()) {
    operator_->send({AttackScript::make({"AUTH", "app", kUsersPassword})});
  } else {
    operator_->send({AttackScript::make({"HELLO", "2", "AUTH", "app", kUsersPassword})});
  }
  run_for(milliseconds(10));
  slots_ = {Conduct::good, Conduct::good, Conduct::reader};
  for (std::uint64_t more = random_.between(1, 4); more > 0; --more) {
    slots_.push_back(random_.one_in(3)   ? Conduct::good
                     : random_.one_in(2) ? Conduct::refused
                                         : Conduct::hostile);
  }
  for (std::uint64_t slot = 0; slot < slots_.size(); ++slot) {
    admit_later(slot);
  }
  for (std::uint64_t troubles = is_long ? 2 : 1; troubles > 0; --troubles) {
    loop_.at(milliseconds(random_.below(200)), [this] { cause_trouble(); });
  }
  run_for(is_long ? kLongAttack : kAttack);
  is_over_ = true;
  redis_.ask_straight({"CLIENT", "UNPAUSE"});
  for (const auto& client : clients_) {
    client->calm_down();
  }
  run_for(seconds(2));
  shop_.stop();
  control_.stop();
  run_for(seconds(20));
  judge();
  for (const auto& client : clients_) {
    client->check_at_rest();
    client->leave();
  }
  run_for(seconds(30));
  if (sessions() != 0 || redis_.connections() != 0) {
    loop_.fail(std::to_string(sessions()) + " sessions and " +
               std::to_string(redis_.connections()) + " connections to Redis stay");
  }
  return {.failure = loop_.failure(),
          .trace_hash = loop_.trace_hash(),
          .clients = clients_.size(),
          .commands = records_.executed,
          .replies = records_.replies,
          .answered = records_.answered,
          .pushes = records_.pushes_received,
          .absent_reads = records_.absent_reads,
          .absent_reads_passed = records_.absent_reads_passed,
          .moves = total_.moved,
          .virtual_time = std::chrono::duration_cast<milliseconds>(loop_.now() - began)};
}

}  // namespace cuckooguard::simulation
