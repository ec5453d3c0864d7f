-- Writes how much a job has had of something elsewhere; where there is no such job, nothing.
-- KEYS: the job. ARGV: the field, the count. Gives 1, or 0 when there is none.
if redis.call("HEXISTS", KEYS[1], "name") == 0 then
  return 0
end
redis.call("HSET", KEYS[1], ARGV[1], ARGV[2])
return 1
