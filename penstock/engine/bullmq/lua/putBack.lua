-- Puts a job that was to move elsewhere back where it waited, unless somebody has ended it meanwhile.
-- KEYS: the job, the list of those that move, waiting-children, wait, prioritized, delayed, marker
-- ARGV: the job's id, the field that remembers where it waited. Gives 1, or 0 when it did not move.
local id = ARGV[1]
redis.call("LREM", KEYS[2], 0, id)
local was = redis.call("HGET", KEYS[1], ARGV[2])
if not was or redis.call("ZREM", KEYS[3], id) == 0 then
  return 0
end
redis.call("HDEL", KEYS[1], ARGV[2])
local place, score = string.match(was, "^(%S+) ?(.*)$")
if score == "" then
  redis.call("RPUSH", KEYS[4], id)
else
  redis.call("ZADD", place == "delayed" and KEYS[6] or KEYS[5], score, id)
end
redis.call("ZADD", KEYS[7], 0, "0")
return 1
