// The control connection: what Redis says of itself, asked on a connection of its own, so that the
// guard never answers for Redis where Redis would have refused. It has a thread of its own (the
// questions: upstream/inquiry.h). It asks
//
//   once per kEvery      so that a change made elsewhere is known well within a second
//   at once              after refresh()
//   kSoon after the last after refresh_soon(), however often; later where Redis takes long, so that
//                        no client makes Redis spend more than one part in kQuietParts on it
//   once per kRetryEvery while Redis does not serve; and often enough for Redis's own `timeout`
//
// The loss of the connection is noticed at once: a Redis that is back may be another one. After a
// reconnect everything is asked again before on_facts is called.
//
// ServerWatch checks whether the address still leads to this server. If not, the connection is
// given up, and the next one's Server says so.
//
// ACL GETUSER default says whether a client must authenticate at all. Where that may not be asked,
// or `acl: trust` leaves no user to ask for, it is tried each time on a new connection: an older
// one would not show it.
//
// A guard without namespaces only needs to know whether Redis answers, for its log:
// Questions::of_presence_alone. Then it sends a PING once per kWatchEvery, without a login, and
// calls only on_reachable and on_lost.
//
// Threads: construct, start and destroy from the owner's thread; the calls run on the control
//   thread.
// Errors: a Redis that cannot be reached is reported once (on_reachable). A question that Redis
//   does not permit is reported with the remedy (on_allowed), and asked again each time. So is a
//   node of a cluster that the configuration does not know of, or a Redis that should be one and is
//   not: its facts have no users, so that the guard answers nothing. None of this ends the process:
//   Redis need not even be up when the guard starts.
// Limits: one connection, and the watch's; each call waits at most kCallTimeout.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "config/config.h"
#include "io/clock.h"
#include "io/tls_credentials.h"
#include "io/worker.h"
#include "upstream/answers.h"
#include "upstream/redis_client.h"

namespace cuckooguard::upstream {

// Whether the address of an endpoint still leads to the server that the control connection has. It
// asks on new connections, since an existing one does not notice that a name, a balancer or a
// virtual address now leads elsewhere.
//
//   once per kEvery: resolve, connect, log in, INFO server ──▶ run_id
//     as the control connection's ─▶ nothing happens: another address of the same server is no move
//     another one ─▶ kSure more connections at once
//        all of them say so ────────▶ moved
//        some say this, some that ──▶ several servers at one time (a balancer over two of them):
//                                     told once; nothing moves until kAlone connections in a row
//                                     have reached one server, and then all connections count as
//                                     moved, since each may lead to either
//
// An address that cannot be resolved or connected to says nothing: it leads nobody else elsewhere
// either.
//
// Threads: LedTo is a plain value. ServerWatch: construct, start and destroy from the owner's
// thread, connected() from any; the calls run on a thread of its own, so that a resolver that hangs
// holds up nobody else.
// Errors: what cannot be asked is asked again. A server whose INFO is not allowed, or has no
// run_id, cannot be told from another one.
// Limits: one connection at a time; kSure + 1 per kEvery at most. Cost: a connect, AUTH and INFO
// per kEvery and endpoint, over TLS a handshake.

// The judge of what connections have reached.
class LedTo {
 public:
  static constexpr int kSure = 8;
  static constexpr int kAlone = 10;

  enum class Next : std::uint8_t { rest, ask_again, moved };

  // Where the control connection is; empty: nowhere, or it is not known.
  void connected(const std::string& run_id);
  // A new connection has reached this server; empty: none.
  Next reached(const std::string& run_id);
  // In words; empty: one server is there.
  const std::string& several() const { return several_; }
  const std::string& current() const { return current_; }

 private:
  Next reached_one_of_several(const std::string& run_id);
  void be_several(const std::string& run_id);

  std::string current_;
  std::string other_;  // that the last connections have reached
  int others_ = 0;     // how many of them
  std::string several_;
};

class ServerWatch {
 public:
  static constexpr std::chrono::seconds kEvery{1};

  // On change, both in one call: that there is one server again must not be known before the
  // connections that may lead to either are.
  struct Change {
    std::string moved_from;  // empty: nothing has moved
    std::string several;     // in words; empty: one server is there
  };
  using OnChange = std::function<void(const Change&)>;

  // `tls` outlives it.
  ServerWatch(config::Upstream settings, const io::TlsSlot* tls, OnChange on_change);
  ~ServerWatch();
  ServerWatch(const ServerWatch&) = delete;
  ServerWatch& operator=(const ServerWatch&) = delete;

