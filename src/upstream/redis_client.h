// A connection to Redis on which the guard asks questions of its own: each is sent without waiting
// for the replies to those before, and the replies come in that order. hiredis reads them (RESP2).
//
//   send(), and a call for each reply   a log that is followed while others are appended to
//   append() ... next() ...             a few questions in one write
//   call()                              one question
//
// open(), next() and call() wait: they run the loop (AsioLoop::run_one) until it is done. Other
// clients on it go on meanwhile, as do its timers; a loop that is stopped ends every wait.
//
// Threads:   its loop's, between batches: a call for a reply may send, and wait for nothing.
// Lifetimes: the loop outlives it, and is run or destroyed thereafter. What has no reply yet when
//            it ends gets none.
// Errors:    once it is lost, that is what it stays, and why_lost() says why, in words for
//            operators. What Redis refuses is a reply.
// Limits:    open() waits for connect_timeout, TLS and the look-up of a name included; next() until
//            nothing has come for `patience`. kReplyBytesMax of a reply. What has not been sent yet
//            has no limit here.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <expected>
#include <functional>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "config/config.h"
#include "io/asio_loop.h"
#include "resp/value.h"
#include "upstream/connection.h"
#include "upstream/redis_reply.h"

namespace cuckooguard::upstream {

// Where something is, and which of the servers that have been behind that address has it: what one
// has said is nothing to the next.
struct RedisPlace {
  // NOLINTNEXTLINE(google-explicit-constructor): an address behind which there is but one
  RedisPlace(config::Upstream its_settings, std::uint64_t its_server = 0)
      : settings(std::move(its_settings)), server(its_server) {}

  config::Upstream settings;
  std::uint64_t server;
  bool is_at(const RedisPlace& other) const {
    return server == other.server && settings.address == other.settings.address;
  }
};

// The settings for one of several servers: its address, and a short time-out for one that is gone.
inline config::Upstream settings_at(config::Upstream all, const config::Address& server) {
  constexpr std::chrono::milliseconds kConnectTimeout{500};
  all.address = server;
  all.connect_timeout = std::min<std::chrono::milliseconds>(all.connect_timeout, kConnectTimeout);
  return all;
}

class RedisClient final : Connection::Owner {
 public:
  static constexpr std::size_t kReplyBytesMax = std::size_t{1} << 30U;

  using Words = std::span<const std::string_view>;  // a command and its arguments
  using OnReply = std::function<void(Reply)>;

  enum class Login : std::uint8_t { none, as_control };  // as upstream.control says
  struct Failure {
    std::string why;
    bool is_connected = false;  // it has failed with the login
    bool is_from_redis = false;
  };
  using Opened = std::expected<std::unique_ptr<RedisClient>, Failure>;

  static Opened open(io::AsioLoop& loop,
                     const config::Upstream& settings,
                     std::chrono::milliseconds patience,
                     Login login = Login::as_control);
  // On a loop of its own, for any thread, one at a time. By what `tls` has now; null: no TLS.
  static Opened open(const io::TlsSlot* tls,
                     const config::Upstream& settings,
                     std::chrono::milliseconds patience,
                     Login login = Login::as_control);
  RedisClient(const RedisClient&) = delete;
  RedisClient& operator=(const RedisClient&) = delete;
  ~RedisClient();

  void send(Words words, OnReply on_reply);
  void send(std::initializer_list<std::string_view> words, OnReply on_reply) {
    send(Words(words.begin(), words.size()), std::move(on_reply));
  }
  // For what comes unasked, on a connection that has subscribed; elsewhere that loses it.
  void on_message(std::function<void()> call) { on_message_ = std::move(call); }

  void append(Words words);
  void append(std::initializer_list<std::string_view> words) {
    append(Words(words.begin(), words.size()));
  }
  // To what was appended first, and has not been taken; null: it is lost.
  Reply next();
  Reply call(Words words) {
    append(words);
    return next();
  }
  Reply call(std::initializer_list<std::string_view> words) {
    append(words);
    return next();
  }

  bool is_lost() const { return is_lost_; }
  const std::string& why_lost() const { return why_; }
  bool has_timed_out() const { return has_timed_out_; }  // next() got no reply
  void give_up(std::string why);
  // When something came last.
  io::TimePoint read_at() const { return read_at_; }

 private:
  struct FreeReader {
    void operator()(redisReader* reader) const { redisReaderFree(reader); }
  };

  RedisClient(io::AsioLoop& loop,
              const config::Upstream& settings,
              std::chrono::milliseconds patience);
  std::expected<void, Failure> come_up(const config::Control& control, Login login);

  void on_upstream_up() override { is_up_ = true; }
  void on_upstream_bytes(std::string_view bytes) override;
  void on_upstream_progress() override {}
  void on_upstream_lost() override;
  void read(std::string_view bytes);
  void take(Reply reply);

  std::unique_ptr<io::AsioLoop> own_loop_;  // null: it is another one's
  io::AsioLoop& loop_;
  std::chrono::milliseconds patience_;
  std::unique_ptr<redisReader, FreeReader> reader_;
  std::unique_ptr<Connection> connection_;
  bool is_up_ = false;
  bool is_lost_ = false;
  bool has_timed_out_ = false;
  std::string why_;
  io::TimePoint read_at_{};
  std::size_t unread_bytes_ = 0;  // since the last whole reply
  std::deque<OnReply> expected_;
  std::deque<Reply> replies_;  // for next()
  std::function<void()> on_message_;
};

// A copy, for those who know nothing of hiredis.
resp::Value value_of(const redisReply& reply);

}  // namespace cuckooguard::upstream
