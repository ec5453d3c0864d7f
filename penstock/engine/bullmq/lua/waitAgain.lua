-- Lets a flow that has ended wait again, for children of its that are to come back and for those that have not ended.
-- KEYS: the job, the set that it ended in, waiting-children, events. ARGV: its id, the time, the keys of those children.
-- Gives 1, 0 when it has nothing to wait for, -1 when it is not there, -2 when another child has failed meanwhile.
local job = KEYS[1]
if redis.call("EXISTS", job) == 0 or not redis.call("ZSCORE", KEYS[2], ARGV[1]) then
  return -1
end
local back = {}
for n = 3, #ARGV do
  back[ARGV[n]] = true
end
for _, child in ipairs(redis.call("ZRANGE", job .. ":unsuccessful", 0, -1)) do
  if redis.call("EXISTS", child) == 0 then
    redis.call("ZREM", job .. ":unsuccessful", child)
  elseif not back[child] then
    return -2
  end
end
for child in pairs(back) do
  local had = redis.call("ZREM", job .. ":unsuccessful", child) + redis.call("HDEL", job .. ":failed", child)
  if had + redis.call("HDEL", job .. ":processed", child) > 0 then
    redis.call("SADD", job .. ":dependencies", child)
  end
end
if redis.call("SCARD", job .. ":dependencies") == 0 then
  return 0
end
redis.call("ZREM", KEYS[2], ARGV[1])
redis.call("HDEL", job, "finishedOn", "processedOn", "failedReason", "returnvalue", "atm")
redis.call("ZADD", KEYS[3], ARGV[2], ARGV[1])
redis.call("XADD", KEYS[4], "*", "event", "waiting-children", "jobId", ARGV[1])
return 1
