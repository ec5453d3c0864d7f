-- Takes a job out of what a lease holds, unless it has been claimed anew meanwhile.
-- KEYS: what the lease holds. ARGV: the job's UUID, the token of the claim. Gives 1, or 0 when that claim is not there.
local held = redis.call("HGET", KEYS[1], ARGV[1])
if not held or cjson.decode(held)["token"] ~= ARGV[2] then
  return 0
end
return redis.call("HDEL", KEYS[1], ARGV[1])
