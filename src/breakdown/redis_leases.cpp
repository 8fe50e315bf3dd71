#include "breakdown/redis_leases.h"

#include <algorithm>
#include <initializer_list>
#include <utility>

#include "config/password_file.h"
#include "resp/reply_framer.h"
#include "resp/reply_writer.h"
#include "text/number.h"
#include "upstream/connection.h"

namespace cuckooguard::breakdown {
namespace {

constexpr std::string_view kPrefix = "cuckooguard:lease:";
// The key is in braces; or it has a hash tag of its own, which counts behind this.
constexpr char kInBraces = '{';
constexpr char kAsItIs = ':';
constexpr std::size_t kReplyBytesMax = std::size_t{64} * 1024;

bool has_hash_tag(std::string_view key) {
  const std::size_t open = key.find('{');
  const std::size_t close = open == std::string_view::npos ? open : key.find('}', open + 1);
  return close != std::string_view::npos && close != open + 1;
}

// The next bulk string at the front of these bytes, which goes with what is before it.
std::string_view take_bulk(std::string_view& bytes) {
  bytes.remove_prefix(std::min(bytes.find('$'), bytes.size() - 1) + 1);
  const auto length = text::take_number<std::size_t>(bytes);
  if (!length || bytes.size() < *length + 4) {
    bytes = {};
    return {};
  }
  const std::string_view taken = bytes.substr(2, *length);
  bytes.remove_prefix(*length + 4);
  return taken;
}

}  // namespace

std::optional<std::string> lease_key(std::string_view key) {
  if (has_hash_tag(key)) {
    return std::string(kPrefix) + kAsItIs + std::string(key);
  }
  if (key.empty() || key.contains('}')) {
    return std::nullopt;
  }
  return std::string(kPrefix) + kInBraces + std::string(key) + "}";
}

std::string_view key_of_lease(std::string_view lease) {
  if (!lease.starts_with(kPrefix) || lease.size() < kPrefix.size() + 2) {
    return {};
  }
  const bool is_in_braces = lease[kPrefix.size()] == kInBraces;
  lease.remove_prefix(kPrefix.size() + 1);
  lease.remove_suffix(is_in_braces ? 1 : 0);
  return lease;
}

// The connection to one Redis.
class RedisLeases::Link final : upstream::Connection::Owner {
 public:
  Link(RedisLeases& of, upstream::RedisPlace place) : of_(of), place_(std::move(place)) {}
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;
  virtual ~Link() { close(); }

  void be_at(const upstream::RedisPlace& place) {
    if (!place.is_at(place_)) {
      lose();
      retry_at_ = {};
    }
    place_ = place;  // with the credentials of now
  }
  void ask(const Ask& ask);
  void release(std::string_view name, int db, bool is_again = false);

 private:
  using OnReply = std::function<void(std::string_view reply)>;  // empty: it will not come

  bool connect(int db);
  void send(std::initializer_list<std::string_view> words, OnReply on_reply);
  void asked(const Ask& ask, std::string_view set, std::string_view exists);
  void watch(const Ask& ask);
  void finish(const Ask& ask, Answer answer, bool is_taken);
  bool is_refused(std::string_view reply, std::string_view what);
  void on_upstream_up() override {}
  void on_upstream_bytes(std::string_view bytes) override;
  void on_upstream_progress() override {}
  void on_upstream_lost() override { lose(); }
  void take(std::string_view reply);
  void close();
  void lose();

