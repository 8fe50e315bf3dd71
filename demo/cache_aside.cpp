#include "cache_aside.h"

#include <stdexcept>

namespace cuckooguard::demo {
namespace {

void check(const std::string& name, std::uint64_t id) {
  if (name != user_name(id)) {
    throw std::runtime_error("user " + std::to_string(id) + " came back as \"" + name + "\"");
  }
}

}  // namespace

Answer CacheAside::look_up(std::uint64_t id) {
  key_ = "user:" + std::to_string(id);
  if (const auto cached = cache_->get(key_)) {
    if (*cached == kAbsentReply) {
      return Answer::declared_absent;
    }
    check(*cached, id);
    return Answer::in_cache;
  }
  const auto name = database_->name_of(id);
  if (!name) {
    return Answer::not_in_database;
  }
  check(*name, id);
  cache_->set(key_, *name, kTtlSeconds);
  return Answer::in_database;
}

}  // namespace cuckooguard::demo
