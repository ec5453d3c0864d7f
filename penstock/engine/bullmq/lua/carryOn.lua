-- Writes what a job has had elsewhere: attempts, snoozes, errors; where there is no such job, nothing.
-- KEYS: the job. ARGV: the field, its value. Gives 1, or 0 when there is none.
if redis.call("HEXISTS", KEYS[1], "name") == 0 then
  return 0
end
redis.call("HSET", KEYS[1], ARGV[1], ARGV[2])
return 1
