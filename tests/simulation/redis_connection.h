// One connection of the simulated Redis: bytes in, replies out. Its commands behave as Redis
// 7.0.15's, to the byte, as far as they go: GET SET DEL MGET EXISTS INCR APPEND PING ECHO SELECT
// MULTI EXEC DISCARD WATCH UNWATCH AUTH HELLO RESET CLIENT (REPLY, SETNAME, GETNAME) SUBSCRIBE
// UNSUBSCRIBE BLPOP (which nobody ever pushes for) QUIT. Roughly, for attackers: STRLEN PUBLISH
// EVAL ACL CONFIG SCRIPT REPLCONF CLIENT (ID, TRACKING, PAUSE ...), in redis_administration.cpp.
//
// It shares no code with the product: a scanner's mistake must not be made twice.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "simulation/redis_store.h"

namespace cuckooguard::simulation {

// What a connection is, which decides whether a proxy may speak in Redis's place.
struct Standing {
  int db = 0;
  int version = 2;
  std::string user = "default";
  bool authenticated = true;
  bool in_multi = false;
  bool watching = false;
  bool subscribed = false;  // in RESP2, which leaves next to no command
  bool has_channels = false;

  bool operator==(const Standing&) const = default;
};

// CLIENT TRACKING.
struct Tracking {
  bool is_on = false;
  bool broadcasts = false;
  std::uint64_t to = 0;  // the connection that is told instead; 0: none
  std::set<std::string> keys{};
};

class RedisConnection {
 public:
  using Words = std::vector<std::string>;

  struct Executed {
    std::string_view raw;
    const Words& words;
    std::string_view reply;
    const Standing& before;
    const Standing& after;
  };

  RedisConnection(RedisStore& store, std::uint64_t id);

  // Everything complete at the front of `input` is run and removed from it. False: the connection
  // is to be closed (QUIT, or the bytes are no commands); what was said before is in `output`.
  bool run(std::string& input,
           std::string& output,
           const std::function<void(const Executed&)>& on_executed);

  const Standing& standing() const { return standing_; }
  // BLPOP waits: run() goes no further before.
  std::optional<std::chrono::nanoseconds> blocked_until() const { return blocked_until_; }
  // Its Redis has become one that takes no writes.
  void become_replica() { is_replica_ = true; }

  std::uint64_t id() const { return id_; }
  const std::set<std::string>& channels() const { return channels_; }
  // Whether it is to be told of a change of this key; not again before it has read it again.
  bool takes_notice_of(const std::string& key);
  const Tracking& tracking() const { return tracking_; }

 private:
  using Command = std::string (RedisConnection::*)(const Words&);
  struct Entry {
    Command run;
    int arity;                   // as Redis writes it: -2 is one argument or more
    bool runs_in_multi = false;  // instead of being queued
    bool needs_no_auth = false;
    int first_key = 0;
    bool many_keys = false;
    bool writes = false;
    unsigned right = kConnectionRight;
  };
  static const std::map<std::string, Entry>& commands();

  bool must_wait(const Words& words);
  bool is_paused(const Words& words);
  std::string run_command(const Words& words);
  std::string refuse(std::string line);
  std::string queue_or_run(const Entry& entry, const Words& words);
  bool may_run(const Entry& entry) const;
  bool may_touch(const Entry& entry, const Words& words) const;
  void note_read(const Entry& entry, const Words& words);

  RedisStore::Key key(const std::string& name) const { return {standing_.db, name}; }
  Value* find(const std::string& name);
  std::string authenticate(const std::string& user, const std::string& password);
  void leave_multi();
  void forget_watches();
  bool is_bound_to_channels() const { return !channels_.empty() && standing_.version == 2; }

  std::string get(const Words& words);
  std::string set(const Words& words);
  std::string del(const Words& words);
  std::string mget(const Words& words);
  std::string exists(const Words& words);
  std::string incr(const Words& words);
  std::string append(const Words& words);
  std::string ping(const Words& words);
  std::string echo(const Words& words);
  std::string select(const Words& words);
  std::string multi(const Words& words);
  std::string exec(const Words& words);
  std::string discard(const Words& words);
  std::string watch(const Words& words);
  std::string unwatch(const Words& words);
  std::string auth(const Words& words);
  std::string hello(const Words& words);
  std::string reset(const Words& words);
  std::string client(const Words& words);
  std::string confirmation(const char* verb, const std::string& channel) const;
  std::string subscribe(const Words& words);
  std::string unsubscribe(const Words& words);
  std::string blpop(const Words& words);
  std::string quit(const Words& words);
  std::string strlen(const Words& words);
  std::string publish(const Words& words);
  std::string eval(const Words& words);
  std::string acl(const Words& words);
  std::string acl_setuser(const Words& words);
  std::string config(const Words& words);
  std::string confirm(const Words& words);  // what is of no consequence here
  std::string client_of_attackers(const Words& words);
  std::string track(const Words& words);

  RedisStore& store_;
  std::uint64_t id_;
  Standing standing_;
  std::string name_;
  std::optional<std::chrono::nanoseconds> blocked_until_;
  bool is_replica_ = false;
  bool is_paused_ = false;
  bool quits_ = false;
  bool replies_off_ = false;
  int skip_ = 0;  // replies that are not sent: 2 while CLIENT REPLY SKIP itself runs
  std::set<std::string> channels_;
  bool transaction_is_refused_ = false;
  std::vector<Words> queued_;
  std::map<RedisStore::Key, std::uint64_t> watched_;
  Tracking tracking_;
};

}  // namespace cuckooguard::simulation
