#include <algorithm>
#include <array>
#include <string_view>

#include "pgoutput/message.h"
#include "postgres/log_follower.h"
#include "text/try.h"
#include "text/words.h"

namespace cuckooguard::source::postgres {
namespace {

using namespace std::chrono_literals;

constexpr std::array<std::string_view, 3> kGone = {
    "42704",   // undefined_object: there is no such slot
    "55000",   // object_not_in_prerequisite_state: it was invalidated
    "58P01"};  // undefined_file: what it needs was removed

// From there on a transaction with nothing but a message of ours is sent only if messages are.
constexpr int kLeavesOutEmpty = 150000;

constexpr char kCommit = 'C';  // what such a message begins with
constexpr char kMessage = 'M';

}  // namespace

bool is_position_gone(const Error& error) {
  return std::ranges::find(kGone, error.state) != kGone.end();
}

Expected<LogStream> LogStream::begin(Connection replication, Settings settings) {
  const std::string command =
      "START_REPLICATION SLOT " + quoted_name(settings.slot) + " LOGICAL " +
      settings.from.lsn().text() + " (proto_version '1', publication_names " +
      // Of a replication command, in which a backslash is a letter like others.
      text::quoted(quoted_name(settings.publication), '\'') +
      (replication.server_version() >= kLeavesOutEmpty ? ", messages 'true')" : ")");
  TRY(replication.start_stream(command));
  return LogStream(std::move(replication), std::move(settings));
}

void LogStream::ask() const {
  if (!shared_->is_asked.exchange(true)) {
    session_.wake();
  }
}

void LogStream::confirm(LogPosition position) const {
  shared_->confirmed.store(position.lsn().value, std::memory_order_relaxed);
}

Done LogStream::tell() {
  return send_status(false);
}

Done LogStream::send_status(bool asks) {
  const pgoutput::Lsn confirmed{shared_->confirmed.load(std::memory_order_relaxed)};
  told_at_ = settings_.clock();
  const auto status = pgoutput::encode({.written = received_,
                                        .flushed = confirmed,
                                        .applied = confirmed,
                                        .clock = {},  // nobody reads it
                                        .reply_requested = asks});
  return session_.send(std::string_view(status.data(), status.size()));
}

Done LogStream::tell_in_time() {
  const TimePoint now = settings_.clock();
  const bool is_asked = shared_->is_asked.exchange(false);
  if (!is_asked && now - told_at_ < kStatusEvery) {
    return {};
  }
  if (!is_waiting_) {
    heard_at_ = now;  // silence counts from the question on
  } else if (now - heard_at_ > settings_.timeout) {
    return std::unexpected(Error{.state = {},
                                 .what = "the server does not respond on the replication stream",
                                 .is_connection_gone = true});
  }
  is_waiting_ = true;
  return send_status(true);
}

Expected<std::optional<LogEvent>> LogStream::next(std::chrono::milliseconds wait) {
  TRY(tell_in_time());
  const auto message = TRY(session_.message(wait, messages_ > kFewMessages));
  const std::optional<std::string_view>& bytes = message;
  if (!bytes) {
    return std::nullopt;
  }
  heard_at_ = settings_.clock();
  is_waiting_ = false;
  const auto decoded = pgoutput::decode_replication_message(*bytes);
  if (!decoded) {
    return failed("a message of the stream: " + pgoutput::describe(decoded.error()));
  }
  if (const auto* const keepalive = std::get_if<pgoutput::PrimaryKeepalive>(&*decoded)) {
    return on_keepalive(keepalive->server_end, keepalive->reply_requested);
  }
  const auto& data = std::get<pgoutput::WalMessage>(*decoded);
  received_ = std::max(received_, data.start);
  if (data.payload.starts_with(kCommit)) {
    messages_ = 0;
  } else if (!data.payload.starts_with(kMessage)) {  // which may stand between transactions
    ++messages_;
  }
  return LogEvent{.message = data.payload, .end = data.start};
}

Expected<std::optional<LogEvent>> LogStream::on_keepalive(pgoutput::Lsn end, bool wants_word) {
  received_ = std::max(received_, end);
  if (wants_word) {
    if (heard_at_ - requests_since_ > kStatusEvery) {
      requests_since_ = heard_at_;
      requests_ = 0;
    }
    if (++requests_ > kRequestsMax) {
      return std::unexpected(
          Error{.state = {}, .what = "the server is shutting down", .is_connection_gone = true});
    }
    TRY(send_status(false));
  }
  return LogEvent{.message = {}, .end = end};
}

}  // namespace cuckooguard::source::postgres