  RedisLeases& of_;
  upstream::RedisPlace place_;
  std::unique_ptr<upstream::Connection> connection_;  // null: none
  std::deque<OnReply> expected_;
  resp::ReplyFramer framer_;
  std::string reply_;  // its front, so far
  int db_ = 0;
  bool has_served_ = false;
  bool is_resp3_ = false;
  bool is_pushing_ = false;
  TimePoint retry_at_{};
  std::string trouble_;  // as told: the first word of it
};

bool RedisLeases::Link::connect(int db) {
  io::AsioLoop& loop = of_.worker_.loop();
  if (!connection_) {
    if (loop.now() < retry_at_) {
      return false;
    }
    upstream::Connection::Owner& owner = *this;
    connection_ = std::make_unique<upstream::Connection>(loop, place_.settings, owner);
    db_ = 0;
    has_served_ = is_resp3_ = is_pushing_ = false;
    const config::Control& control = place_.settings.control;
    if (const std::string password = config::password_of(control.password_file, control.password);
        !password.empty()) {
      const std::string user = control.username.empty() ? "default" : control.username;
      send({"AUTH", user, password}, [this](std::string_view reply) {
        if (is_refused(reply, "AUTH")) {
          lose();  // the password may be another one by then
        }
      });
    }
    send({"HELLO", "3"}, [this](std::string_view reply) {
      is_resp3_ = !reply.empty() && !is_refused(reply, "HELLO 3");
    });
    send({"CLIENT", "TRACKING", "ON", "OPTIN"}, [this](std::string_view reply) {
      is_pushing_ = !reply.empty() && !is_refused(reply, "CLIENT TRACKING") && is_resp3_;
    });
  }
  if (db != db_) {
    db_ = db;
    send({"SELECT", std::to_string(db)}, [this](std::string_view reply) {
      if (is_refused(reply, "SELECT")) {
        lose();
      }
    });
  }
  return connection_ != nullptr;
}

void RedisLeases::Link::send(std::initializer_list<std::string_view> words, OnReply on_reply) {
  std::string bytes;
  resp::append_command(bytes, {words.begin(), words.size()});
  connection_->send(bytes);
  expected_.push_back(std::move(on_reply));
}

void RedisLeases::Link::ask(const Ask& ask) {
  const auto lease = lease_key(ask.name);
  if (!lease || !connect(ask.db)) {
    of_.answer(ask, Answer::failed);
    return;
  }
  auto set = std::make_shared<std::string>();
  send({"SET", *lease, "1", "NX", "PX", std::to_string(ask.lasts.count())},
       [set](std::string_view reply) { *set = reply; });
  send({"EXISTS", ask.name}, [this, ask, set](std::string_view reply) { asked(ask, *set, reply); });
}

void RedisLeases::Link::asked(const Ask& ask, std::string_view set, std::string_view exists) {
  const bool is_taken = set.starts_with('+');
  if (set.empty() || exists.empty() || is_refused(set, "SET") || is_refused(exists, "EXISTS")) {
    finish(ask, Answer::failed, is_taken);
  } else if (exists != ":0\r\n") {
    finish(ask, Answer::there, is_taken);
  } else if (is_taken) {
    finish(ask, Answer::ours, is_taken);
  } else if (is_pushing_) {
    watch(ask);
  } else {
    finish(ask, Answer::unwatched, is_taken);
  }
}

// Another guard has the lease.
void RedisLeases::Link::watch(const Ask& ask) {
  send({"CLIENT", "CACHING", "YES"}, [this](std::string_view reply) {
    is_pushing_ = is_pushing_ && !is_refused(reply, "CLIENT CACHING");
  });
  send({"EXISTS", lease_key(ask.name).value_or(""), ask.name, ask.name},
       [this, ask](std::string_view reply) {
         if (reply.empty() || is_refused(reply, "EXISTS")) {
           finish(ask, Answer::failed, false);
         } else if (reply == ":0\r\n") {
           finish(ask, Answer::ended, false);
         } else if (reply == ":1\r\n") {
           finish(ask, is_pushing_ ? Answer::elsewhere : Answer::unwatched, false);
         } else {
           finish(ask, Answer::there, false);
         }
       });
}

void RedisLeases::Link::finish(const Ask& ask, Answer answer, bool is_taken) {
  const bool is_used = of_.answer(ask, answer) && answer == Answer::ours;
  if (is_taken && !is_used) {
    release(ask.name, ask.db);
  }
}

// Over another connection, if the one is lost by which it was taken, or by which it was to be
// released: others wait for it.
void RedisLeases::Link::release(std::string_view name, int db, bool is_again) {
  const auto lease = lease_key(name);
  if (lease && connect(db)) {
    send({"DEL", *lease}, [this, name = std::string(name), db, is_again](std::string_view reply) {
      if (reply.empty() && !is_again) {
        release(name, db, true);
      } else {
        is_refused(reply, "DEL");
      }
    });
  }
}

bool RedisLeases::Link::is_refused(std::string_view reply, std::string_view what) {
  if (!reply.starts_with('-')) {
    return false;
  }
  const std::string_view error = reply.substr(1, reply.find('\r') - 1);
  if (const std::string_view code = error.substr(0, error.find(' ')); code != trouble_) {
    trouble_ = code;
    of_.log_.warning("leases_trouble",
                     {{"redis", place_.settings.address.text()},
                      {"what", std::string(what) + ": " + std::string(error)}});
  }
  return true;
}

void RedisLeases::Link::on_upstream_bytes(std::string_view bytes) {
  while (!bytes.empty() && connection_) {
    const resp::ReplyFramer::Piece piece = framer_.next(bytes);
    reply_.append(bytes.substr(0, piece.bytes));
    bytes.remove_prefix(piece.bytes);
    if (piece.malformed || reply_.size() > kReplyBytesMax) {
      lose();
    } else if (piece.ends) {
      take(std::exchange(reply_, {}));
    }
  }
}

void RedisLeases::Link::take(std::string_view reply) {
  if (framer_.type() != '>' && !expected_.empty()) {
    has_served_ = has_served_ || !reply.starts_with('-');
    const OnReply on_reply = std::move(expected_.front());
    expected_.pop_front();
    on_reply(reply);
  } else if (framer_.type() != '>') {
    lose();
  } else if (take_bulk(reply) == "invalidate") {
    do {
      of_.on_push(take_bulk(reply));  // no name: FLUSHALL
    } while (!reply.empty());
  }
}

void RedisLeases::Link::close() {
  if (connection_) {
    connection_->close();
    of_.worker_.loop().dispose(std::move(connection_));
  }
}

// Whoever waits for others asks Redis again, and then here.
void RedisLeases::Link::lose() {
  if (!connection_) {
    return;
  }
  retry_at_ = has_served_ ? TimePoint() : of_.worker_.loop().now() + kRetryEvery;
  close();
  framer_ = {};
  reply_.clear();
  trouble_.clear();
  for (const OnReply& on_reply : std::exchange(expected_, {})) {
    on_reply({});
  }
  of_.on_push({});
}

RedisLeases::RedisLeases(RedisOf redis_of, const io::TlsSlot* tls, log::EventLog& log)
    : redis_of_(std::move(redis_of)), log_(log), worker_({}, tls) {
  worker_.start();
}

RedisLeases::~RedisLeases() {
  worker_.stop_and_join();
}

std::uint64_t RedisLeases::join(Leases& leases) {
  const std::lock_guard lock(told_mutex_);
  leases_.emplace(++last_number_, &leases);
  return last_number_;
}

void RedisLeases::leave(std::uint64_t leases) {
  const std::lock_guard lock(told_mutex_);
  leases_.erase(leases);
}

bool RedisLeases::ask(Ask ask) {
  if (asks_ >= kAsksMax) {
    return false;
  }
  ++asks_;
  push(std::move(ask));
  return true;
}

void RedisLeases::release(std::string_view name, int db) {
  push({.name = std::string(name), .db = db});
}

void RedisLeases::push(Ask what) {
  std::unique_lock lock(mutex_);
  if (waiting_.size() >= 2 * kAsksMax) {  // releases alone
    return;
  }
  waiting_.push_back(std::move(what));
  const bool is_first = waiting_.size() == 1;
  lock.unlock();
  if (is_first) {
    worker_.loop().post([this] { send_waiting(); });
  }
}

void RedisLeases::send_waiting() {
  std::unique_lock lock(mutex_);
  const std::deque<Ask> waiting = std::exchange(waiting_, {});
  lock.unlock();
  for (const Ask& each : waiting) {
    Link* const link = link_to(each.name);
    if (link != nullptr && each.ticket != 0) {
      link->ask(each);
    } else if (link != nullptr) {
      link->release(each.name, each.db);
    } else if (each.ticket != 0) {
      answer(each, Answer::failed);
    }
  }
}

RedisLeases::Link* RedisLeases::link_to(std::string_view key) {
  const auto redis = redis_of_(key);
  if (!redis) {
    return nullptr;
  }
  const std::string address = redis->settings.address.text();
  const auto found = links_.find(address);
  if (found != links_.end()) {
    found->second->be_at(*redis);
    return found->second.get();
  }
  return links_.size() >= kLinksMax
             ? nullptr
             : links_.emplace(address, std::make_unique<Link>(*this, *redis)).first->second.get();
}

bool RedisLeases::answer(const Ask& ask, Answer answer) {
  --asks_;
  const std::lock_guard lock(told_mutex_);
  const auto of = leases_.find(ask.by);
  return of != leases_.end() &&
         of->second->answered(ask.key, ask.ticket, answer, worker_.loop().now());
}

void RedisLeases::on_push(std::string_view key) {
  const std::string_view of_lease = key_of_lease(key);
  const std::lock_guard lock(told_mutex_);
  for (const auto& [number, leases] : leases_) {
    if (of_lease.empty()) {
      leases->pushed(key, worker_.loop().now());
    } else {
      leases->ended_elsewhere(of_lease, worker_.loop().now());
    }
  }
}

std::shared_ptr<guard::Loads> make_loads(const app::LoadsParts& parts) {
  const filter::HashSecret secret = filter::random_secret();
  const auto* const sibling = static_cast<const Leases*>(parts.sibling.get());
  auto shared = sibling != nullptr ? sibling->shared() : nullptr;
  if (!shared && parts.settings.scope == config::BreakdownScope::redis) {
    shared = std::make_shared<RedisLeases>(parts.redis_of, parts.tls, parts.log);
  }
  return std::make_shared<Leases>(
      parts.settings,
      sibling != nullptr ? sibling->addresses() : std::make_shared<Addresses>(secret),
      secret,
      std::move(shared),
      parts.db);
}

}  // namespace cuckooguard::breakdown
