#include "upstream/log_scripts.h"

namespace cuckooguard::upstream {

LogKeys::LogKeys(const std::string& prefix) {
  const std::string tag = "{" + prefix + "}:";
  log = tag + "log";
  meta = tag + "meta";
  lock = tag + "lock";
  pieces = tag + "snapshot:";
}

std::string_view begin_script() {
  return R"(
if redis.call('HEXISTS', KEYS[1], 'generation') == 0 then
  redis.call('DEL', KEYS[1], KEYS[2], KEYS[3])
  for set = 0, 1 do
    local i = 0
    while redis.call('UNLINK', KEYS[4] .. set .. ':' .. i) == 1 do i = i + 1 end
  end
  redis.call('HSET', KEYS[1], 'generation', ARGV[1], 'proof', ARGV[2], 'seq', 0, 'tag', '')
end
return redis.call('HMGET', KEYS[1], 'generation', 'proof', 'snapshot', 'set')
)";
}

// XADD is last: what fails before it has not been done, and if it fails itself, the number is given
// back. Before Redis 7 a script with XADD must say that its effects are what replicas get.
std::string_view append_script() {
  return R"(
if redis.replicate_commands then redis.replicate_commands() end
local meta = redis.call('HMGET', KEYS[1], 'generation', 'seq', 'tag')
if meta[1] ~= ARGV[1] then return 0 end
local seq, after = tonumber(meta[2]), tonumber(ARGV[2])
if after > seq or seq + 1 - after > tonumber(ARGV[3]) then return -1 end
redis.call('HSET', KEYS[1], 'seq', seq + 1, 'tag', ARGV[7])
local id = redis.pcall('XADD', KEYS[2], '*', 's', seq + 1, 'w', ARGV[4], 'c', ARGV[5],
                       'a', ARGV[2], 'b', ARGV[6], 't', ARGV[7])
if type(id) == 'table' and id.err then
  redis.call('HSET', KEYS[1], 'seq', seq, 'tag', meta[3])
  return id
end
return seq + 1
)";
}

std::string_view put_piece_script() {
  return R"(
if redis.call('GET', KEYS[2]) ~= ARGV[1] or redis.call('HGET', KEYS[1], 'set') == ARGV[2] then
  return 0
end
redis.call('SET', KEYS[3], ARGV[3], 'PX', ARGV[4])
redis.call('PEXPIRE', KEYS[2], ARGV[5])
return 1
)";
}

std::string_view unlock_script() {
  return "if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end";
}

std::string_view stand_script() {
  return R"(
local meta = redis.call('HMGET', KEYS[1], 'generation', 'set', 'pieces')
if meta[1] ~= ARGV[1] or meta[2] == ARGV[3] or redis.call('GET', KEYS[3]) ~= ARGV[2] then
  return 0
end
local entry = redis.call('XRANGE', KEYS[2], ARGV[7], ARGV[7])[1]
if not entry or entry[2][12] ~= ARGV[8] then return 0 end
local pieces = tonumber(ARGV[4])
for i = 0, pieces - 1 do
  if redis.call('EXISTS', KEYS[4] .. ARGV[3] .. ':' .. i) == 0 then return 0 end
end
for i = 0, pieces - 1 do redis.call('PERSIST', KEYS[4] .. ARGV[3] .. ':' .. i) end
redis.call('HSET', KEYS[1], 'snapshot', ARGV[5], 'set', ARGV[3], 'pieces', pieces,
           'snapshot_seq', ARGV[6])
redis.call('HDEL', KEYS[1], 'wanted')
redis.call('XTRIM', KEYS[2], 'MINID', ARGV[7])
if meta[2] then
  for i = 0, math.min(tonumber(meta[3]) or 0, 65536) - 1 do
    redis.call('UNLINK', KEYS[4] .. meta[2] .. ':' .. i)
  end
end
redis.call('DEL', KEYS[3])
return 1
)";
}

}  // namespace cuckooguard::upstream
