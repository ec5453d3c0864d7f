-- Sets how much one user may do under a quota: per_day (operations), running and unfinished (jobs), storage (bytes); what is
-- null or left out is unlimited.
create or replace function penstock.set_quota(p_name text, p_limits jsonb)
returns void
language plpgsql
as $$
declare
  v_unknown text;
begin
  select key into v_unknown
    from jsonb_object_keys(p_limits) as key
   where key <> all('{per_day,running,unfinished,storage}'::text[])
   limit 1;
  if found then
    raise exception '%: no such limit', v_unknown using errcode = 'PS001';
  end if;
  insert into penstock.quotas as q (name, per_day, running, unfinished, storage)
  values (p_name, (p_limits->>'per_day')::int, (p_limits->>'running')::int, (p_limits->>'unfinished')::int,
          (p_limits->>'storage')::bigint)
      on conflict (name) do update
     set per_day = excluded.per_day, running = excluded.running, unfinished = excluded.unfinished,
         storage = excluded.storage;
end
$$;
