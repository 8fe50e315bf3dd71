#include "application.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "harness/interrupt.h"

namespace cuckooguard::demo {
namespace {

using harness::Interrupt;

void check(const std::string& content, const Item& item) {
  if (content != item.content()) {
    throw std::runtime_error(item.key() + " came back as \"" + content + "\"");
  }
}

}  // namespace

// Of one connection, for one query.
class ConnectionPool::Lease {
 public:
  explicit Lease(ConnectionPool& pool) : pool_(pool) {
    std::unique_lock lock(pool_.mutex_);
    pool_.most_at_once_ = std::max(pool_.most_at_once_, ++pool_.at_once_);
    if (!pool_.is_free_.wait_for(lock, kPatience, [this] { return !pool_.free_.empty(); })) {
      --pool_.at_once_;
      throw Unavailable("no connection to the database is free");
    }
    connection_ = std::move(pool_.free_.back());
    pool_.free_.pop_back();
    until_ = Interrupt::Clock::now() + pool_.query_time_;
  }
  ~Lease() {
    Interrupt::wait_until(until_);
    {
      const std::scoped_lock lock(pool_.mutex_);
      pool_.free_.push_back(std::move(connection_));
      --pool_.at_once_;
    }
    pool_.is_free_.notify_one();
  }
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;

  ShopConnection* operator->() const { return connection_.get(); }

 private:
  ConnectionPool& pool_;
  std::unique_ptr<ShopConnection> connection_;
  Interrupt::Clock::time_point until_;
};

ConnectionPool::ConnectionPool(const ShopDatabase& database, std::chrono::milliseconds query_time)
    : query_time_(query_time) {
  for (std::size_t i = 0; i < kConnections; ++i) {
    free_.push_back(database.connect());
  }
}

std::optional<std::string> ConnectionPool::find(const Item& item) {
  return Lease(*this)->find(item);
}

void ConnectionPool::insert(const Item& item) {
  Lease(*this)->insert(item);
}

std::size_t ConnectionPool::most_at_once() {
  const std::scoped_lock lock(mutex_);
  return most_at_once_;
}

Answer Application::look_up(const Item& item) {
  const std::string key = item.key();
  if (const auto cached = cache_->get(key)) {
    if (*cached == kAbsentReply) {
      return Answer::absent;
    }
    check(*cached, item);
    return Answer::found;
  }
  ++queries_;
  const auto content = pool_.find(item);
  if (!content) {
    cache_->set(key, kAbsentReply, kAbsentTtlSeconds);
    return Answer::absent_in_database;
  }
  check(*content, item);
  cache_->set(key, *content, kTtlSeconds);
  return Answer::found;
}

}  // namespace cuckooguard::demo
