#include "frameworks/guarded_cache.h"

#include <utility>

#include <gtest/gtest.h>

#include "harness/configuration.h"
#include "harness/deadline.h"
#include "harness/redis_command.h"

namespace cuckooguard::harness {
namespace {

std::string value_of(const std::string& bulk_reply) {
  const std::size_t begin = bulk_reply.find("\r\n") + 2;
  return bulk_reply.substr(begin, bulk_reply.size() - begin - 2);
}

}  // namespace

GuardedCache::GuardedCache(const Users& users,
                           std::string keys,
                           const std::string& absent_reply,
                           const std::string& overlay)
    : keys_(std::move(keys)), guard_(GuardProcess::on_port(yaml(users, absent_reply, overlay))) {
  EXPECT_TRUE(eventually([this] { return answers_absent(kFirstAbsent); })) << guard_.log();
}

std::string GuardedCache::yaml(const Users& users,
                               const std::string& absent_reply,
                               const std::string& overlay) const {
  return Configuration{.upstream = redis_.address(),
                       .source = users.guard_source,
                       .namespaces = Guarded{.keys = key("{id:uint64}"),
                                             .table = "user, columns: { id: id }",
                                             .fresh_ids = "",
                                             .overlay = overlay,
                                             .absent_reply = absent_reply}
                                         .yaml()}
      .yaml();
}

std::string GuardedCache::key(const std::string& id) const {
  constexpr std::string_view kPlaceholder = "{id}";
  std::string key = keys_;
  return key.replace(key.find(kPlaceholder), kPlaceholder.size(), id);
}

std::vector<std::uint64_t> GuardedCache::absent_ids(std::size_t count) const {
  RawClient client = guard_.client();
  std::vector<std::uint64_t> ids;
  for (std::uint64_t id = kFirstAbsent; ids.size() < count; ++id) {
    if (client.call({"GUARD.CHECK", key(id)}) == "*1\r\n:0\r\n") {
      ids.push_back(id);
    }
  }
  return ids;
}

bool GuardedCache::answers_absent(std::uint64_t id) const {
  const std::uint64_t before = redis_.calls("get");
  guard_.call({"GET", key(id)});
  return redis_.calls("get") == before;
}

std::string GuardedCache::absent_bytes() const {
  return value_of(guard_.call({"GET", key(kFirstAbsent)}));
}

std::string GuardedCache::in_redis(std::uint64_t id) const {
  return value_of(redis_.call({"GET", key(id)}));
}

void GuardedCache::set(std::uint64_t id, std::string_view value) const {
  EXPECT_EQ(guard_.call({"SET", key(id), value}), kOk);
}

}  // namespace cuckooguard::harness
