-- Writes what a worker says of itself, and with "1" makes its lease last again; where it has run out, nothing.
-- KEYS: the lease. ARGV: "1" or "0", then fields and values. Gives its seconds, or nothing when it has run out.
local seconds = redis.call("HGET", KEYS[1], "seconds")
if not seconds then
  return false
end
redis.call("HSET", KEYS[1], unpack(ARGV, 2))
if ARGV[1] == "1" then
  redis.call("PEXPIRE", KEYS[1], string.format("%d", tonumber(seconds) * 1000))
end
return seconds
