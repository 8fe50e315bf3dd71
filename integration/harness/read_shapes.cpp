#include "harness/read_shapes.h"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <sstream>
#include <utility>

namespace cuckooguard::harness {
namespace {

constexpr std::string_view kAnswerable = R"(
GET K
MGET K
MGET K L M K
EXISTS K
EXISTS K L K
TOUCH K
TOUCH K L M

TTL K
PTTL K
EXPIRETIME K
PEXPIRETIME K
TYPE K
DUMP K
OBJECT ENCODING K
OBJECT FREQ K
OBJECT IDLETIME K
OBJECT REFCOUNT K
MEMORY USAGE K
MEMORY USAGE K SAMPLES 0
MEMORY USAGE K SAMPLES 5
SORT_RO K
SORT_RO K DESC
SORT_RO K ALPHA LIMIT 0 10 ASC
SORT_RO K LIMIT -1 -1

STRLEN K
GETRANGE K 0 -1
GETRANGE K -9223372036854775808 9223372036854775807
SUBSTR K 0 3
LCS K L
LCS K L LEN
LCS K L IDX
LCS K L IDX MINMATCHLEN 4 WITHMATCHLEN
LCS K L WITHMATCHLEN
LCS K L MINMATCHLEN -1 LEN
GETBIT K 0
GETBIT K 8388607
BITCOUNT K
BITCOUNT K 0 -1
BITCOUNT K 0 -1 BYTE
BITCOUNT K 5 30 BIT
BITPOS K 0
BITPOS K 1
BITPOS K 1 2
BITPOS K 0 2 -1
BITPOS K 1 0 -1 BYTE
BITPOS K 0 7 15 BIT
BITFIELD_RO K
BITFIELD_RO K GET u8 0
BITFIELD_RO K GET i64 #1 GET u63 100 GET i1 8388607 GET u1 #131071
PFCOUNT K
PFCOUNT K L M

HGET K field
HGET K ""
HMGET K field
HMGET K a b a ""
HGETALL K
HKEYS K
HVALS K
HLEN K
HEXISTS K field
HSTRLEN K field
HRANDFIELD K
HRANDFIELD K 2
HRANDFIELD K -2 WITHVALUES
HRANDFIELD K 0 WITHVALUES
HRANDFIELD K -4611686018427387903 WITHVALUES
HSCAN K 0
HSCAN K 0 MATCH f* COUNT 100
HSCAN K 17 COUNT 1
SSCAN K 0
SSCAN K 0 COUNT 5 MATCH *
ZSCAN K 0
ZSCAN K 0 MATCH *

LLEN K
LINDEX K 0
LINDEX K -1
LRANGE K 0 -1
LRANGE K 5 2
LPOS K element
LPOS K element RANK -1
LPOS K element COUNT 0
LPOS K element RANK 2 COUNT 3 MAXLEN 100
LPOS K element MAXLEN 0 RANK 1

SCARD K
SMEMBERS K
SISMEMBER K member
SMISMEMBER K member
SMISMEMBER K a b c
SRANDMEMBER K
SRANDMEMBER K 5
SRANDMEMBER K -5
SDIFF K
SDIFF K L
SINTER K L M
SUNION K L
SINTERCARD 1 K
SINTERCARD 2 K L LIMIT 0
SINTERCARD 3 K L M LIMIT 5

ZCARD K
ZSCORE K member
ZMSCORE K member
ZMSCORE K a b
ZRANK K member
ZREVRANK K member
ZCOUNT K -inf +inf
ZCOUNT K (1 1.5e3
ZLEXCOUNT K - +
ZLEXCOUNT K [a (b
ZRANDMEMBER K
ZRANDMEMBER K 3
ZRANDMEMBER K -3 WITHSCORES
ZRANGE K 0 -1
ZRANGE K 0 -1 WITHSCORES
ZRANGE K 0 -1 REV WITHSCORES
ZRANGE K -inf (5 BYSCORE
ZRANGE K 5 1 BYSCORE REV LIMIT 0 10 WITHSCORES
ZRANGE K - + BYLEX
ZRANGE K (c [a REV BYLEX LIMIT 1 -1
ZREVRANGE K 0 -1
ZREVRANGE K 0 -1 WITHSCORES
ZRANGEBYSCORE K -inf inf
ZRANGEBYSCORE K (1 5 WITHSCORES LIMIT 0 10
ZREVRANGEBYSCORE K +inf -inf LIMIT 0 1
ZRANGEBYLEX K - +
ZRANGEBYLEX K [a [b LIMIT 0 10
ZREVRANGEBYLEX K + -
ZDIFF 1 K
ZDIFF 2 K L WITHSCORES
ZINTER 2 K L
ZINTER 2 K L WEIGHTS 1 -inf AGGREGATE MAX WITHSCORES
ZUNION 3 K L M WITHSCORES AGGREGATE MIN
ZUNION 1 K WEIGHTS 0.5
ZINTERCARD 2 K L
ZINTERCARD 2 K L LIMIT 3

GEODIST K a b
GEODIST K a b km
GEOHASH K
GEOHASH K a b
GEOPOS K
GEOPOS K a
GEOPOS K a b
GEORADIUS_RO K 13.361389 38.115556 200 km
GEORADIUS_RO K -180 85 0 mi WITHCOORD WITHDIST WITHHASH COUNT 3 ANY ASC
GEORADIUSBYMEMBER_RO K member 10 mi
GEORADIUSBYMEMBER_RO K member 10 ft DESC COUNT 2
GEOSEARCH K FROMMEMBER member BYRADIUS 5 km
GEOSEARCH K FROMLONLAT 15 37 BYRADIUS 200 km ASC
GEOSEARCH K FROMLONLAT 15 37 BYBOX 400 400 km ASC COUNT 10 WITHCOORD WITHDIST
GEOSEARCH K BYBOX 1 1 m FROMMEMBER member COUNT 1 ANY WITHHASH

XLEN K
XRANGE K - +
XRANGE K 1526985054069 1526985054079-3 COUNT 2
XRANGE K (1526985054069-0 + COUNT 0
XREVRANGE K + -
XREVRANGE K 5 (3-1 COUNT 1
XREAD STREAMS K 0
XREAD STREAMS K L M 0-0 $ 5-1
XREAD COUNT 2 STREAMS K $
)";

constexpr std::string_view kOther = R"(
XREAD BLOCK 1 STREAMS K 0
XREAD COUNT 1 BLOCK 1 STREAMS K L 0 $
XREAD STREAMS K >
XINFO STREAM K
XINFO STREAM K FULL
XINFO GROUPS K
XINFO CONSUMERS K group
XPENDING K group
XPENDING K group - + 10
EVAL_RO return{KEYS[1],redis.call('get',KEYS[1])} 1 K
EVAL_RO return{1} 0
EVALSHA_RO ffffffffffffffffffffffffffffffffffffffff 1 K
FCALL_RO nosuch 1 K
SORT_RO K BY nosort
SORT_RO K BY weight_* GET # GET object_*
OBJECT HELP
OBJECT HELP K
OBJECT
OBJECT NOSUCH K
MEMORY HELP
GETBIT K 4294967295
GETBIT K 4294967296
BITFIELD_RO K OVERFLOW SAT GET u8 0
BITFIELD_RO K SET u8 0 1
HSCAN K 18446744073709551615
HSCAN K 0 NOVALUES
ZRANK K member WITHSCORE
ZRANGE K 0 -1 BYSCORE BYLEX
ZRANGE K - + BYLEX WITHSCORES
ZRANGE K 0 -1 LIMIT 0 1
XRANGE K - (0-0
XRANGE K (18446744073709551615-18446744073709551615 +
LCS K L LEN IDX
GEOSEARCH K FROMMEMBER member FROMLONLAT 1 1 BYRADIUS 1 km
GEOSEARCH K FROMMEMBER member BYRADIUS 1 km BYBOX 1 1 km
GEOSEARCH K FROMMEMBER member BYRADIUS 1 km ANY COUNT 1
GEOSEARCH K FROMMEMBER member BYRADIUS 1 km ANY
GEOSEARCH K FROMMEMBER member BYRADIUS 1 km STOREDIST
GEOSEARCH K FROMMEMBER member BYRADIUS 1 km STORE L
GEORADIUS_RO K 1 1 1 km STORE L
GEORADIUS_RO K 181 1 1 km
GEORADIUS_RO K 1 85.06 1 km
)";

std::vector<Words> reads_of(std::string_view text) {
  std::vector<Words> reads;
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    std::istringstream stream(line);
    Words words;
    for (std::string word; stream >> word;) {
      words.push_back(word == "\"\"" ? "" : word);
    }
    if (!words.empty()) {
      reads.push_back(std::move(words));
    }
  }
  return reads;
}

std::string lower(std::string_view word) {
  std::string lower(word);
  std::ranges::transform(lower, lower.begin(), [](char c) {
    return static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  });
  return lower;
}

}  // namespace

std::vector<Words> answerable_reads() {
  return reads_of(kAnswerable);
}

std::vector<Words> other_reads() {
  return reads_of(kOther);
}

std::string stat_name(const Words& read, const std::vector<std::string>& names) {
  std::string name = lower(read.front());
  if (std::ranges::find(names, name) == names.end() && read.size() > 1) {
    name += "|" + lower(read[1]);
  }
  return std::ranges::find(names, name) != names.end() ? name : std::string();
}

bool is_key(std::string_view word) {
  return word == "K" || word == "L" || word == "M";
}

Words with_keys(const Words& read, const std::vector<std::string>& keys) {
  Words words = read;
  for (std::string& word : words) {
    if (is_key(word)) {
      word = keys.at(static_cast<std::size_t>(word.front() - 'K'));
    }
  }
  return words;
}

Words in_lower_case(const Words& read) {
  Words words = read;
  for (std::string& word : words) {
    if (!is_key(word)) {
      word = lower(word);
    }
  }
  return words;
}

}  // namespace cuckooguard::harness
