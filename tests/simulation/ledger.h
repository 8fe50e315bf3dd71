// What one client may see, byte for byte: the judge of the simulation.
//
// It follows a client's commands from four places and never asks the product what it did:
//
//   sent by the client -> read by the proxy -> run by Redis -> received by the client
//                         (decided there)      (or never: answered by the proxy)
//
// When the proxy has read a command whole, the ledger notes at that moment, from Redis's and the
// shop's own records, whether it may be answered in Redis's place. What Redis runs must be the
// client's commands in order, each with the client's own bytes; left out may be only what could be
// answered, of MGET and EXISTS only keys that could be absent. What the client receives must be
// Redis's bytes in Redis's order, with the absent replies in their places.
//
// In `mode: shared` the proxy may hold a command before it decides: until replies to those before
// it have come. So a verdict is noted whenever it could have decided (decide_again).
//
// A write passes for its own client until the proxy has read its reply, and for everybody from then
// on, if it is not refused: inside MULTI that of EXEC. Where no reply is wanted it counts when the
// proxy reads the command.
//
// There the connections on which Redis runs them change; what a connection is must be what the
// client's own would be (Standing), whoever had it before.
//
// So a command that is answered twice, in the wrong place, with the wrong bytes, in MULTI, before
// its time, or never, is seen with the byte that is wrong. Identical reads in a row could hide a
// swap: clients spell each command's name with another pattern of capitals (sim_client.cpp).
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "simulation/byte_queue.h"
#include "simulation/redis_connection.h"
#include "simulation/sim_shop.h"
#include "simulation/wire.h"

namespace cuckooguard::simulation {

struct SentCommand {
  std::string raw;
  std::vector<std::string> words;  // empty: bytes that are no command, for Redis to refuse
};

struct LedgerCounts {
  std::uint64_t commands = 0;
  std::uint64_t replies = 0;
  std::uint64_t answered = 0;   // whole commands, by the proxy
  std::uint64_t shortened = 0;  // MGET and EXISTS of which Redis saw a part
  std::uint64_t could_be_answered = 0;
  std::uint64_t pushes = 0;
};

class Ledger {
 public:
  struct World {
    SimLoop& loop;
    SimShop& shop;
    LedgerCounts& counts;
    std::size_t inflight_per_client;
    int client = 0;       // its number
    bool shares = false;  // `mode: shared`
  };
  // What a client loses with a connection that is lost: its own connection, too.
  enum class Loss : std::uint8_t { nothing, perhaps, certain };

  Ledger(World world, const Standing& at_start)
      : world_(world), needs_login_(!at_start.authenticated), standing_(at_start) {}

  void on_sent(SentCommand command);
  void on_sent_nothing(std::size_t bytes) { sent_bytes_ += bytes; }  // an empty line, say
  void on_read_by_proxy(std::size_t bytes);
  // `stream_bytes`: the wire's, with this reply.
  // The proxy is about to go on with what it may have held.
  void decide_again();
  void on_executed(const RedisConnection::Executed& executed,
                   const std::shared_ptr<const Wire>& wire,
                   std::uint64_t stream_bytes);
  void on_push(std::string_view bytes);
  // The proxy has read from a connection: of replies to writes, too.
  void on_replies_read();
  // By the proxy: nobody reads what is still to come.
  void on_closed() { unheard_writes_.clear(); }
  void on_received(std::string_view bytes);
  // What the proxy still reads of this client goes nowhere, and it need not look at it.
  void on_redis_end() { is_unread_ = true; }

  // The proxy sends no more, of its own accord: what it reads from here on goes nowhere.
  void on_farewell() { is_let_go_ = true; }
  bool is_let_go() const { return is_let_go_; }
  // All that the proxy has read until then is done and replied to, and a command of which it had
  // read a part is whole.
  bool is_done_as_read();

  // Called when all has come to rest.
  bool is_complete();
  // All that Redis has said has been received.
  bool has_all_of_redis();
  std::size_t unanswered() const { return commands_.size(); }
  // Since when the proxy has owed it its next reply; nothing: for none, or for what blocks.
  std::optional<io::TimePoint> waits_since();
  Loss loss_with(const Wire& wire) const;
  // Redis forgets what is blocked when the client says that it will send no more.
  bool is_blocked() const;
  // What Redis has said and the client has not received.
  std::uint64_t unreceived() const { return said_bytes_ - received_bytes_; }
  std::string describe_next() const;

