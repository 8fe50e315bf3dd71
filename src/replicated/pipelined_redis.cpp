#include <utility>

#include <fcntl.h>
#include <poll.h>

#include "io/clock.h"
#include "replicated/filter_log.h"
#include "upstream/redis_words.h"

namespace cuckooguard::replicated {

using upstream::RedisWords;

namespace {

constexpr int kReadsMax = 256;  // of hiredis's 16 KiB, before others have their turn

bool has_something(int descriptor) {
  pollfd watched{.fd = descriptor, .events = POLLIN, .revents = 0};
  return ::poll(&watched, 1, 0) > 0;
}

}  // namespace

PipelinedRedis::PipelinedRedis(RedisConnector::Redis redis) : redis_(std::move(redis)) {
  redis_->flags &= ~REDIS_BLOCK;
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-vararg): POSIX
  ::fcntl(redis_->fd, F_SETFL, ::fcntl(redis_->fd, F_GETFL) | O_NONBLOCK);
}

void PipelinedRedis::send(std::span<const std::string_view> words, OnReply on_reply) {
  if (!RedisWords(words).append_to(*redis_)) {
    lose();
    return;
  }
  expected_.push_back(std::move(on_reply));
  has_to_write_ = true;
}

int PipelinedRedis::descriptor() const {
  return redis_->fd;
}

void PipelinedRedis::write() {
  int is_done = 0;
  if (redisBufferWrite(redis_.get(), &is_done) != REDIS_OK) {
    lose();
  }
  has_to_write_ = is_done == 0;
}

void PipelinedRedis::read() {
  for (int i = 0; i < kReadsMax && !is_lost() && has_something(redis_->fd); ++i) {
    read_at_ = io::now_since_boot();
    if (redisBufferRead(redis_.get()) != REDIS_OK) {
      lose();
    }
    void* raw = nullptr;
    while (redisGetReplyFromReader(redis_.get(), &raw) == REDIS_OK && raw != nullptr) {
      Reply reply(static_cast<redisReply*>(std::exchange(raw, nullptr)));
      if (!expected_.empty()) {
        const OnReply on_reply = std::move(expected_.front());
        expected_.pop_front();
        on_reply(std::move(reply));
      }
    }
    if (redis_->err != 0) {
      lose();
    }
  }
}

void PipelinedRedis::lose() {
  if (error_.empty()) {
    error_ = redis_->errstr[0] != '\0' ? redis_->errstr : "out of memory";
  }
}

}  // namespace cuckooguard::replicated
