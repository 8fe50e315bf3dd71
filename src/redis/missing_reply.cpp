#include "redis/missing_reply.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "redis/read_shape.h"
#include "redis/word.h"
#include "resp/reply_writer.h"

namespace cuckooguard::redis {
namespace {

using enum MissingPart;

// Reads with the same shape and the same reply, names separated by spaces.
struct Row {
  std::string_view names;
  ReadShape shape;
  MissingReply reply;
};

constexpr MissingReply each(MissingPart part, std::uint8_t arguments = 1) {
  return {.part = part, .element_arguments = arguments};
}

// HTTL key FIELDS numfields field ...: one for each field, the first being the fourth argument
// behind the name.
constexpr MissingReply each_field(MissingPart part, std::uint8_t first = 4) {
  return {.part = part, .element_arguments = 1, .first_element = first};
}

constexpr std::string_view kGeoOptions =
    "[WITHCOORD] [WITHDIST] [WITHHASH] [COUNT positive [ANY]] [ASC/DESC]";

// Not FILTER: its expression may be wrong.
constexpr std::string_view kSimilarityOptions =
    "[WITHSCORES] [COUNT positive] [EF positive] [TRUTH] [NOTHREAD]";

constexpr Row kRows[] = {
    // keys in general
    {"ttl pttl expiretime pexpiretime", ReadShape("key"), {minus_two}},
    {"type", ReadShape("key"), {none}},
    {"dump", ReadShape("key"), {nil}},
    {"object", ReadShape("ENCODING/FREQ/IDLETIME/REFCOUNT key"), {nil}},
    {"memory", ReadShape("USAGE key [SAMPLES natural]"), {nil}},
    // Not BY and GET: they name other keys.
    {"sort_ro", ReadShape("key [ASC/DESC] [ALPHA] [LIMIT integer integer]"), {empty_array}},

    // strings, bitmaps, HyperLogLog
    {"strlen", ReadShape("key"), {zero}},
    {"getrange substr", ReadShape("key integer integer"), {empty_string}},
    {"lcs", ReadShape("key key [MINMATCHLEN integer] [WITHMATCHLEN]"), {empty_string}},
    {"lcs", ReadShape("key key (LEN) [MINMATCHLEN integer] [WITHMATCHLEN]"), {zero}},
    {"lcs", ReadShape("key key (IDX) [MINMATCHLEN integer] [WITHMATCHLEN]"), {no_matches}},
    {"getbit", ReadShape("key bit_offset"), {zero}},
    {"bitcount", ReadShape("key [integer integer [BYTE/BIT]]"), {zero}},
    {"bitpos", ReadShape("key 0 [integer [integer [BYTE/BIT]]]"), {zero}},
    {"bitpos", ReadShape("key 1 [integer [integer [BYTE/BIT]]]"), {minus_one}},
    {"bitfield_ro", ReadShape("key [GET bit_type field_offset]..."), each(zero, 3)},
    {"pfcount", ReadShape("key..."), {zero}},

    // hashes
    {"hlen", ReadShape("key"), {zero}},
    {"hget", ReadShape("key any"), {nil}},
    {"hexists hstrlen", ReadShape("key any"), {zero}},
    {"hmget", ReadShape("key any..."), each(nil)},
    {"hkeys hvals", ReadShape("key"), {empty_array}},
    {"hgetall", ReadShape("key"), {empty_map}},
    {"hrandfield", ReadShape("key"), {nil}},
    {"hrandfield", ReadShape("key pick [WITHVALUES]"), {empty_array}},

    // and their fields that expire,
    {"httl hpttl hexpiretime hpexpiretime",
     ReadShape("key FIELDS numfields fields"),
     each_field(minus_two)},
    {"hgetex", ReadShape("key FIELDS numfields fields"), each_field(nil)},
    {"hgetex", ReadShape("key PERSIST FIELDS numfields fields"), each_field(nil, 5)},
    {"hgetex", ReadShape("key EX/EXAT seconds FIELDS numfields fields"), each_field(nil, 6)},
    {"hgetex", ReadShape("key PX/PXAT milliseconds FIELDS numfields fields"), each_field(nil, 6)},

    {"hscan", ReadShape("key natural [MATCH any] [COUNT positive] (NOVALUES)"), {empty_scan}},
    {"hscan sscan zscan", ReadShape("key natural [MATCH any] [COUNT positive]"), {empty_scan}},

    // lists
    {"llen", ReadShape("key"), {zero}},
    {"lindex", ReadShape("key integer"), {nil}},
    {"lrange", ReadShape("key integer integer"), {empty_array}},
    {"lpos", ReadShape("key any [RANK rank] [MAXLEN natural]"), {nil}},
    {"lpos", ReadShape("key any (COUNT natural) [RANK rank] [MAXLEN natural]"), {empty_array}},

    // sets
    {"scard", ReadShape("key"), {zero}},
    {"sismember", ReadShape("key any"), {zero}},
    {"smismember", ReadShape("key any..."), each(zero)},
    {"smembers", ReadShape("key"), {empty_set}},
    {"srandmember", ReadShape("key"), {nil}},
    {"srandmember", ReadShape("key pick"), {empty_array}},
    {"sdiff sinter sunion", ReadShape("key..."), {empty_set}},
    {"sintercard zintercard", ReadShape("numkeys keys [LIMIT natural]"), {zero}},

    // sorted sets
    {"zcard", ReadShape("key"), {zero}},
    {"zcount", ReadShape("key score score"), {zero}},
    {"zlexcount", ReadShape("key lex lex"), {zero}},
    {"zscore zrank zrevrank", ReadShape("key any"), {nil}},
    {"zmscore", ReadShape("key any..."), each(nil)},
    {"zrandmember", ReadShape("key"), {nil}},
    {"zrandmember", ReadShape("key pick [WITHSCORES]"), {empty_array}},
    {"zrange", ReadShape("key integer integer [REV] [WITHSCORES]"), {empty_array}},
    {"zrange",
     ReadShape("key score score (BYSCORE) [REV] [LIMIT integer integer] [WITHSCORES]"),
     {empty_array}},
    {"zrange", ReadShape("key lex lex (BYLEX) [REV] [LIMIT integer integer]"), {empty_array}},
    {"zrevrange", ReadShape("key integer integer [WITHSCORES]"), {empty_array}},
    {"zrangebyscore zrevrangebyscore",
     ReadShape("key score score [WITHSCORES] [LIMIT integer integer]"),
     {empty_array}},
    {"zrangebylex zrevrangebylex", ReadShape("key lex lex [LIMIT integer integer]"), {empty_array}},
    {"zdiff", ReadShape("numkeys keys [WITHSCORES]"), {empty_array}},
    {"zinter zunion",
     ReadShape("numkeys keys [WEIGHTS weights] [AGGREGATE SUM/MIN/MAX] [WITHSCORES]"),
     {empty_array}},

    // geo
    {"geodist", ReadShape("key any any [unit]"), {nil}},
    {"geohash", ReadShape("key [any]..."), each(nil)},
    {"geopos", ReadShape("key [any]..."), each(null_array)},
    {"georadius_ro", ReadShape("key longitude latitude distance unit", kGeoOptions), {empty_array}},
    {"georadiusbymember_ro", ReadShape("key any distance unit", kGeoOptions), {empty_array}},
    {"geosearch",
     ReadShape("key (FROMMEMBER any) (BYRADIUS distance unit)", kGeoOptions),
     {empty_array}},
    {"geosearch",
     ReadShape("key (FROMMEMBER any) (BYBOX distance distance unit)", kGeoOptions),
     {empty_array}},
    {"geosearch",
     ReadShape("key (FROMLONLAT longitude latitude) (BYRADIUS distance unit)", kGeoOptions),
     {empty_array}},
    {"geosearch",
     ReadShape("key (FROMLONLAT longitude latitude) (BYBOX distance distance unit)", kGeoOptions),
     {empty_array}},

    // streams. Not BLOCK: it waits.
    {"xlen", ReadShape("key"), {zero}},
    {"xrange xrevrange", ReadShape("key stream_end stream_end [COUNT integer]"), {empty_array}},
    {"xread", ReadShape("[COUNT integer] (STREAMS streams)"), {null_array}},

    // vector sets
    {"vcard", ReadShape("key"), {zero}},
    {"vinfo", ReadShape("key"), {null_array}},
    {"vemb", ReadShape("key any [RAW]"), {nil}},
    {"vgetattr", ReadShape("key any"), {nil}},
    {"vismember", ReadShape("key any"), {no}},
    {"vlinks", ReadShape("key any [WITHSCORES]"), {nil}},
    {"vrandmember", ReadShape("key"), {nil}},
    {"vrandmember", ReadShape("key pick"), {empty_array}},
    {"vsim", ReadShape("key ELE any", kSimilarityOptions), {empty_array}},
    {"vsim", ReadShape("key VALUES numkeys weights", kSimilarityOptions), {empty_array}},
};

constexpr std::size_t kNames = [] {
  std::size_t names = 0;
  for (const Row& row : kRows) {
    names += 1 + static_cast<std::size_t>(std::ranges::count(row.names, ' '));
  }
  return names;
}();

// The rows of each name, sorted by name.
struct Index {
  std::array<std::string_view, kNames> names{};
  std::array<const Row*, kNames> rows{};
};

constexpr Index kIndex = [] {
  struct Entry {
    std::string_view name;
    const Row* row = nullptr;
  };
  std::array<Entry, kNames> entries{};
  std::size_t count = 0;
  for (const Row& row : kRows) {
    for_each_word(row.names, [&](std::string_view name) { entries[count++] = {name, &row}; });
  }
  std::ranges::sort(entries, {}, &Entry::name);
  Index index;
  std::ranges::transform(entries, index.names.begin(), &Entry::name);
  std::ranges::transform(entries, index.rows.begin(), &Entry::row);
  return index;
}();

constexpr std::string_view text_of(MissingPart part, bool is_resp3) {
  switch (part) {
    case nil:
      return is_resp3 ? "_\r\n" : "$-1\r\n";
    case null_array:
      return is_resp3 ? "_\r\n" : "*-1\r\n";
    case zero:
      return ":0\r\n";
    case minus_one:
      return ":-1\r\n";
    case minus_two:
      return ":-2\r\n";
    case no:
      return is_resp3 ? "#f\r\n" : ":0\r\n";
    case none:
      return "+none\r\n";
    case empty_string:
      return "$0\r\n\r\n";
    case empty_array:
      return "*0\r\n";
    case empty_set:
      return is_resp3 ? "~0\r\n" : "*0\r\n";
    case empty_map:
      return is_resp3 ? "%0\r\n" : "*0\r\n";
    case empty_scan:
      return "*2\r\n$1\r\n0\r\n*0\r\n";
    case no_matches:
      return is_resp3 ? "%2\r\n$7\r\nmatches\r\n*0\r\n$3\r\nlen\r\n:0\r\n"
                      : "*4\r\n$7\r\nmatches\r\n*0\r\n$3\r\nlen\r\n:0\r\n";
  }
  return {};
}

}  // namespace

std::optional<MissingReply> missing_reply(const Command& command,
                                          std::span<const std::string_view> arguments) noexcept {
  const auto named = std::ranges::equal_range(kIndex.names, command.name);
  for (auto name = named.begin(); name != named.end(); ++name) {
    const Row& row = *kIndex.rows[static_cast<std::size_t>(name - kIndex.names.begin())];
    if (row.shape.fits(arguments)) {
      return row.reply;
    }
  }
  return std::nullopt;
}

std::string_view bytes_of(MissingReply reply,
                          std::size_t argument_count,
                          resp::Version version,
                          std::string& scratch) {
  const std::string_view part = text_of(reply.part, version == resp::Version::resp3);
  if (reply.element_arguments == 0) {
    return part;
  }
  const std::size_t elements = (argument_count - reply.first_element) / reply.element_arguments;
  scratch.clear();
  resp::append_array_header(scratch, elements);
  for (std::size_t i = 0; i < elements; ++i) {
    scratch.append(part);
  }
  return scratch;
}

std::span<const std::string_view> names_of_answered_reads() noexcept {
  return kIndex.names;
}

}  // namespace cuckooguard::redis
