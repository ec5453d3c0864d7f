-- Brings finished jobs that did not succeed back to life with a fresh budget of attempts; their errors stay on record.
-- A member of a flow that has ended brings the flow back with everything in it that failed or was cancelled, and a job
-- brings what it waited for and what was cancelled because of it. p_queue moves them to another queue.
-- Returns the revived ids.
create or replace function penstock.retry(p_ids uuid[], p_queue text default null)
returns uuid[]
language plpgsql
set enable_seqscan = off
set jit = off
as $$
declare
  v_now timestamptz := penstock.clock();
  v_revived uuid[];
  v_missed uuid[];
  v_ended uuid[];
  v_taken text;
  v_job record;
begin
  with recursive revived as (
    select h.id, h.parent
      from penstock.history as h
     where h.id = any(p_ids) and h.state in ('failed', 'cancelled')
    union
    select h.id, h.parent
      from revived as r
     cross join lateral (
       -- its flow, if that has ended without all of its jobs
       select f.* from penstock.history as f
        where f.id = r.parent
          -- one that called its jobs itself has seen what became of them
          and (f.state <> 'succeeded'
               or (not f.rollup ? 'calls' and (f.rollup->>'failed')::int + (f.rollup->>'cancelled')::int > 0))
       union all
       -- its children
       select c.* from penstock.history as c
        where c.parent = r.id and c.state in ('failed', 'cancelled')
       union all
       -- what it waited for, and what waited for it
       select w.* from penstock.history as w
        where w.id = any(array(select waits_for from penstock.edges where job = r.id
                               union all select job from penstock.edges where waits_for = r.id))
          and w.state in ('failed', 'cancelled')
     ) as h
  )
  select array_agg(id order by id) into v_revived from revived;
  if v_revived is null then
    return '{}';
  end if;

  perform penstock.lock_flows(array(select parent from penstock.history where id = any(v_revived)));
  -- whoever retries them at the same time waits here, and finds them alive
  perform from penstock.history where id = any(v_revived) order by id for update;
  select h.kind
    into v_taken
    from penstock.history as h
   where h.id = any(v_revived) and h.unique_key is not null
     and (exists (select from penstock.jobs as j
                   where j.kind = h.kind and j.unique_key = h.unique_key
                     and coalesce(j.owner, '') = coalesce(h.owner, '') and coalesce(j.org, '') = coalesce(h.org, ''))
          or exists (select from penstock.history as o
                      where o.id = any(v_revived) and o.kind = h.kind and o.unique_key = h.unique_key and o.id <> h.id
                        and o.owner is not distinct from h.owner and o.org is not distinct from h.org))
   limit 1;
  if found then
    raise exception 'unique_key: another % holds it', v_taken
      using errcode = 'PS006', hint = 'retry it when that one has finished';
  end if;

  begin
    with taken as (
      delete from penstock.history where id = any(v_revived) returning *
    ), back as (
      insert into penstock.jobs
      select job.*
        from taken
        -- by the names of its columns: whatever history keeps of it comes back, but for these
       cross join lateral jsonb_populate_record(null::penstock.jobs, to_jsonb(taken) || jsonb_build_object(
         'run_at', v_now, 'turn', 0, 'state', 'blocked', 'waiting_on', 0, 'attempt', 0, 'snoozes', 0, 'started_at', null,
         'lease', null, 'queue', coalesce(p_queue, queue), 'progress', case when rollup is not null then progress end,
         'watched', false, 'counted', false, 'cancel_requested', false,
         -- who came to wait for it when it had succeeded, in part, could mark no row
         'awaited', awaited or exists (select from penstock.edges as e where e.waits_for = taken.id))) as job
      returning id
    )
    select coalesce(array_agg(id order by id), '{}') into v_revived from back;
  exception when unique_violation then
    raise exception 'unique_key: another job took it in this instant'
      using errcode = 'PS006', hint = 'retry it when that one has finished';
  end;

  -- what they wait for cannot finish uncounted: it would not see these rows before they are committed
  perform from penstock.jobs
    where (id = any(array(select waits_for from penstock.edges where job = any(v_revived))) or parent = any(v_revived))
      and not (id = any(v_revived))
    order by id
      for no key update;
  -- and what failed in the moment before that comes back too
  v_missed := array(
    select id
      from penstock.history
     where (id = any(array(select waits_for from penstock.edges where job = any(v_revived))) or parent = any(v_revived))
       and state in ('failed', 'cancelled'));
  if cardinality(v_missed) > 0 then
    v_revived := v_revived || penstock.retry(v_missed, p_queue);
  end if;
  -- children before their flows, as ids go; live ones that waited for a job that is back wait again
  for v_job in
    with recursive touched as (
      select j.id, j.parent, j.rollup
        from penstock.jobs as j
       where j.id = any(v_revived || array(select job from penstock.edges where waits_for = any(v_revived)))
         and j.state = 'blocked'
      union
      select flow.id, flow.parent, flow.rollup
        from touched
        join penstock.jobs as flow on flow.id = touched.parent
       where flow.state = 'blocked'
    )
    select id, rollup is not null as is_flow from touched order by id
  loop
    if v_job.is_flow then
      perform penstock.recount(v_job.id);
    else
      perform penstock.recount_edges(v_job.id);
    end if;
  end loop;
  v_ended := array(
    select unnest(penstock.unblock(j::penstock.jobs))
      from (select * from penstock.jobs as j
             where j.id = any(v_revived) and j.state = 'blocked' and j.waiting_on = 0
             order by j.id) as j);
  perform penstock.settle(v_ended);
  return v_revived;
end
$$;
