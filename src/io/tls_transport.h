// A Transport that speaks TLS over another one.
//
//   owner ──plain text── TlsTransport ──SSL, transport_bio── inner Transport: a socket, say
//
// Its owner sees an ordinary Transport; what TLS needs in between happens inside.
//   - A connecting one is up (`writable`) once the handshake is done. An accepted one looks like a
//     client that sends nothing until then.
//   - Bytes that OpenSSL holds decrypted, or could decrypt, do not make the socket readable: the
//     owner is told of them all the same, in the next batch, level-triggered as with a socket.
//   - Many small pieces become one record.
//   - The peer's close_notify, and its end without one, are Status::closed. close() and
//     finish_writing() send close_notify themselves, close() as far as that goes without waiting.
//
// States: connecting -> shaking hands -> up -> closed; failed from any of them.
// Threads: its loop's.
// Lifetimes: as Transport; `on_failure` outlives it, the credentials need not.
// Errors: a handshake that fails hangs up and reports the reason to on_failure, unless the peer has
//   just left. So does a peer that refuses us before its first byte (in TLS 1.3 a server looks at
//   the client's certificate after the handshake).
// Limits: an accepted connection whose handshake takes longer than kHandshakeMost is hung up. One
//   read() takes no more than the buffer it is given, one write() at most kRecordBytes.
// Source: SSL_read(3ssl), SSL_write(3ssl), SSL_shutdown(3ssl), RFC 8446.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "io/loop.h"
#include "io/tls_credentials.h"
#include "io/transport.h"

struct bio_st;

namespace cuckooguard::io {

// OpenSSL's way to read and write: a BIO over a Transport, without a copy in between.
//
// Threads: the transport's. Lifetimes: the Wire outlives the BIO, and so does its transport.
// Errors: a transport that would block makes OpenSSL say so (SSL_ERROR_WANT_READ,
// SSL_ERROR_WANT_WRITE).
struct Wire {
  Transport* transport = nullptr;
  bool has_ended = false;  // the peer has said that it sends no more
};

// Throws std::bad_alloc.
bio_st* new_transport_bio(Wire& wire);

class TlsTransport final : public Transport, Watcher {
 public:
  using OnFailure = std::function<void(const std::string& why)>;
  static constexpr std::chrono::seconds kHandshakeMost{10};
  static constexpr std::size_t kRecordBytes = std::size_t{16} * 1024;  // TLS's own limit

  // For an accepted connection; `inner` is up and not bound.
  static std::unique_ptr<TlsTransport> accepted(Loop& loop,
                                                std::unique_ptr<Transport> inner,
                                                const TlsCredentials& credentials,
                                                const OnFailure& on_failure);
  // To a server, `peer` (TlsCredentials). Call bind() next, then carry_by() with the connecting
  // transport, bound to inner_watcher().
  TlsTransport(Loop& loop,
               const TlsCredentials& credentials,
               const OnFailure& on_failure,
               const std::string& peer = {});
  Watcher& inner_watcher() { return *this; }
  void carry_by(std::unique_ptr<Transport> inner);

  void bind(Watcher& watcher) override;
  void watch(Interest interest) override;
  Transfer read(std::span<char> into) override;
  Transfer write(std::span<const std::string_view> pieces) override;
  void finish_writing() override;
  void close() override;
  bool is_open() const override { return state_ != State::closed; }
  std::string why_ended() const override;
  std::optional<std::chrono::milliseconds> unheard_for() const override {
    return inner_ ? inner_->unheard_for() : std::nullopt;
  }

 private:
  enum class State : std::uint8_t { connecting, shaking_hands, up, failed, closed };

  void on_ready(Readiness inner) override;
  void shake_hands(bool hung_up);
  void come_up();
  void deliver(Readiness inner);
  void fail();
  void tell_failure(const std::string& why);
  Status after_failed_read(int result);
  Status after_failed_write(int result, std::size_t bytes);
  void say_farewell();
  void update_watch();
  void update_again();
  bool wants(Interest part) const;

  Loop& loop_;
  const OnFailure& on_failure_;
  Watcher* watcher_ = nullptr;
  std::unique_ptr<Transport> inner_;
  Wire wire_;
  TlsConnection ssl_;                 // until close()
  std::unique_ptr<Timer> handshake_;  // its deadline
  std::unique_ptr<Timer> again_;      // readable although the socket is not
  std::size_t blocked_bytes_ = 0;     // in the record that OpenSSL could not write yet
  State state_;
  Interest interest_ = Interest::none;
  Interest handshake_wants_ = Interest::read;
  bool may_have_more_ = false;  // inside OpenSSL
  bool read_wants_write_ = false;
  bool write_wants_read_ = false;
  bool read_failed_ = false;
  bool write_failed_ = false;
  bool farewell_is_due_ = false;
  bool was_heard_ = false;  // a byte has come
  std::string failure_;     // as told
};

}  // namespace cuckooguard::io