 private:
  struct KeyVerdict {
    std::string key;
    const char* why_not = nullptr;
  };
  // Of a command: whether Redis replies to it.
  enum class Silence : std::uint8_t { none, next, off };
  struct Entry {
    SentCommand sent;
    std::uint64_t end = 0;  // where it ends in the client's stream
    bool is_decided = false;
    const char* why_not = nullptr;  // may not be answered, whatever its keys
    std::vector<KeyVerdict> keys{};
    int version = 2;
    std::optional<std::uint64_t> change{};  // the last command before it that is one
    Silence silence = Silence::none;
    bool is_learned = false;              // if it is a write
    io::TimePoint read{};                 // by the proxy, its last byte
    std::optional<io::TimePoint> seen{};  // when the proxy read its first byte
    bool is_alone = false;                // nothing was owed to the client then
    std::shared_ptr<const Wire> wire{};   // that Redis ran it on
    std::uint64_t stream_bytes = 0;       // of that wire
  };
  // Of a write that Redis has run and not refused.
  struct UnheardWrite {
    std::string key;
    std::optional<std::string> value{};
    std::shared_ptr<const Wire> wire{};
    std::uint64_t stream_bytes = 0;  // where its reply ends
  };
  struct Said {  // by Redis
    std::string bytes;
    std::optional<std::uint64_t> command{};  // absent: a push
  };

  Entry& entry(std::uint64_t command) { return commands_[command - first_]; }
  void note_seen(Entry& entry, std::uint64_t command) const;
  void decide(Entry& entry, std::uint64_t command);
  void pass_silence(const std::vector<std::string>& words);
  void judge_read(Entry& entry, std::uint64_t command) const;
  const char* why_not_absent(const std::string& key, std::uint64_t command) const;
  void note_write(const Entry& entry) const;
  void note_write_read(const Entry& entry, std::uint64_t command);
  void note_write_run(const Entry& entry, const RedisConnection::Executed& executed);
  void note_what_binds(const std::vector<std::string>& words);
  void note_size(const Entry& entry);
  void note_executed(Entry& entry, const RedisConnection::Executed& executed);
  void check_connection(const Entry& entry,
                        const RedisConnection::Executed& executed,
                        const Wire& wire) const;
  bool is_bound() const {
    return standing_.in_multi || standing_.watching || standing_.has_channels;
  }
  // Redis has run it, and the proxy has read the reply.
  bool is_settled(const std::optional<std::uint64_t>& change) const;
  const char* why_not_now(const Entry& entry) const;
  const char* why_not_known() const;
  static bool may_be_answered(const Entry& entry);
  static std::span<const std::string> keys_of_write(const Entry& entry);
  static bool is_large(const Entry& entry);
  static bool is_blpop(const Entry& entry);
  static io::TimePoint learned_at(const Entry& entry);
  static std::optional<std::string_view> value_of_write(const Entry& entry);
  static std::string answer_to(const Entry& entry, const SimShop& shop);
  static std::string why_wrong(const Entry& entry, const std::vector<std::string>& asked);
  std::optional<std::string> reply_if_run(const Entry& entry,
                                          const RedisConnection::Executed& executed) const;
  std::optional<std::string> merged(const Entry& entry,
                                    const RedisConnection::Executed& executed) const;
  bool find_expected(char first);
  void skip_silence();
  void pop_answered();
  void fail(const std::string& what) const { world_.loop.fail(what); }

  World world_;
  bool needs_login_;
  std::deque<Entry> commands_;  // not answered yet
  std::uint64_t first_ = 0;     // the number of commands_.front()
  std::uint64_t aligned_ = 0;   // Redis has run, or will never run, those before
  std::uint64_t sent_bytes_ = 0;
  std::uint64_t proxy_bytes_read_ = 0;
  std::uint64_t decided_ = 0;
  std::uint64_t words_in_flight_ = 0;  // of decided commands
  std::deque<Said> said_;
  ByteQueue expected_;  // the rest of the reply that is being received
  bool expects_push_ = false;
  bool expects_redis_ = false;  // else the proxy's own answer
  std::uint64_t said_bytes_ = 0;
  std::uint64_t received_bytes_ = 0;
  io::TimePoint heard_at_{};             // when it last received anything, or was owed it no more
  Standing standing_;                    // after the last change that is done
  std::optional<std::uint64_t> change_;  // the last one
  Silence silence_ = Silence::none;      // of the next command to be decided
  std::set<std::pair<std::string, std::uint64_t>> own_writes_;  // keys of commands_
  std::vector<UnheardWrite> unheard_writes_;
  std::vector<UnheardWrite> queued_writes_;  // inside MULTI
  bool is_let_go_ = false;
  bool is_unread_ = false;    // the proxy may have stopped looking at this client's commands
  bool is_for_good_ = false;  // what it has told its connection may never be known again
  std::shared_ptr<const Wire> last_wire_;
  std::string name_;  // CLIENT SETNAME
};

}  // namespace cuckooguard::simulation
