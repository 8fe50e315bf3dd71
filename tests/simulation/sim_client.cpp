#include "simulation/sim_client.h"

#include <algorithm>
#include <utility>

namespace cuckooguard::simulation {
namespace {

constexpr std::string_view kTooManyClients = "-ERR max number of clients reached\r\n";

}  // namespace

SimClient::SimClient(Ledger::World world, Script script, Habits habits, const Standing& at_start)
    : world_(world),
      random_(world.loop.random().next()),
      script_(std::move(script)),
      habits_(habits),
      peer_(world.loop),
      ledger_(world, at_start) {
  peer_.listen({.on_arrival = [this] { on_arrival(); }});
}

void SimClient::start(bool is_refused) {
  is_started_ = true;
  is_refused_ = is_refused;
  if (is_refused) {
    refusal_ = kTooManyClients;
  } else {
    think_later();
  }
}

void SimClient::think_later() {
  if (!thinks_ && !has_left_) {
    thinks_ = true;
    const auto most = static_cast<std::uint64_t>(habits_.thinks_max.count());
    world_.loop.at(std::chrono::microseconds(random_.below(most + 1)), [this] {
      thinks_ = false;
      think();
    });
  }
}

void SimClient::think() {
  if (has_left_ || said_goodbye_) {
    return;
  }
  if (habits_.commands == 0 || script_.is_over() || is_calm_) {
    if (!is_calm_) {
      say_goodbye();
    }
    return;
  }
  if (habits_.awaits_replies && ledger_.unanswered() > 0) {
    return;  // goes on when they have come
  }
  for (std::uint64_t burst = random_.between(1, habits_.burst_max); burst > 0 && !script_.is_over();
       --burst) {
    if (random_.one_in(200)) {
      constexpr std::string_view kNothing = "\r\n*0\r\n";
      ledger_.on_sent_nothing(kNothing.size());
      peer_.send(kNothing);
    }
    for (const SentCommand& sent : script_.next()) {
      send(sent);
    }
    habits_.commands -= std::min<std::uint64_t>(habits_.commands, 1);
  }
  think_later();
}

void SimClient::send(const SentCommand& sent) {
  ledger_.on_sent(sent);
  peer_.send(sent.raw);
}

void SimClient::say_goodbye() {
  switch (habits_.leaving) {
    case Leaving::stays:
      return;
    case Leaving::quits:
      if (!script_.is_over()) {
        send(script_.quit());
      }
      said_goodbye_ = true;
      return;
    case Leaving::half_closes:
      said_goodbye_ = true;
      peer_.finish();
      return;
    case Leaving::closes:
      leave();
      return;
    case Leaving::resets:
      lose_connection();
      return;
  }
}

void SimClient::on_arrival() {
  if (!reads_ && !has_left_) {
    reads_ = true;
    const auto late = static_cast<std::uint64_t>(habits_.reads_late.count());
    const std::chrono::microseconds delay(is_calm_ ? 0 : random_.below(late + 1));
    world_.loop.at(delay, [this] {
      reads_ = false;
      read();
    });
  }
}

void SimClient::read() {
  if (has_left_) {
    return;
  }
  const std::string bytes = peer_.read(is_calm_ ? std::string::npos : habits_.reads_at_once);
  if (is_refused_) {
    if (!refusal_.starts_with(bytes)) {
      world_.loop.fail("a client too many received something else than its refusal");
      return;
    }
    refusal_.erase(0, bytes.size());
  } else {
    ledger_.on_received(bytes);
  }
  if (peer_.unread() > 0) {
    on_arrival();
  } else if (peer_.at_end() || peer_.is_reset()) {
    on_end();
  } else if (habits_.awaits_replies && ledger_.unanswered() == 0) {
    think_later();
  }
}

// The proxy, or the network, has closed the connection.
void SimClient::on_end() {
  has_left_ = true;
  const bool is_clean = peer_.at_end() && !peer_.is_reset();
  peer_.close();
  if (is_refused_) {
    return;
  }
  const bool has_said_all = said_goodbye_ && habits_.leaving == Leaving::half_closes;
  if (ledger_.is_let_go() && is_clean && !redis_ended_ && !is_faulty_) {
    was_let_go_ = true;
    if (!ledger_.is_done_as_read()) {
      world_.loop.fail("the proxy let a client go before its commands were done, next: " +
                       ledger_.describe_next());
    }
  } else if (!redis_ended_ && !is_faulty_ && !ledger_.is_let_go() &&
             !(world_.shares && has_said_all)) {
    world_.loop.fail("the proxy closed a client for no reason; unanswered: " +
                     std::to_string(ledger_.unanswered()) + ", next: " + ledger_.describe_next());
  } else if (is_clean && !is_faulty_ && !ledger_.has_all_of_redis()) {
    world_.loop.fail("the proxy kept back what Redis had said before it closed, of " +
                     ledger_.describe_next());
  } else if (is_clean && !is_faulty_ && has_said_all && !ledger_.is_let_go() &&
             !ledger_.is_blocked() && !script_.is_over() && !ledger_.is_complete()) {
    world_.loop.fail("a client that had said goodbye did not get all its replies, next: " +
                     ledger_.describe_next());
  }
}

void SimClient::on_redis_end(RedisEnd how) {
  redis_ended_ = true;
  ledger_.on_redis_end();
  redis_was_up_ = how != RedisEnd::unreachable;
  is_faulty_ = is_faulty_ || how != RedisEnd::orderly;
}

void SimClient::on_wire_lost(const Wire& wire) {
  const Ledger::Loss loss = ledger_.loss_with(wire);
  if (!is_started_ || has_left_ || is_refused_ || loss == Ledger::Loss::nothing) {
    return;
  }
  const bool was_up = redis_was_up_;
  on_redis_end(*wire.end);
  redis_was_up_ = was_up || loss == Ledger::Loss::certain;
}

void SimClient::lose_connection() {
  if (is_started_ && !has_left_) {
    has_left_ = true;
    peer_.reset();
  }
}

void SimClient::calm_down() {
  is_calm_ = true;
  if (is_started_ && !has_left_) {
    on_arrival();
  }
}

void SimClient::leave() {
  if (is_started_ && !has_left_) {
    has_left_ = true;
    peer_.close();
  }
}

void SimClient::on_cut_off() {
  if (is_started_ && !has_left_) {
    on_redis_end(RedisEnd::orderly);
    is_faulty_ = true;
  }
}

void SimClient::check_at_rest() {
  if (!is_started_ || has_left_ || is_refused_) {
    return;
  }
  if (!ledger_.is_complete()) {
    world_.loop.fail("a client waits for a reply that does not come: " + ledger_.describe_next() +
                     "; unanswered: " + std::to_string(ledger_.unanswered()));
  } else if (redis_ended_ && redis_was_up_) {
    world_.loop.fail("a client's connection outlives Redis's");
  }
}

}  // namespace cuckooguard::simulation
