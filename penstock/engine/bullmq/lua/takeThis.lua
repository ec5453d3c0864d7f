-- Takes a job that has not started out of whatever it waits in, and locks it for whoever asks.
-- KEYS: wait, paused, delayed, prioritized, waiting-children, active, the job, its lock
-- ARGV: the job's id, the lock's token, its milliseconds
-- Gives 1, or 0 when the job waits in none of them.
local id = ARGV[1]
if redis.call("EXISTS", KEYS[7]) == 0 then
  return 0
end
local found = redis.call("LREM", KEYS[1], -1, id) + redis.call("LREM", KEYS[2], -1, id)
for place = 3, 5 do
  if found == 0 then
    found = redis.call("ZREM", KEYS[place], id)
  end
end
if found == 0 then
  return 0
end
redis.call("LPUSH", KEYS[6], id)
redis.call("SET", KEYS[8], ARGV[2], "PX", ARGV[3])
return 1
