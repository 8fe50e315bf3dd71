// fleet_bench [--followers N] [--changes N] [--seconds N] [--strict N]
//
// What N followers of one builder cost Redis, at so many changes of the table per second. They are
// light ones, each with a connection of its own, that ask and read as a follower does and believe
// all; a few verify and time what they read. One real guard is beside them, for what it takes.
//
//   at a tick     an entry is read when it comes
//   at two ticks  every 0.2 s, what has come by then
//   strict        at a tick, while readers of so many (--strict) of them wait for a proof
//
// Each is a line of its own: `bench-fleet: followers=… …`.

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <deque>
#include <fstream>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <arpa/inet.h>
#include <hiredis/hiredis.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bench_shop.h"
#include "fleet/keys.h"
#include "fleet/layout.h"
#include "fleet/replica.h"
#include "follower/follower.h"
#include "harness/guard_process.h"
#include "harness/mariadb_server.h"
#include "harness/redis_command.h"
#include "harness/redis_server.h"
#include "harness/run_main.h"
#include "statistics.h"

namespace cuckooguard::bench {
namespace {

using harness::SteadyClock;
using TimePoint = SteadyClock::time_point;

constexpr std::uint64_t kRows = 100'000;
constexpr std::size_t kTimed = 10;  // of the followers
constexpr std::chrono::milliseconds kAskEvery{250};
constexpr std::chrono::milliseconds kStrictPace{20};
constexpr std::chrono::milliseconds kTwoTicks{200};

struct Options {
  std::size_t followers = 500;
  std::uint64_t changes = 1000;
  unsigned seconds = 10;
  std::size_t strict = 0;
};

double cpu_seconds(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string all(std::istreambuf_iterator<char>(file), {});
  std::istringstream words(all.substr(all.rfind(')') + 2));
  std::string word;
  double ticks = 0;
  for (int field = 3; field <= 15 && words >> word; ++field) {
    if (field >= 14) {  // utime, stime
      ticks += std::stod(word);
    }
  }
  return ticks / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

// Inserts rows, evenly, and remembers when which were there.
class Writer {
 public:
  Writer(const harness::SqlServer& server, std::uint64_t per_second)
      : thread_([this, &server, per_second](const std::stop_token& stop) {
          harness::SqlSession session = server.session();
          constexpr std::uint64_t kAtOnce = 10;
          auto next = SteadyClock::now();
          while (!stop.stop_requested()) {
            std::string sql = "INSERT INTO users VALUES ";
            for (std::uint64_t i = 0; i < kAtOnce; ++i) {
              sql += (i == 0 ? "(" : ",(") + std::to_string(1'000'000 + inserted_ + i) + ")";
            }
            session.run(sql);
            {
              const std::scoped_lock lock(mutex_);
              inserted_ += kAtOnce;
              committed_.push_back({.rows = inserted_, .at = SteadyClock::now()});
            }
            next += std::chrono::nanoseconds(1'000'000'000 * kAtOnce / per_second);
            std::unique_lock lock(mutex_);
            paced_.wait_until(lock, stop, next, [] { return false; });
          }
        }) {}

  struct Committed {
    std::uint64_t rows;  // by then
    TimePoint at;
  };
  // Those from `place` on that so many rows have; the place behind them.
  std::size_t take(std::size_t place, std::uint64_t rows, const auto& use) const {
    const std::scoped_lock lock(mutex_);
    for (; place < committed_.size() && committed_[place].rows <= rows; ++place) {
      use(committed_[place]);
    }
    return place;
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable_any paced_;
  std::deque<Committed> committed_;
  std::uint64_t inserted_ = 0;
  std::jthread thread_;
};

// One connection; a state machine of its own.
class LightFollower {
 public:
  LightFollower(std::uint16_t port, const fleet::Keys& keys, std::string name, std::string last_id)
      : keys_(keys),
        name_(std::move(name)),
        last_id_(std::move(last_id)),
        port_(port),
        socket_(connected()),
        reader_(redisReaderCreate(), redisReaderFree) {}
  LightFollower(const LightFollower&) = delete;
  LightFollower& operator=(const LightFollower&) = delete;
  ~LightFollower() {
    ::close(socket_);
    ::close(asking_);  // -1: there is none
  }

  int socket() const { return socket_; }
  bool is_reading() const { return is_reading_; }
  bool is_due(TimePoint now, bool waits) const {
    return waits ? is_open_ || now - got_at_ >= fleet::Follower::kReadEvery
                 : now - read_at_ >= kTwoTicks;
  }
  std::uint64_t bytes() const { return bytes_; }
  const std::vector<double>& waited() const { return waited_; }  // ms

  // A reader waits, from when the one before it has its proof.
  void want(TimePoint now) {
    const bool is_due = now - asked_at_ >= (is_open_ ? kAskEvery : kStrictPace);
    if (!is_due) {
      return;
    }
    if (asking_ < 0) {
      asking_ = connected();
      send(asking_, harness::command({"CLIENT", "REPLY", "OFF"}));
    }
    is_open_ = true;
    send(asking_,
         question(now) + harness::command({"XADD", keys_.wake, "MAXLEN", "1", "*", "w", ""}));
  }

  // Its question, if that is due, and what comes next in the log.
  void ask(TimePoint now, bool waits) {
    std::string commands;
    if (asking_ < 0 && now - asked_at_ >= kAskEvery) {
      commands += question(now);
      ++skipped_replies_;
    }
    if (waits) {
      commands += harness::command(
          {"XREAD", "COUNT", "256", "BLOCK", "1000", "STREAMS", keys_.log, last_id_});
    } else {
      commands += harness::command({"XREAD", "COUNT", "256", "STREAMS", keys_.log, last_id_});
    }
    is_reading_ = true;
    read_at_ = now;
    send(socket_, commands);
  }

  // What has come; of each entry its bytes.
  void read(const auto& use) {
    std::array<char, 65536> buffer;
    const ssize_t got = ::recv(socket_, buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (got <= 0) {
      return;
    }
    bytes_ += static_cast<std::uint64_t>(got);
    redisReaderFeed(reader_.get(), buffer.data(), static_cast<std::size_t>(got));
    void* reply = nullptr;
    while (redisReaderGetReply(reader_.get(), &reply) == REDIS_OK && reply != nullptr) {
      const std::unique_ptr<redisReply, decltype(&freeReplyObject)> owned(
          static_cast<redisReply*>(reply), freeReplyObject);
      if (skipped_replies_ > 0) {
        --skipped_replies_;
        if (owned->type == REDIS_REPLY_STRING) {
          take_answer({owned->str, owned->len});
        }
        continue;
      }
      is_reading_ = false;
      take(*owned, use);
    }
  }

 private:
  int connected() const {
    const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(port_);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const int on = 1;
    if (::connect(socket, reinterpret_cast<const sockaddr*>(&to), sizeof(to)) != 0 ||
        ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) != 0) {
      throw std::runtime_error("a follower cannot connect");
    }
    return socket;
  }
  std::string question(TimePoint now) {
    asked_at_ = now;
    nonce_ = std::to_string(++questions_);
    nonce_.resize(fleet::kNonceBytes, 'n');
    return harness::command(
        {"HSET",
         keys_.asks,
         name_,
         fleet::bytes_of(fleet::Ask{.nonce = nonce_, .seq = 1, .is_waiting = asking_ >= 0})});
  }
  void take_answer(std::string_view bytes) {
    const auto answer = fleet::read_answer(bytes);
    if (is_open_ && answer && answer->nonce == nonce_) {
      is_open_ = false;
      waited_.push_back(
          std::chrono::duration<double, std::milli>(SteadyClock::now() - asked_at_).count());
    }
  }
  void take(const redisReply& reply, const auto& use) {
    if (reply.type != REDIS_REPLY_ARRAY || reply.elements == 0) {
      return;
    }
    got_at_ = SteadyClock::now();
    const redisReply& entries = *reply.element[0]->element[1];
    for (std::size_t i = 0; i < entries.elements; ++i) {
      const redisReply& entry = *entries.element[i];
      last_id_ = std::string(entry.element[0]->str, entry.element[0]->len);
      const redisReply& bytes = *entry.element[1]->element[1];
      use(std::string_view(bytes.str, bytes.len));
    }
    send(socket_, harness::command({"HGET", keys_.answers, name_}));
    ++skipped_replies_;
  }
  static void send(int socket, const std::string& bytes) {
    if (::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL) !=
        static_cast<ssize_t>(bytes.size())) {
      throw std::runtime_error("a follower cannot write");
    }
  }

  const fleet::Keys& keys_;
  std::string name_;
  std::string last_id_;
  std::uint16_t port_;
  int socket_;
  int asking_ = -1;  // of a strict one
  std::unique_ptr<redisReader, decltype(&redisReaderFree)> reader_;
  bool is_reading_ = false;
  TimePoint read_at_{};
  TimePoint got_at_{};
  TimePoint asked_at_{};
  std::string nonce_;
  bool is_open_ = false;
  std::vector<double> waited_;
  std::uint64_t questions_ = 0;
  std::uint64_t bytes_ = 0;
  int skipped_replies_ = 0;
};

// A follower that looks at what it reads.
struct Timed {
  std::uint64_t rows = 0;
  std::size_t place = 0;
};

class Bench {
 public:
  explicit Bench(const Options& options) : options_(options) {
    harness::SqlSession session = server_.session();
    session.run("CREATE TABLE users (id BIGINT UNSIGNED PRIMARY KEY)");
    session.run("INSERT INTO users SELECT seq FROM seq_1_to_" + std::to_string(kRows));
    create_guard_user(server_);
    std::ofstream(folder_.file("fleet.secret"), std::ios::binary)
        << std::string(filter::kSecretBytes, 's');
    std::filesystem::permissions(
        folder_.file("fleet.secret"),
        std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
    builder_.emplace(harness::GuardProcess::on_port(yaml(
        "shop: { " +
            harness::mysql_source(harness::unix_address(server_), kMaxLag, ", publish: redis") +
            " }",
        ", directory: " + folder_.file("kept"))));
    follower_.emplace(
        harness::GuardProcess::on_port(yaml("shop: { type: fleet, name: shop }", "")));
    plain_.emplace(harness::GuardProcess::on_port(yaml(
        "shop: { " + harness::mysql_source(harness::unix_address(server_), kMaxLag) + " }", "")));
    wait_until_absent(*plain_, kRows + 1);
    wait_until_absent(*builder_, kRows + 1);
    wait_until_absent(*follower_, kRows + 1);
  }

  void measure(bool waits, std::size_t strict) {
    std::vector<std::unique_ptr<LightFollower>> followers;
    const int epoll = ::epoll_create1(EPOLL_CLOEXEC);
    const std::string last = redis_.call({"HGET", keys_.meta, "seq"});
    const std::string id =
        last.substr(last.find("\r\n") + 2, last.rfind("\r\n") - last.find("\r\n") - 2);
    for (std::size_t i = 0; i < options_.followers; ++i) {
      followers.push_back(std::make_unique<LightFollower>(
          redis_.port(), keys_, "light-" + std::to_string(i), id + "-0"));
      epoll_event event{.events = EPOLLIN, .data = {.u64 = i}};
      ::epoll_ctl(epoll, EPOLL_CTL_ADD, followers.back()->socket(), &event);
    }
    const Writer writer(server_, options_.changes);
    std::vector<Timed> timed(std::min(kTimed, followers.size()));
    std::vector<double> lags;
    const auto run_until = [&](TimePoint end, bool counts) {
      while (SteadyClock::now() < end) {
        const TimePoint now = SteadyClock::now();
        for (std::size_t i = 0; i < strict; ++i) {
          followers[i]->want(now);
        }
        for (auto& follower : followers) {
          if (!follower->is_reading() && follower->is_due(now, waits)) {
            follower->ask(now, waits);
          }
        }
        std::array<epoll_event, 256> events{};
        const int ready = ::epoll_wait(epoll, events.data(), events.size(), strict > 0 ? 1 : 5);
        for (int i = 0; i < ready; ++i) {
          const std::size_t which = events.at(static_cast<std::size_t>(i)).data.u64;
          followers[which]->read([&](std::string_view bytes) {
            if (which < timed.size()) {
              look(bytes, writer, timed[which], counts ? &lags : nullptr);
            }
          });
        }
      }
    };
    run_until(SteadyClock::now() + std::chrono::seconds(3), false);
    std::uint64_t bytes_before = 0;
    for (const auto& follower : followers) {
      bytes_before += follower->bytes();
    }
    const double redis_before = cpu_seconds(redis_.pid());
    const double follower_before = cpu_seconds(follower_->pid());
    const TimePoint begun = SteadyClock::now();
    run_until(begun + std::chrono::seconds(options_.seconds), true);
    const double took = std::chrono::duration<double>(SteadyClock::now() - begun).count();
    std::uint64_t bytes = 0;
    for (const auto& follower : followers) {
      bytes += follower->bytes();
    }
    ::close(epoll);
    std::ranges::sort(lags);
    std::vector<double> waited;
    for (const auto& follower : followers) {
      waited.insert(waited.end(), follower->waited().begin(), follower->waited().end());
    }
    std::ranges::sort(waited);
    std::printf(
        "bench-fleet: followers=%zu changes_per_s=%llu ticks=%d redis_core_share=%.3f "
        "lag_p50_ms=%.0f lag_p99_ms=%.0f follower_core_share=%.4f follower_rss_mib=%.1f "
        "plain_rss_mib=%.1f "
        "bytes_per_follower_per_s=%.0f strict=%zu strict_p50_ms=%.1f strict_p99_ms=%.1f\n",
        followers.size(),
        static_cast<unsigned long long>(options_.changes),
        waits ? 1 : 2,
        (cpu_seconds(redis_.pid()) - redis_before) / took,
        percentile(lags, 0.5),
        percentile(lags, 0.99),
        (cpu_seconds(follower_->pid()) - follower_before) / took,
        static_cast<double>(follower_->resident_bytes()) / (1024 * 1024),
        static_cast<double>(plain_->resident_bytes()) / (1024 * 1024),
        static_cast<double>(bytes - bytes_before) / took / static_cast<double>(followers.size()),
        strict,
        percentile(waited, 0.5),
        percentile(waited, 0.99));
  }

 private:
  std::string yaml(const std::string& source, const std::string& storage) const {
    return "upstream: " + redis_.address() + "\nworkers: 1\nsources:\n  " + source +
           "\nnamespaces:\n  users: { keys: \"user:{id:uint64}\", source: { from: shop, table: "
           "users }, mode: enforce, absent_reply: \"bytes:__ABSENT__\", verify_sample: 0%, "
           "fresh_ids: 0, consistency: max_lag, overlay: { pass_at_start: false } }\n"
           "fleet: { signing_key_file: " +
           files_.private_path() + ", public_key_files: " + files_.public_path() +
           " }\nstorage: { secret_file: " + folder_.file("fleet.secret") + storage + " }\n";
  }
  void look(std::string_view bytes, const Writer& writer, Timed& timed, std::vector<double>* lags) {
    const auto entry = fleet::read_entry(bytes, verifying_);
    if (!entry) {
      throw std::runtime_error("an entry cannot be read");
    }
    for (const fleet::TableChange& change : entry->entry.tables) {
      timed.rows += change.inserted.size();
    }
    if (timed.rows == 0) {
      return;
    }
    const TimePoint now = SteadyClock::now();
    timed.place = writer.take(timed.place, timed.rows, [&](const auto& committed) {
      if (lags != nullptr) {
        lags->push_back(std::chrono::duration<double, std::milli>(now - committed.at).count());
      }
    });
  }

  Options options_;
  fleet::KeyFiles files_;
  fleet::VerifyingKeys verifying_ = files_.verifying();
  harness::TemporaryDirectory folder_;
  harness::MariaDbServer server_;
  harness::RedisServer redis_;
  fleet::Keys keys_{"cuckooguard:fleet", "shop"};
  std::optional<harness::GuardProcess> builder_;
  std::optional<harness::GuardProcess> follower_;
  std::optional<harness::GuardProcess> plain_;  // reads the database itself
};

int run(const std::vector<std::string>& arguments) {
  Options options;
  for (std::size_t i = 1; i + 1 < arguments.size(); i += 2) {
    const auto number = static_cast<unsigned>(std::stoul(arguments[i + 1]));
    if (arguments[i] == "--followers") {
      options.followers = number;
    } else if (arguments[i] == "--changes") {
      options.changes = number;
    } else if (arguments[i] == "--seconds") {
      options.seconds = number;
    } else if (arguments[i] == "--strict") {
      options.strict = number;
    } else {
      throw std::runtime_error(
          "fleet_bench [--followers N] [--changes N] [--seconds N] [--strict N]");
    }
  }
  harness::raise_descriptor_limit();
  if (options.strict > 0) {
    Bench(options).measure(true, std::min(options.strict, options.followers));
    return 0;
  }
  for (const bool waits : {true, false}) {
    Bench(options).measure(waits, 0);
  }
  return 0;
}

}  // namespace
}  // namespace cuckooguard::bench

int main(int argc, char** argv) {
  return cuckooguard::harness::run_main("fleet_bench", [&] {
    return cuckooguard::bench::run(std::vector<std::string>(argv, argv + argc));
  });
}
