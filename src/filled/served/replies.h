// What is written of changes of filters, in RedisBloom's words, when they are done.
//
// Threads: a reply is its worker's. Lifetimes: the counts outlive it. Errors: RedisBloom's, as
// replies. Limits: the change's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "filled/store.h"
#include "guard/promised_reply.h"
#include "resp/version.h"
#include "served/filled.h"

namespace cuckooguard::guard {
namespace filled_reply {

inline constexpr std::string_view kWrongKind =
    "WRONGTYPE Operation against a key holding the wrong kind of value";
inline constexpr std::string_view kNotFound = "ERR not found";
inline constexpr std::string_view kExists = "ERR item exists";
inline constexpr std::string_view kBadData = "ERR received bad data";

// Why a piece of a dump cannot go into the filter that is there.
std::string_view refusal_of_piece(filled::Kind kind, std::int64_t piece, std::size_t bytes);

// BF.DEBUG and CF.DEBUG: in RedisBloom's form, of the guard's layers, each of which has two places
// for an item.
void append_debug(std::string& out, const filled::FilledFilter& filter);

using Write = void (*)(std::string& out, const filled::Change& change, resp::Version version);

void of_add(std::string& out, const filled::Change& change, resp::Version version);
void of_add_each(std::string& out, const filled::Change& change, resp::Version version);
void of_set_add(std::string& out, const filled::Change& change, resp::Version version);
void of_erase(std::string& out, const filled::Change& change, resp::Version version);
void of_count(std::string& out, const filled::Change& change, resp::Version version);
void of_create(std::string& out, const filled::Change& change, resp::Version version);
void of_load(std::string& out, const filled::Change& change, resp::Version version);
void of_key(std::string& out, const filled::Change& change, resp::Version version);

}  // namespace filled_reply

// What several changes come to: "OK", or how many keys there were, `count` of them elsewhere.
class SeveralReply final : public PromisedReply {
 public:
  using Changes = std::vector<std::shared_ptr<filled::Change>>;

  SeveralReply(Changes changes, std::optional<std::int64_t> count, FilledCounts& counts)
      : changes_(std::move(changes)), count_(count), counts_(counts) {}

  std::size_t bytes() const override;
  void await(std::shared_ptr<KnownReplies> known, void* waiter) override;
  bool is_known() const noexcept override;
  void append_to(std::string& out) const override;

 private:
  Changes changes_;
  std::optional<std::int64_t> count_;
  FilledCounts& counts_;
};

// The reply to a change; what is written of it is known when it is done.
class FilledReply final : public PromisedReply {
 public:
  using Write = filled_reply::Write;

  FilledReply(std::shared_ptr<filled::Change> change,
              Write write,
              resp::Version version,
              FilledCounts& counts)
      : change_(std::move(change)), write_(write), version_(version), counts_(counts) {}

  std::size_t bytes() const override {
    const filled::Operation& operation = change_->operation();
    return sizeof(filled::Change) + operation.bytes() +
           operation.hashes.size() * sizeof(filled::ItemOutcome);
  }
  void await(std::shared_ptr<KnownReplies> known, void* waiter) override {
    change_->await([known = std::move(known)](auto& done) { known->add(done); }, waiter);
  }
  bool is_known() const noexcept override { return change_->is_done(); }
  void append_to(std::string& out) const override {
    counts_.add(*change_);
    write_(out, *change_, version_);
  }

 private:
  std::shared_ptr<filled::Change> change_;
  Write write_;
  resp::Version version_;
  FilledCounts& counts_;
};

}  // namespace cuckooguard::guard
