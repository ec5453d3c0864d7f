-- Puts a job that is to move elsewhere out of what it waits in, among those that wait for children: nobody reaches it there.
-- KEYS: what it waits in, waiting-children, the list of those that move, the job
-- ARGV: the job's id, the name of what it waits in, the field that remembers it, the time. Gives 1, or 0 when it is not there.
local id = ARGV[1]
if redis.call("EXISTS", KEYS[4]) == 0 then
  return 0
end
local was = ARGV[2]
if was == "wait" or was == "paused" then
  if redis.call("LREM", KEYS[1], -1, id) == 0 then
    return 0
  end
else
  local score = redis.call("ZSCORE", KEYS[1], id)
  if not score then
    return 0
  end
  redis.call("ZREM", KEYS[1], id)
  was = was .. " " .. score
end
redis.call("HSET", KEYS[4], ARGV[3], was)
redis.call("ZADD", KEYS[2], ARGV[4], id)
redis.call("RPUSH", KEYS[3], id)
return 1
