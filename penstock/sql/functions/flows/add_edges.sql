-- Notes what a new job waits for and returns how many of them are unfinished. Locking those rows makes their completion
-- wait for this transaction, so that it cannot miss the edge.
create or replace function penstock.add_edges(p_job uuid, p_after jsonb)
returns int
language plpgsql
as $$
declare
  v_after uuid[] := array(select distinct waits_for::uuid as id from jsonb_array_elements_text(p_after) as waits_for order by id);
  v_live uuid[];
  v_missing uuid;
  v_state penstock.job_state;
begin
  -- an awaited job's row is locked, not rewritten
  v_live := array(select id from penstock.jobs where id = any(v_after) order by id for no key update);
  update penstock.jobs set awaited = true where id = any(v_live) and not awaited;
  select waits_for, h.state
    into v_missing, v_state
    from unnest(v_after) as waits_for
    left join penstock.history as h on h.id = waits_for
   where waits_for <> all(v_live) and h.state is distinct from 'succeeded'
   limit 1;
  if found then
    raise exception 'after: job % %', v_missing, coalesce('has ' || v_state || ' already', 'does not exist')
      using errcode = case when v_state is null then 'PS002' else 'PS001' end;
  end if;
  insert into penstock.edges (job, waits_for) select p_job, unnest(v_after);
  return cardinality(v_live);
end
$$;
