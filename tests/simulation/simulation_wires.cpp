// What the simulation sees of the connections to Redis: whose commands pass on them, and who loses
// what with them.
#include "simulation/command_kinds.h"
#include "simulation/marks.h"
#include "simulation/simulation.h"

namespace cuckooguard::simulation {

using std::chrono::milliseconds;

void Simulation::connect(SimTransport& upstream) {
  const int number = shares() ? static_cast<int>(wires_.size()) : admitted_;
  if (shares()) {
    wires_.push_back(std::make_shared<Wire>());
  }
  const std::shared_ptr<Wire> wire = wires_[static_cast<std::size_t>(number)];
  wire->opened = loop_.now();
  wire->is_given_up = false;
  upstream.observe(
      {.on_read = [this, wire](std::string_view bytes) { on_wire_read(*wire, bytes.size()); },
       .on_write =
           [this, wire](std::string_view) {
             wire->is_used = true;
             if (shares()) {
               let_ledgers_decide();
             }
           },
       .on_close =
           [this, wire, number] {
             note_given_up(*wire, number);
             on_wire_closed(*wire);
           }});
  redis_.connect(upstream, number);
}

void Simulation::on_executed(int number,
                             const RedisConnection::Executed& executed,
                             std::uint64_t stream_bytes) {
  const std::shared_ptr<Wire>& wire = wires_[static_cast<std::size_t>(number)];
  const auto signer = shares() ? signer_of(executed.raw, executed.words) : wire->client;
  if (!signer) {
    check_own_command(executed);
  } else if (static_cast<std::size_t>(*signer) >= clients_.size()) {
    loop_.fail("Redis was sent what no client has signed");
  } else {
    handovers_ += wire->client && *wire->client != *signer ? 1 : 0;
    wire->client = signer;
    if (executed.reply.starts_with("-READONLY") && !wire->refusal_bytes) {
      wire->refusal_bytes = stream_bytes;
      wire->refused_client = signer;
    }
    client(*signer).ledger().on_executed(executed, wire, stream_bytes);
  }
}

// What the proxy tells a connection before a client's commands, and how it asks whether Redis lets
// it in.
void Simulation::check_own_command(const RedisConnection::Executed& executed) {
  const std::string name = lower(executed.words.at(0));
  const bool is_greeting = is_one_of(name, {"hello", "auth", "select", "client"});
  if (name == "ping") {
    return;
  }
  if (!is_greeting || executed.reply.starts_with('-') || executed.reply == "+QUEUED\r\n") {
    loop_.fail("Redis was sent what no client has sent: " +
               std::string(executed.raw.substr(0, 100)));
  }
}

void Simulation::on_push(int number, std::string_view bytes) {
  const Wire& wire = *wires_[static_cast<std::size_t>(number)];
  client(wire.client.value()).ledger().on_push(bytes);
}

void Simulation::on_redis_end(int number, RedisEnd how) {
  Wire& wire = *wires_[static_cast<std::size_t>(number)];
  if (wire.is_given_up) {
    return;
  }
  wire.end = wire.end.value_or(how);
  if (!shares()) {
    client(number).on_redis_end(how);
  }
}

// Clients that wait for others are gone on with when Redis has replied, or has taken more.
void Simulation::let_ledgers_decide() {
  for (const auto& client : clients_) {
    client->ledger().decide_again();
  }
}

void Simulation::on_wire_read(Wire& wire, std::size_t bytes) {
  wire.read += bytes;
  wire.read_at = loop_.now();
  for (const auto& client : clients_) {
    client->ledger().on_replies_read();
  }
  if (shares()) {
    let_ledgers_decide();
  }
  const bool is_old = loop_.now() - wire.opened > upstream::Upstreams::kRetiredAfter;
  const bool is_heard = wire.refused_client && !client(*wire.refused_client).has_left();
  if (!wire.refusal_bytes || *wire.refusal_bytes > wire.read || wire.retired) {
    return;
  }
  if (is_old && is_heard) {
    wire.retired = loop_.now();
  } else {
    wire.refusal_bytes.reset();
  }
}

// A machine that is suspended while it connects finds that it has taken too long.
void Simulation::note_given_up(Wire& wire, int number) {
  if (!is_gone_ && !wire.end && !wire.is_used &&
      loop_.now() - wire.opened >= settings_.upstream.connect_timeout) {
    on_redis_end(number, RedisEnd::unreachable);
    wire.is_given_up = true;
  }
}

// By the proxy. One that is lost takes with it who had commands on it, and nobody else.
void Simulation::on_wire_closed(const Wire& wire) {
  if (!shares() || is_gone_ || !wire.end) {
    return;
  }
  for (const auto& client : clients_) {
    client->on_wire_lost(wire);
  }
  loop_.at(milliseconds(loop_.random().between(1, 100)), [this] { shop_.ask_users_again(); });
}

}  // namespace cuckooguard::simulation
