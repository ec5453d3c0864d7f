-- Gives a job that has come back its unique key again, unless it has ended meanwhile or another has taken it.
-- KEYS: the job, what stands for its key. ARGV: the job's id.
if redis.call("EXISTS", KEYS[1]) == 1 and redis.call("HEXISTS", KEYS[1], "finishedOn") == 0 then
  redis.call("SET", KEYS[2], ARGV[1], "NX")
end
return 1