  void start();
  void end_soon() { worker_.loop().stop(); }
  void connected(const std::string& run_id);

 private:
  void run();
  void look();
  std::string reached();  // empty: nothing

  config::Upstream settings_;
  OnChange on_change_;
  std::mutex mutex_;  // for led_to_
  LedTo led_to_;
  std::string told_;  // of several
  io::Worker worker_;
};

class Control {
 public:
  static constexpr std::chrono::milliseconds kEvery{400};
  static constexpr std::chrono::milliseconds kSoon{50};
  static constexpr int kQuietParts = 20;
  static constexpr std::chrono::milliseconds kRetryEvery{200};
  static constexpr std::chrono::milliseconds kWatchEvery{1000};
  static constexpr std::chrono::seconds kCallTimeout{2};

  struct Calls {
    // Before Redis is asked: what on_facts is given back with the answers, and whom to ask for.
    std::function<std::uint64_t()> epoch;
    std::function<std::vector<std::string>()> users;
    std::function<void(std::uint64_t epoch, redis::Reading)> on_facts;
    std::function<void(const Server&)> on_server;  // before each on_facts: whose they are
    std::function<void(bool reachable, const std::string& why)> on_reachable;  // on change only
    // After each try that failed. It is up if it takes connections, but does not answer, or does
    // not let the guard log in.
    std::function<void(bool is_up, const std::string& why)> on_lost;
    // After on_reachable: at first, and on change.
    std::function<void(const redis::ControlReport&)> on_allowed;
  };

  // `tls` outlives it: if it has credentials, connects speak TLS.
  Control(const config::Upstream& settings,
          Questions questions,
          Calls calls,
          const io::TlsSlot* tls = nullptr);
  ~Control();
  Control(const Control&) = delete;
  Control& operator=(const Control&) = delete;

  void start();
  // It asks no more, and its end will not be waited for as long. The owner's thread.
  void end_soon() {
    worker_.loop().stop();
    watch_.end_soon();
  }

  // Ask again now, because an ACL command has passed by; or before long, because something may have
  // changed. Any thread.
  void refresh();
  void refresh_soon();

 private:
  using Redis = std::unique_ptr<RedisClient>;
  using TimePoint = io::TimePoint;

  // Between two askings.
  struct Pause {
    std::chrono::milliseconds most;
    std::chrono::milliseconds least = kSoon;  // unless refresh() was called
  };

  void run();
  // As long as the connection stands; why it does not any more.
  std::string keep_asking(RedisClient& redis);
  std::string keep_watching(RedisClient& redis);
  Redis connect(std::string& why);  // and logged in
  void learn_whether_password_is_needed(redis::Users& users);
  bool tries_in_vain_without_password();
  static Pause pause_after(const redis::Reading& reading, TimePoint asked_at);
  void tell(std::uint64_t epoch, Answers answers, const std::string& several);
  // On the watch's thread.
  void on_change(const ServerWatch::Change& change);
  redis::ControlReport report_on(const Answers& answers, const std::string& several) const;
  // The several servers at one time, in words; nothing: the address leads to another one.
  std::optional<std::string> be_with(Server& server);
  bool leave_server();
  void tell_reachable(bool reachable, const std::string& why);
  void tell_allowed(redis::ControlReport report);
  // Until it is time to ask again, or the end. False: `redis` (null: none) was closed meanwhile.
  bool rest(const RedisClient* redis, Pause pause);

  config::Upstream settings_;
  const io::TlsSlot* tls_;
  Questions questions_;
  Calls calls_;
  std::atomic<bool> is_due_{false};
  std::atomic<bool> is_due_soon_{false};
  TimePoint connected_at_{};
  bool is_led_to_anew_ = false;
  mutable std::mutex mutex_;  // for what follows
  std::string run_id_;        // of the connection; empty: none, or it does not say
  bool is_moved_ = false;     // the address does not lead to that one any more
  std::string several_;       // servers at one time, in words
  bool told_ = false;
  bool reachable_ = false;
  bool is_up_ = false;                          // the last try
  bool is_turned_away_ = false;                 // by the last AUTH
  std::optional<redis::ControlReport> report_;  // as told
  io::Worker worker_;
  ServerWatch watch_;  // ends first: its calls wake the worker
};

}  // namespace cuckooguard::upstream
