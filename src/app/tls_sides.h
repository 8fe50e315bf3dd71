// TLS with clients and with Redis: loaded at the start, at a reload, and whenever its files have
// changed (as when an ACME client renews a certificate).
//
//   every kLookEvery: look() ──▶ thread: stat, and if they differ read ──▶ new connections get them
//
// Files that do not match (only one of two has been replaced so far) change nothing; they are read
// again after the next change. The log warns before a certificate expires: with a fifth of its life
// left (7 days at most), a twentieth (1 day at most), and at its end.
//
// Threads: load() from one at a time; the rest from any. Files are read by load(), and by a thread
// that may hang with their mount. Lifetimes: outlives the loops, transports and control connections
// that use it; the log outlives it.
// Errors: load() returns what is wrong with which setting, and has changed nothing then; look()
// logs it. Failed handshakes are logged, at a limited rate (event_log.h).
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

#include <boost/core/noncopyable.hpp>

#include "config/config.h"
#include "io/asio_loop.h"
#include "io/blocking_thread.h"
#include "io/tls_credentials.h"
#include "io/tls_transport.h"
#include "log/event_log.h"
#include "source/input_file.h"
#include "views/process_state.h"

namespace cuckooguard::app {

class TlsSides : boost::noncopyable {
 public:
  static constexpr std::chrono::seconds kLookEvery{10};

  explicit TlsSides(log::EventLog& log);

  // Reads the files. Existing connections keep their credentials; new ones get these, or no TLS if
  // `config` has none. Errors, one sentence each: nothing has changed.
  [[nodiscard]] std::vector<std::string> load(const config::Config& config);

  // Does not block; no effect while an earlier look hangs.
  void look();
  // Waits this long for the look to end; false if it has not.
  bool finish(std::chrono::milliseconds patience) { return thread_.finish(patience); }

  // Those in use, each file once.
  std::vector<views::Certificate> certificates() const;

  // Keeps OpenSSL from cleaning up at exit, as a thread stuck on a hanging mount may still use it.
  // Call it before anything else of OpenSSL.
  static void keep_library_at_exit();

  // Before the loop runs: its connects are to Redis.
  void encrypt_connects(io::AsioLoop& loop) const;
  const io::TlsSlot& upstream() const { return upstream_; }

  // A client that has connected to this entry of `listen`; on the loop's thread.
  std::unique_ptr<io::Transport> accepted(io::Loop& loop,
                                          std::unique_ptr<io::Transport> client,
                                          std::size_t listen) const;

 private:
  // One section of the configuration and the credentials read for it.
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
