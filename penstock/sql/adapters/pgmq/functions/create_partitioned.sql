-- As any other queue, and listed as partitioned: history is, by days, and how long it is kept is penstock.settings' to say.
create or replace function pgmq.create_partitioned(
  queue_name text, partition_interval text default '10000', retention_interval text default '100000', premake integer default 4
)
returns void
language plpgsql
as $$
begin
  perform pgmq._create(queue_name, true, false);
end
$$;
