-- A queue by any spelling of its name. Refuses one that does not exist as Postgres refuses a table.
create or replace function pgmq._queue(p_name text)
returns pgmq.meta
language plpgsql stable
as $$
declare
  v_queue pgmq.meta;
begin
  select * into v_queue from pgmq.meta where queue = lower(p_name);
  if not found then
    raise exception 'relation "pgmq.%" does not exist', pgmq.format_table_name(p_name, 'q')
      using errcode = 'undefined_table', hint = 'create the queue: select pgmq.create(...)';
  end if;
  return v_queue;
end
$$;
