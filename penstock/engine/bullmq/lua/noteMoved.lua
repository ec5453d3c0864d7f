-- Notes beside a job that it was moved here, where that outlives its record; where there is no such job, nothing.
-- KEYS: the job, the note. ARGV: seconds. Gives 1, or 0 when there is none.
if redis.call("HEXISTS", KEYS[1], "name") == 0 then
  return 0
end
redis.call("SET", KEYS[2], "1", "EX", ARGV[1])
return 1
