// A ReplyOrder with what it writes to and whom it tells.
#pragma once

#include <array>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "proxy/reply_order.h"
#include "testing/every_split.h"

namespace cuckooguard::proxy {

using testing::expect_same_at_every_split;
using testing::Pieces;

inline constexpr const char* kNilReply = "$-1\r\n";

struct Chain final : ReplyOrder::Owner {
  void on_redis_error(std::string_view first_bytes) override { errors.emplace_back(first_bytes); }
  bool may_replace(const guard::AbsentKeyReply& reply) override {
    return proven.contains(reply.key);
  }
  // As "key=reply", "key=reply..." of one that is longer than what is kept, "key!" of an error.
  void on_absent_key_reply(const guard::AbsentKeyReply& reply) override {
    compared.push_back(
        std::string(reply.key) +
        (reply.is_error ? "!" : "=" + std::string(reply.reply) + (reply.is_whole ? "" : "...")));
  }

  std::string relay(Pieces pieces) {
    for (const std::string_view piece : pieces) {
      if (!order.relay(piece)) {
        return sent() + " MALFORMED";
      }
    }
    return sent();
  }

  std::string sent() const {
    std::array<std::string_view, 64> pieces;
    std::string all;
    for (const std::string_view piece : output.front(pieces)) {
      all.append(piece);
    }
    return all;
  }

  io::ChunkPool pool;
  io::OutputQueue output{pool};
  guard::Client state;
  ReplyOrder order{output, state, *this};
  std::vector<std::string> errors;
  std::vector<std::string> compared;
  std::set<std::string, std::less<>> proven{};  // keys whose proof has come
};

// What the client gets for Redis's bytes, at every cut of them.
inline std::string relayed(std::string_view from_redis,
                           const std::function<void(ReplyOrder&)>& expect) {
  return expect_same_at_every_split(from_redis, [&expect](Pieces pieces) {
    Chain chain;
    expect(chain.order);
    return chain.relay(pieces);
  });
}

inline redis::StateChange hello3() {
  return {.kind = redis::ChangeKind::hello, .version = resp::Version::resp3};
}

}  // namespace cuckooguard::proxy
