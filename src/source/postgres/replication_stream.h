// A session in which PostgreSQL sends its log through a slot, as pgoutput's messages.
//
//   next() ◀── messages, keepalives        ──▶ what has been received, and what need not be kept
//
// The server says how far it has sent when it is asked (ask()), or every so often by itself. It
// keeps its log from confirm()'s place on: for as long as nothing is confirmed, all of it.
//
// A server that is shut down waits until all that it has logged is confirmed: it asks for word over
// and over. That is never to be had, since the last transaction is to come again: whoever is asked
// so ends the stream, and the server goes.
//
// Threads: the source's, but ask() and confirm(): any, while it lives. Lifetimes: an event is valid
// until the next call. Errors: PostgresError. Limits: nothing is heard for
// PostgresLogin::timeout although it was asked: the server is lost.
// Source: PostgreSQL's documentation, 55.4 (streaming replication protocol); walsender.c,
// WalSndDone().
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "pgoutput/lsn.h"
#include "postgres/connection.h"
#include "postgres/log.h"
#include "source/source.h"

namespace cuckooguard::source {

class ReplicationStream {
 public:
  struct Settings {
    std::string slot;
    std::string publication;
    PostgresPosition from;
    Clock clock;
    std::chrono::nanoseconds timeout;  // to hear something, once it is asked
  };
  static constexpr std::chrono::seconds kStatusEvery{1};
  // Requests for word within kStatusEvery by which a server is known that shuts down.
  static constexpr int kRequestsMax = 5;

  // Messages of one transaction beyond which there is time until its end.
  static constexpr std::uint64_t kFewMessages = 64;

  // Takes the session over: it can do nothing else from now on.
  static std::expected<ReplicationStream, PostgresError> begin(PostgresConnection replication,
                                                               Settings settings);

  // Nothing: none has come within `wait`.
  std::expected<std::optional<PostgresEvent>, PostgresError> next(std::chrono::milliseconds wait);

  // The server is to say how far it has sent.
  void ask() const;
  // What is before this need not be kept.
  void confirm(PostgresPosition position) const;
  // Says so to the server, without waiting for the next time.
  std::expected<void, PostgresError> tell();

 private:
  struct Shared {
    std::atomic<bool> is_asked{false};
    std::atomic<std::uint64_t> confirmed{0};
  };

  ReplicationStream(PostgresConnection session, Settings settings)
      : session_(std::move(session)),
        settings_(std::move(settings)),
        heard_at_(settings_.clock()),
        told_at_(heard_at_),
        requests_since_(heard_at_) {}

  std::expected<void, PostgresError> tell_in_time();
  std::expected<void, PostgresError> send_status(bool asks);
  std::expected<std::optional<PostgresEvent>, PostgresError> on_keepalive(pgoutput::Lsn end,
                                                                          bool wants_word);

  PostgresConnection session_;
  Settings settings_;
  std::unique_ptr<Shared> shared_ = std::make_unique<Shared>();
  pgoutput::Lsn received_{};
  std::uint64_t messages_ = 0;  // since a transaction's end
  TimePoint heard_at_;
  TimePoint told_at_;
  bool is_waiting_ = false;  // for an answer
  TimePoint requests_since_;
  int requests_ = 0;
};

// The slot, or what it should still have, is not there: all is to be read anew.
bool is_position_gone(const PostgresError& error);

}  // namespace cuckooguard::source
