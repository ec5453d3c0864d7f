-- Writes fields of a job while it is in the hands of whoever asks.
-- KEYS: the job, its lock. ARGV: the lock's token, then fields and values. Gives 1, or 0 when it is somebody else's.
if redis.call("GET", KEYS[2]) ~= ARGV[1] or redis.call("EXISTS", KEYS[1]) == 0 then
  return 0
end
redis.call("HSET", KEYS[1], unpack(ARGV, 2))
return 1
