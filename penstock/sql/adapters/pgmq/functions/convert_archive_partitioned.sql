-- Nothing to do: the jobs' history is partitioned.
create or replace function pgmq.convert_archive_partitioned(
  table_name text, partition_interval text default '10000', retention_interval text default '100000',
  leading_partition int default 10
)
returns void
language plpgsql
as $$
begin
  perform pgmq._queue(table_name);
end
$$;
