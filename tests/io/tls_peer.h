// The other end of a TlsTransport: OpenSSL over memory, whose bytes travel through the simulated
// network; and an owner for the transport.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <openssl/ssl.h>

#include "harness/certificates.h"
#include "harness/temporary_directory.h"
#include "io/tls_credentials.h"
#include "io/tls_transport.h"
#include "simulation/sim_loop.h"
#include "simulation/sim_transport.h"

namespace cuckooguard::io {

class TlsPeer {
 public:
  TlsPeer(simulation::SimLoop& loop, TlsConnection ssl)
      : loop_(loop), wire_(loop), ssl_(std::move(ssl)) {
    SSL_set_bio(ssl_.get(), BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
    wire_.listen({.on_arrival = [this] { pump(); }});
  }

  simulation::SimPeer& wire() { return wire_; }
  SSL* ssl() { return ssl_.get(); }

  // What it sends arrives byte by byte.
  void cut_everywhere() { cuts_everywhere_ = true; }
  void send(std::string_view bytes) {
    unsent_.append(bytes);
    pump();
  }
  const std::string& received() const { return received_; }
  const std::vector<std::size_t>& records() const { return records_; }  // their sizes
  bool has_shaken_hands() const { return SSL_is_init_finished(ssl_.get()) == 1; }
  bool has_heard_farewell() const {
    return (SSL_get_shutdown(ssl_.get()) & SSL_RECEIVED_SHUTDOWN) != 0;
  }
  bool has_failed() const { return has_failed_; }
  void say_farewell() {
    SSL_shutdown(ssl_.get());
    pump();
  }

  void pump() {
    const std::string arrived = wire_.read();
    BIO_write(SSL_get_rbio(ssl_.get()), arrived.data(), static_cast<int>(arrived.size()));
    const int result = SSL_do_handshake(ssl_.get());
    has_failed_ =
        has_failed_ || (result != 1 && SSL_get_error(ssl_.get(), result) == SSL_ERROR_SSL);
    read();
    write();
    flush();
  }

 private:
  void read() {
    std::array<char, 20'000> buffer;
    std::size_t bytes = 0;
    while (!has_failed_ && SSL_read_ex(ssl_.get(), buffer.data(), buffer.size(), &bytes) == 1) {
      received_.append(buffer.data(), bytes);
      records_.push_back(bytes);
    }
  }

  void write() {
    std::size_t written = 0;
    while (!has_failed_ && has_shaken_hands() && !unsent_.empty() &&
           SSL_write_ex(ssl_.get(), unsent_.data(), unsent_.size(), &written) == 1) {
      unsent_.erase(0, written);
    }
  }

  void flush() {
    BIO* const out = SSL_get_wbio(ssl_.get());
    std::string bytes(BIO_ctrl_pending(out), '\0');
    BIO_read(out, bytes.data(), static_cast<int>(bytes.size()));
    if (!cuts_everywhere_) {
      wire_.send(bytes);
      return;
    }
    for (const char byte : bytes) {
      next_ = std::max(next_, loop_.now()) + std::chrono::microseconds(1);
      loop_.at(next_ - loop_.now(), [this, byte] { wire_.send({&byte, 1}); });
    }
  }

  simulation::SimLoop& loop_;
  simulation::SimPeer wire_;
  TlsConnection ssl_;
  bool cuts_everywhere_ = false;
  TimePoint next_;
  std::string unsent_;
  std::string received_;
  std::vector<std::size_t> records_;
  bool has_failed_ = false;
};

// Reads as long as it wants to, and writes what it is given, as sessions do: once per readiness,
// and again when there is room.
class TlsOwner final : public Watcher {
 public:
  void own(Transport& transport) { transport_ = &transport; }

  void send(std::string_view bytes) {
    unsent_.append(bytes);
    flush();
  }
  void set_reading(bool reading) {
    reads_ = reading;
    update_watch();
  }
  void read_at_most(std::size_t bytes) { read_most_ = bytes; }
  void write_pieces_of(std::size_t bytes) { piece_ = bytes; }

  const std::string& received() const { return received_; }
  std::size_t unsent() const { return unsent_.size(); }
  bool is_up() const { return is_up_; }  // it has been told that it may write
  int hang_ups() const { return hang_ups_; }
  bool has_ended() const { return has_ended_; }    // Status::closed
  bool has_failed() const { return has_failed_; }  // Status::failed, of a read
  std::size_t reads() const { return read_calls_; }

  void on_ready(Readiness readiness) override {
    hang_ups_ += readiness.hung_up ? 1 : 0;
    if (readiness.writable) {
      is_up_ = true;
      is_blocked_ = false;
      flush();
    }
    if (readiness.readable && reads_) {
      read();
    }
  }

 private:
  void read() {
    std::string buffer(read_most_, '\0');
    const Transfer transfer = transport_->read(buffer);
    ++read_calls_;
    received_.append(buffer, 0, transfer.bytes);
    has_ended_ = has_ended_ || transfer.status == Status::closed;
    has_failed_ = has_failed_ || transfer.status == Status::failed;
    update_watch();
  }

  void flush() {
    while (!unsent_.empty() && !is_blocked_) {
      std::vector<std::string_view> pieces;
      const std::string_view all = unsent_;
      for (std::size_t at = 0; at < all.size() && pieces.size() < Transport::kPiecesMax;
           at += piece_) {
        pieces.push_back(all.substr(at, piece_));
      }
      const Transfer transfer = transport_->write(pieces);
      unsent_.erase(0, transfer.bytes);
      is_blocked_ = transfer.status == Status::would_block;
      if (transfer.status == Status::failed) {
        unsent_.clear();
      }
    }
    update_watch();
  }

  void update_watch() {
    const bool reads = reads_ && !has_ended_ && !has_failed_;
    transport_->watch(reads ? (is_blocked_ ? Interest::both : Interest::read)
                            : (is_blocked_ ? Interest::write : Interest::none));
  }

  Transport* transport_ = nullptr;
  std::string unsent_;
  std::string received_;
  std::size_t read_most_ = std::size_t{192} * 1024;
  std::size_t piece_ = 5000;
  std::size_t read_calls_ = 0;
  int hang_ups_ = 0;
  bool reads_ = true;
  bool is_up_ = false;
  bool is_blocked_ = false;
  bool has_ended_ = false;
  bool has_failed_ = false;
};

// Certificates of one authority, and what both ends make of them.
class TlsFiles {
 public:
  TlsFiles() { harness::write_certificates(folder_.path()); }

  std::string operator/(const std::string& name) const { return (folder_ / name).string(); }
  void add(const std::string& name, const harness::Certificate& made) const {
    harness::write_whole_file(folder_ / (name + ".crt"), made.certificate);
    harness::write_whole_file(folder_ / (name + ".key"), made.key);
  }

  config::ListenTls listen() const {
    return {.cert = *this / "server.crt", .key = *this / "server.key", .client_ca = {}};
  }
  config::UpstreamTls upstream() const {
    return {.ca = *this / "ca.crt", .cert = {}, .key = {}, .server_name = "localhost"};
  }
  static std::shared_ptr<const TlsCredentials> of(const config::ListenTls& settings) {
    return TlsCredentials::load(settings).value();
  }
  static std::shared_ptr<const TlsCredentials> of(const config::UpstreamTls& settings) {
    return TlsCredentials::load(settings).value();
  }

 private:
  harness::TemporaryDirectory folder_;
};

}  // namespace cuckooguard::io
