#include "fleet/layout.h"

#include <algorithm>
#include <array>

#include <unistd.h>

#include "filter/key_hash.h"
#include "text/hex.h"
#include "text/little_endian.h"
#include "text/number.h"

namespace cuckooguard::fleet {

using text::put;
using text::put_text;
using Cursor = text::LittleEndianCursor;

Keys::Keys(std::string_view prefix, std::string_view name)
    : root_("{" + std::string(prefix) + ":" + std::string(name) + "}") {
  meta = root_ + ":meta";
  log = root_ + ":log";
  manifest = root_ + ":manifest";
  asks = root_ + ":asks";
  answers = root_ + ":answers";
  wake = root_ + ":wake";
}

std::string Keys::piece(std::string_view snapshot, std::uint64_t number) const {
  return root_ + ":piece:" + std::string(snapshot) + ":" + std::to_string(number);
}

std::expected<resp::Value, std::string> accepted(std::expected<resp::Value, std::string> reply) {
  if (reply && reply->is_error()) {
    return std::unexpected(reply->text);
  }
  return reply;
}

std::vector<std::string_view> entries_of(const resp::Value& stream) {
  std::vector<std::string_view> entries;
  for (const resp::Value& each : stream.list) {
    const bool is_entry = each.list.size() == 2 && each.list[1].list.size() == 2;
    entries.push_back(is_entry ? std::string_view(each.list[1].list[1].text) : std::string_view());
  }
  return entries;
}

std::string last_id_of(const resp::Value& read) {
  const bool is_one =
      read.list.size() == 1 && read.list[0].list.size() == 2 && !read.list[0].list[1].list.empty();
  const resp::Value* const last = is_one ? &read.list[0].list[1].list.back() : nullptr;
  return last == nullptr || last->list.empty() ? std::string() : last->list[0].text;
}

std::string eviction_policy(std::string_view info) {
  constexpr std::string_view kPolicy = "\nmaxmemory_policy:";
  const std::size_t found = info.find(kPolicy);
  if (found == std::string_view::npos || info.contains("\nmaxmemory:0\r")) {
    return {};
  }
  const std::string_view rest = info.substr(found + kPolicy.size());
  const std::string_view policy = rest.substr(0, rest.find_first_of("\r\n"));
  return policy == "noeviction" ? std::string() : std::string(policy);
}

std::string random_bytes(std::size_t count) {
  const filter::HashSecret bytes = filter::random_secret();
  std::string out;
  for (std::size_t i = 0; i < count; ++i) {
    out += static_cast<char>(bytes.bytes.at(i));
  }
  return out;
}

std::string name_of_process() {
  std::array<char, 256> host{};
  if (::gethostname(host.data(), host.size() - 1) != 0) {
    host = {};
  }
  constexpr std::size_t kRandomBytes = 4;
  return std::string(host.data()) + "-" + text::hex_of(random_bytes(kRandomBytes));
}

Meta::Meta(const resp::Value& reply) {
  if (reply.list.size() == 3) {
    epoch = reply.list[0].text;
    seq = reply.list[1].text;
    tag = reply.list[2].text;
  }
}

std::uint64_t Meta::epoch_number() const {
  return text::number_of<std::uint64_t>(epoch).value_or(0);
}

std::uint64_t Meta::seq_number() const {
  return text::number_of<std::uint64_t>(seq).value_or(0);
}

std::string_view append_script() {
  return R"(local at = redis.call('HMGET', KEYS[1], 'epoch', 'seq', 'tag')
if at[1] == ARGV[1] and at[2] == ARGV[2] and at[3] == ARGV[3] then
  local added = redis.pcall('XADD', KEYS[2], ARGV[6] .. '-0', 'e', ARGV[5])
  if type(added) == 'table' and added.err then
    if string.find(added.err, 'smaller') then return {at[1], at[2], ''} end
    return added
  end
  redis.call('HSET', KEYS[1], 'seq', ARGV[6], 'tag', ARGV[4])
  return {at[1], ARGV[6], ARGV[4]}
end
return at)";
}

std::string_view begin_script() {
  return R"(local at = redis.call('HMGET', KEYS[1], 'epoch', 'seq', 'tag')
if (at[1] or '') == ARGV[1] and (at[2] or '') == ARGV[2] and (at[3] or '') == ARGV[3] then
  redis.call('DEL', KEYS[1], KEYS[2], KEYS[3])
  redis.call('HSET', KEYS[1], 'epoch', ARGV[4], 'seq', ARGV[5], 'tag', ARGV[6])
  return {ARGV[4], ARGV[5], ARGV[6]}
end
return at)";
}

std::string_view take_over_script() {
  return R"(local at = redis.call('HMGET', KEYS[1], 'epoch', 'seq', 'tag')
if at[1] == ARGV[1] and at[2] == ARGV[2] and at[3] == ARGV[3] then
  redis.call('HSET', KEYS[1], 'epoch', ARGV[4])
  return {ARGV[4], at[2], at[3]}
end
return at)";
}

std::string_view manifest_script() {
  return R"(local at = redis.call('HMGET', KEYS[1], 'epoch', 'seq', 'tag')
if at[1] == ARGV[1] then
  redis.call('SET', KEYS[3], ARGV[2])
  redis.call('XTRIM', KEYS[2], 'MINID', ARGV[3])
end
return at)";
}

const TableList::Namespace* TableList::find(std::string_view name) const {
  const auto found = std::ranges::find(namespaces, name, &Namespace::name);
  return found == namespaces.end() ? nullptr : &*found;
}

std::string text_of(const TableList& list) {
  std::string out;
  put_text(out, list.builder);
  put_text(out, list.kind);
  put(out, static_cast<std::uint8_t>(list.serves_strict));
  put(out, static_cast<std::uint32_t>(list.namespaces.size()));
  for (const TableList::Namespace& each : list.namespaces) {
    put_text(out, each.name);
    put_text(out, each.definition);
    put(out, static_cast<std::uint8_t>(each.is_complete));
    put(out, static_cast<std::uint32_t>(each.tables.size()));
    for (const std::string& table : each.tables) {
      put_text(out, table);
    }
  }
  return out;
}

std::optional<TableList> read_list(std::string_view text) {
  Cursor cursor(text);
  TableList list;
  list.builder = cursor.take_text();
  list.kind = cursor.take_text();
  list.serves_strict = cursor.take<std::uint8_t>() != 0;
  for (auto left = cursor.take<std::uint32_t>(); left > 0 && cursor.ok(); --left) {
    TableList::Namespace& each = list.namespaces.emplace_back();
    each.name = cursor.take_text();
    each.definition = cursor.take_text();
    each.is_complete = cursor.take<std::uint8_t>() != 0;
    for (auto tables = cursor.take<std::uint32_t>(); tables > 0 && cursor.ok(); --tables) {
      each.tables.emplace_back(cursor.take_text());
    }
  }
  return cursor.at_end() ? std::optional(std::move(list)) : std::nullopt;
}

}  // namespace cuckooguard::fleet
