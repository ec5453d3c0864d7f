"""The engine on BullMQ: jobs are those of its queues in Redis or Valkey, and Node's BullMQ works on them as well."""

from penstock.extras import needs

with needs("bullmq", "jobs on Redis"):
    import bullmq as bullmq
