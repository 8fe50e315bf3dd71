#include "exactness/topology_changes.h"

#include <algorithm>
#include <csignal>
#include <utility>

namespace cuckooguard::harness {
namespace {

constexpr unsigned kIds = 40;
constexpr const char* kNobody = "user:999999";
// Whoever was left by turns is not followed again for a minute.
constexpr milliseconds kAnswers{100'000};

}  // namespace

TopologyChanges::TopologyChanges(ServerPair& servers, std::uint32_t seed)
    : servers_(servers), random_(seed), link_(servers.port(0)) {}

void TopologyChanges::note(const std::string& what) {
  counts_[what.substr(0, what.find(' '))] += 1;
  steps_ += "  " + what + "\n";
}

std::vector<std::string> TopologyChanges::round() {
  steps_.clear();
  wrong_.clear();
  mend();
  start_guard();
  const bool answers =
      eventually([&] { return guard_->call({"GET", kNobody}) == kAnswer; }, kAnswers);
  if (!answers) {
    wrong_.emplace_back("nothing is answered absent");
  }
  counts_["answered"] += answers ? 1 : 0;
  const unsigned steps = 3 + pick(6);
  for (unsigned i = 0; i < steps && wrong_.empty(); ++i) {
    step();
    look();
  }
  if (!wrong_.empty()) {
    wrong_.push_back("behind\n" + steps_ + guard_->log());
  }
  stop_guard();
  for (unsigned i = pick(3); i > 0; --i) {
    step();
  }
  return std::exchange(wrong_, {});
}

void TopologyChanges::start_guard() {
  guard_.emplace(GuardProcess::on_port(
      Configuration{.upstream = redis_.address(),
                    .source = servers_.source(port_address(link_.port())),
                    .namespaces = Guarded{.fresh_ids = ""}.yaml(),
                    .more = storage(kept_.path(), "1s") + "log: { level: debug }\n"}
          .yaml()));
}

void TopologyChanges::stop_guard() {
  const bool is_killed = pick(2) == 0;
  guard_->send_signal(is_killed ? SIGKILL : SIGTERM);
  (void)guard_->exit_code();
  guard_.reset();
  note(is_killed ? "guard_killed" : "guard_stopped");
}

// So that a guard can be ready. What has happened to it is not forgotten.
void TopologyChanges::mend() {
  link_.flow();
  servers_.promote(current_);
  servers_.set_read_only(current_, false);
  write(3);
}

void TopologyChanges::step() {
  switch (pick(14)) {
    case 0:
    case 1:
      return move();
    case 2:
    case 3:
      return hand_over();
    case 4: {
      const bool is_on = pick(2) == 0;
      const std::size_t server = pick(2);
      servers_.set_read_only(server, is_on);
      return note(std::string(is_on ? "read_only " : "takes_writes ") + std::to_string(server));
    }
    case 5:
      is_replica_ = true;
      servers_.replicate_from_other(other());
      return note("replicates " + std::to_string(other()));
    case 6:
      if (!is_replica_) {
        return note(std::string(servers_.replicate_for_a_while(current_) ? "replicates_for_a_while "
                                                                         : "replicates_nothing ") +
                    std::to_string(current_));
      }
      return write(4);
    case 7: {
      const bool loses = pick(2) == 0;
      const std::size_t server = pick(3) == 0 ? other() : current_;
      servers_.crash(server, loses);
      return note(std::string(loses ? "crash_with_loss " : "crash ") + std::to_string(server));
    }
    case 8:
      return change_network();
    case 9: {  // the application of the one before goes on there
      const std::string id = std::to_string(pick(kIds));
      (void)servers_.run(other(), "INSERT INTO \"user\" VALUES (" + id + ")");
      (void)servers_.run(other(), "DELETE FROM \"user\" WHERE id = " + id);
      return note("writes_elsewhere " + id);
    }
    default:
      return write(1 + pick(6));
  }
}

void TopologyChanges::move() {
  current_ = other();
  link_.lead_to({servers_.port(current_)});
  if (pick(3) == 0) {
    link_.forget_connections();
  }
  is_replica_ = false;
  moved_at_ = SteadyClock::now();
  note("moved " + std::to_string(current_));
}

// A promotion, in one of the orders in which it is done.
void TopologyChanges::hand_over() {
  const std::size_t before = current_;
  const std::size_t next = other();
  const bool is_first = pick(2) == 0;
  if (pick(3) > 0) {
    servers_.set_read_only(before, true);
  }
  if (is_first) {
    move();
  }
  servers_.promote(next);
  servers_.set_read_only(next, false);
  if (!is_first) {
    move();
  }
  is_replica_ = false;
  note("handed_over " + std::to_string(next));
}

void TopologyChanges::change_network() {
  switch (pick(4)) {
    case 0:
      link_.cut();
      return note("cut");
    case 1:
      link_.stall(SlowLink::Which::log);
      return note("log_stalled");
    case 2:
      link_.forget_connections();
      return note("forgotten");
    default:
      link_.flow();
      return note("flows");
  }
}

void TopologyChanges::write(unsigned rows) {
  for (unsigned i = 0; i < rows; ++i) {
    const std::string id = std::to_string(pick(kIds));
    const std::string next = std::to_string(pick(kIds));
    switch (pick(4)) {
      case 0:
        (void)servers_.run(current_, "DELETE FROM \"user\" WHERE id = " + id);
        break;
      case 1:
        (void)servers_.run(current_, "UPDATE \"user\" SET id = " + next + " WHERE id = " + id);
        break;
      default:
        (void)servers_.run(current_, "INSERT INTO \"user\" VALUES (" + id + ")");
    }
  }
  note("rows " + std::to_string(rows));
}

void TopologyChanges::look() {
  const auto ids = servers_.ids(current_);
  if (!ids) {
    return note("no_look");
  }
  const auto now = SteadyClock::now();
  const auto noticed = std::max(now + kMaxLag, moved_at_ + kNoticed);
  std::vector<std::string> hidden;
  const auto see = [&] {
    RawClient client = guard_->client();
    hidden.clear();
    for (const std::string& id : *ids) {
      if (client.call({"GET", "user:" + id}) == kAnswer) {
        hidden.push_back(id);
      }
    }
    return hidden.empty();
  };
  if (!eventually(see, std::chrono::ceil<milliseconds>(noticed - now)) && !see()) {
    for (const std::string& id : hidden) {
      wrong_.push_back("hidden: " + id);
    }
  }
  counts_["looks"] += 1;
  const bool answers = guard_->call({"GET", kNobody}) == kAnswer;
  counts_["looks_answered"] += answers ? 1 : 0;
}

std::string TopologyChanges::counts() const {
  std::string text;
  for (const auto& [name, count] : counts_) {
    text += " " + name + "=" + std::to_string(count);
  }
  return text;
}

}  // namespace cuckooguard::harness
