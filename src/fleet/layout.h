// Where a fleet is kept in Redis, and what is done there atomically.
//
//   {P}:meta      epoch, and number and tag of the last entry
//   {P}:log       a stream of entries, each with the id <number>-0
//   {P}:manifest  what followers begin with (chain.h)
//   {P}:asks      a hash: of each follower its question, and how far it is (replica.h)
//   {P}:answers   a hash: of each follower the answer to one of them
//   {P}:wake      a stream of one entry: a follower does not wait for the builder's next tick
//   {P}:piece:<snapshot>:<i>
//                 of a snapshot; those that the manifest names stay, others go by themselves
//
// Nothing that is read here is believed but for signatures. Each script changes nothing, and says
// so, when its arguments no longer hold. Scripts are sent as they are, by EVAL.
//
// Threads: plain values.
// Source: https://redis.io/docs/latest/develop/interact/programmability/eval-intro.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "resp/value.h"

namespace cuckooguard::fleet {

inline constexpr std::uint64_t kPieceBytes = std::uint64_t{1} << 20U;
constexpr std::uint64_t pieces_in(std::uint64_t bytes) {
  return (bytes + kPieceBytes - 1) / kPieceBytes;
}

struct Keys {
  Keys(std::string_view prefix, std::string_view name);

  std::string piece(std::string_view snapshot, std::uint64_t number) const;

  std::string meta;
  std::string log;
  std::string manifest;
  std::string asks;
  std::string answers;
  std::string wake;

 private:
  std::string root_;
};

inline std::string id_of(std::uint64_t seq) {
  return std::to_string(seq) + "-0";
}
// Of a reply of Redis: what it has refused is an error, too.
std::expected<resp::Value, std::string> accepted(std::expected<resp::Value, std::string> reply);
// The entries of a stream, of XRANGE or of one stream of XREAD; empty: it is none. Views into it.
std::vector<std::string_view> entries_of(const resp::Value& stream);
// Of a reply of XREAD to one stream, the last entry's.
std::string last_id_of(const resp::Value& read);
// What a Redis may evict keys by, as INFO memory says; empty: it evicts none, or does not say.
std::string eviction_policy(std::string_view info);
// From the kernel's generator; filter::kSecretBytes at most.
std::string random_bytes(std::size_t count);
// Of this process: the host's, the pod's say, and that of one of several there.
std::string name_of_process();

// What Redis says that there is; nothing of a log that is not there.
struct Meta {
  std::string epoch;
  std::string seq;
  std::string tag;

  Meta() = default;
  explicit Meta(const resp::Value& reply);
  Meta(std::string its_epoch, std::string its_seq, std::string its_tag)
      : epoch(std::move(its_epoch)), seq(std::move(its_seq)), tag(std::move(its_tag)) {}
  std::uint64_t epoch_number() const;
  std::uint64_t seq_number() const;
  bool operator==(const Meta&) const = default;
};

// All say {epoch, seq, tag}, as it is then.
// KEYS meta log; ARGV epoch, seq and tag of the entry before, its own tag, its bytes, its seq.
std::string_view append_script();
// KEYS meta log manifest; ARGV epoch, seq and tag as they were seen (empty: none was), then the new
// ones. A new log begins.
std::string_view begin_script();
// KEYS meta; ARGV epoch, seq and tag as they were seen, and the new epoch.
std::string_view take_over_script();
// KEYS meta log manifest; ARGV epoch, the manifest, up to where the log goes.
std::string_view manifest_script();

// Which tables there are.
struct TableList {
  struct Namespace {
    std::string name;
    std::string definition;  // of its keys and rows: a follower's must be the same
    bool is_complete = false;
    std::vector<std::string> tables{};
  };
  std::string builder{};       // for people
  std::string kind;            // of its source
  bool serves_strict = false;  // its database is asked, and no replica of it
  std::vector<Namespace> namespaces;

  const Namespace* find(std::string_view name) const;
};
std::string text_of(const TableList& list);
std::optional<TableList> read_list(std::string_view text);

}  // namespace cuckooguard::fleet
