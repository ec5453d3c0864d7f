-- Deletes what was kept beside jobs that are gone: their large arguments and their errors. Bounded for the planner to prune by.
create or replace function penstock.forget(p_ids uuid[])
returns void
language plpgsql
set enable_seqscan = off
set jit = off
as $$
declare
  v_least uuid;
  v_most uuid;
begin
  select id into v_least from unnest(p_ids) as id order by id limit 1;
  select id into v_most from unnest(p_ids) as id order by id desc limit 1;
  delete from penstock.payloads where id = any(p_ids) and id between v_least and v_most;
  delete from penstock.errors where id = any(p_ids) and id between v_least and v_most;
end
$$;
