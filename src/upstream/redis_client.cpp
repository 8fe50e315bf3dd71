#include "upstream/redis_client.h"

#include <algorithm>
#include <new>

#include "config/password_file.h"
#include "resp/reply_writer.h"

namespace cuckooguard::upstream {
namespace {

using std::chrono::milliseconds;

constexpr const char* kDefaultUser = "default";
constexpr const char* kIsEnding = "the guard is shutting down";

std::string in_words(milliseconds duration) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(duration);
  return seconds == duration ? std::to_string(seconds.count()) + " s"
                             : std::to_string(duration.count()) + " ms";
}

}  // namespace

RedisClient::RedisClient(io::AsioLoop& loop,
                         const config::Upstream& settings,
                         milliseconds patience)
    : loop_(loop), patience_(patience), reader_(redisReaderCreate()) {
  Connection::Owner& owner = *this;
  connection_ = std::make_unique<Connection>(loop, settings, owner);
}

// A flush may be queued.
RedisClient::~RedisClient() {
  connection_->close();
  loop_.dispose(std::move(connection_));
}

RedisClient::Opened RedisClient::open(io::AsioLoop& loop,
                                      const config::Upstream& settings,
                                      milliseconds patience,
                                      Login login) {
  std::unique_ptr<RedisClient> client(new RedisClient(loop, settings, patience));
  auto up = client->come_up(settings.control, login);
  return up ? Opened(std::move(client)) : std::unexpected(std::move(up.error()));
}

RedisClient::Opened RedisClient::open(const io::TlsSlot* tls,
                                      const config::Upstream& settings,
                                      milliseconds patience,
                                      Login login) {
  auto loop = std::make_unique<io::AsioLoop>(io::BatchHooks{}, tls);
  Opened opened = open(*loop, settings, patience, login);
  if (opened) {
    (*opened)->own_loop_ = std::move(loop);
  }
  return opened;
}

std::expected<void, RedisClient::Failure> RedisClient::come_up(const config::Control& control,
                                                               Login login) {
  while (!is_up_ && !is_lost_ && !loop_.is_stopped()) {
    loop_.run_one(loop_.now() + patience_);  // the connection has a deadline of its own
  }
  if (!is_up_ || is_lost_) {
    return std::unexpected(Failure{.why = is_lost_ ? why_ : kIsEnding});
  }
  const std::string password = login == Login::none
                                   ? std::string()
                                   : config::password_of(control.password_file, control.password);
  if (password.empty()) {
    return {};
  }
  const Reply reply =
      call({"AUTH", control.username.empty() ? kDefaultUser : control.username, password});
  if (reply && !is_error(*reply)) {
    return {};
  }
  return std::unexpected(Failure{.why = reply ? std::string(text_of(*reply)) : why_,
                                 .is_connected = true,
                                 .is_from_redis = reply != nullptr});
}

void RedisClient::send(Words words, OnReply on_reply) {
  if (is_lost_) {
    return;
  }
  std::string bytes;
  resp::append_command(bytes, words);
  connection_->send(bytes);
  expected_.push_back(std::move(on_reply));
}

void RedisClient::append(Words words) {
  send(words, [this](Reply reply) { replies_.push_back(std::move(reply)); });
}

Reply RedisClient::next() {
  io::TimePoint until = loop_.now() + patience_;
  while (replies_.empty() && !is_lost_) {
    loop_.run_one(until);
    until = std::max(until, read_at_ + patience_);
    if (loop_.is_stopped()) {
      give_up(kIsEnding);
    } else if (replies_.empty() && loop_.now() >= until) {
      has_timed_out_ = true;
      give_up("no reply within " + in_words(patience_));
    }
  }
  if (replies_.empty()) {
    return nullptr;
  }
  Reply reply = std::move(replies_.front());
  replies_.pop_front();
  return reply;
}

void RedisClient::give_up(std::string why) {
  if (!is_lost_) {
    is_lost_ = true;
    why_ = std::move(why);
    connection_->close();
  }
}

void RedisClient::on_upstream_lost() {
  give_up(connection_->why_lost());
}

void RedisClient::on_upstream_bytes(std::string_view bytes) {
  read_at_ = loop_.now();
  try {
    read(bytes);
  } catch (const std::bad_alloc&) {  // replies are missing
    give_up("out of memory");
  }
}

void RedisClient::read(std::string_view bytes) {
  unread_bytes_ += bytes.size();
  redisReaderFeed(reader_.get(), bytes.data(), bytes.size());
  void* raw = nullptr;
  while (!is_lost_ && redisReaderGetReply(reader_.get(), &raw) == REDIS_OK && raw != nullptr) {
    unread_bytes_ = 0;
    take(Reply(static_cast<redisReply*>(std::exchange(raw, nullptr))));
  }
  if (reader_->err != 0) {
    give_up(&reader_->errstr[0]);
  } else if (unread_bytes_ > kReplyBytesMax) {
    give_up("the reply is too long");
  }
}

void RedisClient::take(Reply reply) {
  if (!expected_.empty()) {
    const OnReply on_reply = std::move(expected_.front());
    expected_.pop_front();
    on_reply(std::move(reply));
  } else if (on_message_) {
    on_message_();
  } else {
    give_up(is_error(*reply) ? std::string(text_of(*reply)) : "Redis sent an unexpected message");
  }
}

// hiredis has bounded the depth.
resp::Value value_of(const redisReply& reply) {  // NOLINT(misc-no-recursion)
  using Kind = resp::Value::Kind;
  switch (reply.type) {
    case REDIS_REPLY_INTEGER:
      return {.kind = Kind::number, .number = reply.integer};
    case REDIS_REPLY_ERROR:
      return {.kind = Kind::error, .text = std::string(text_of(reply))};
    case REDIS_REPLY_STRING:
    case REDIS_REPLY_STATUS:
      return {.kind = Kind::text, .text = std::string(text_of(reply))};
    case REDIS_REPLY_ARRAY:
      break;
    default:
      return {};
  }
  resp::Value list{.kind = Kind::list};
  for (const redisReply* const element : elements_of(reply)) {
    list.list.push_back(value_of(*element));
  }
  return list;
}

}  // namespace cuckooguard::upstream
