// TLS as it is spoken with clients and with Redis: loaded at the start, again at a reload, and when
// its files have changed (an ACME client renews certificates without asking anybody).
//
//   every kLookEvery: look() ──▶ thread: stat, and if they differ read ──▶ new connections get them
//
// What is read and does not fit together (one file of two has been replaced so far) changes
// nothing; it is read again when it has changed once more. The log warns before a certificate ends:
// when a fifth of its life is left, 7 days at most; a twentieth, 1 day at most; nothing.
//
// Threads: load() from one at a time; the rest from any. Files are read by load(), and by a thread
// that may hang with their mount. Lifetimes: outlives the loops, transports and the control
// connection that it is given to; the log outlives it.
// Errors: load() says what is wrong with which setting, and then nothing has changed; of look() the
// log does. Handshakes that fail are logged, which limits how often (event_log.h).
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <expected>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "config/config.h"
#include "io/asio_loop.h"
#include "io/blocking_thread.h"
#include "io/tls_credentials.h"
#include "io/tls_transport.h"
#include "log/event_log.h"
#include "source/file_stamp.h"
#include "views/process_state.h"

namespace cuckooguard::app {

class TlsSides {
 public:
  static constexpr std::chrono::seconds kLookEvery{10};

  explicit TlsSides(log::EventLog& log);
  TlsSides(const TlsSides&) = delete;
  TlsSides& operator=(const TlsSides&) = delete;
  ~TlsSides() = default;

  // Reads the files. Connections that there are keep what they have; those to come get what is read
  // here, or no TLS if `config` has none. Errors, one sentence each: nothing has changed.
  [[nodiscard]] std::vector<std::string> load(const config::Config& config);

  // Does not block, and has no effect while a look before hangs.
  void look();
  // Whether that is done, waiting for it at most this long.
  bool finish(std::chrono::milliseconds patience) { return thread_.finish(patience); }

  // In use, each file once.
  std::vector<views::Certificate> certificates() const;

  // OpenSSL does not clean up when the process ends: a thread that a file on a mount that hangs has
  // left behind may still be within it. Before anything else of OpenSSL.
  static void keep_library_at_exit();

  // Before the loop runs: its connects are to Redis.
  void encrypt_connects(io::AsioLoop& loop) const;
  const io::TlsSlot& upstream() const { return upstream_; }

  // A client that has connected to `listen`'s entry of this number; within the loop's thread.
  std::unique_ptr<io::Transport> accepted(io::Loop& loop,
                                          std::unique_ptr<io::Transport> client,
                                          std::size_t listen) const;

 private:
  // What one section of the configuration says, and what has been read of it.
  struct Side {
    std::string setting;
    std::size_t slot = 0;  // of clients_; their number: upstream_
    std::string certificate;
    std::vector<std::string> files;
    std::function<io::TlsCredentials::Loaded()> read;
    std::vector<std::expected<source::FileStamp, std::string>> stamps;  // before it was read
    std::shared_ptr<const io::TlsCredentials> credentials;
    bool is_read_again = false;  // by a look
    std::string error;           // of that; empty: there are new credentials
  };
  struct Look {
    std::uint64_t load = 0;
    std::vector<Side> sides;
  };

  static std::vector<Side> sides_of(const config::Config& config);
  static std::string read(Side& side);  // an error, or nothing
  void take(const Look& look);
  // With `mutex_`:
  io::TlsSlot& slot(std::size_t number);
  void warn_of(const Side& side);
  void warn_of_ends();

  log::EventLog& log_;
  std::deque<io::TlsSlot> clients_;  // as config::Config::listen, whose size stays
  io::TlsSlot upstream_;
  io::TlsTransport::OnFailure on_client_failure_;
  io::TlsTransport::OnFailure on_upstream_failure_;
  mutable std::mutex mutex_;  // of all below
  std::uint64_t loads_ = 0;
  std::vector<Side> sides_;
  struct Warned {
    std::chrono::sys_seconds until;
    std::ptrdiff_t steps = 0;
  };
  std::map<std::string, Warned> warned_;                 // by the certificate's file
  io::BlockingThread thread_{{.name = "certificates"}};  // ends first
};

}  // namespace cuckooguard::app
