-- Cancels live jobs and everything below them in their flows. What has not started ends at once; what runs is asked
-- to stop, and its worker is told on the channel `cancel`. Returns the ids that ended; the caller settles them.
create or replace function penstock.cancel_tree(p_ids uuid[], p_reason text default 'cancelled')
returns uuid[]
language plpgsql
set enable_seqscan = off
set jit = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $$
declare
  v_outside uuid[] := p_ids;
  v_branches uuid[];
  v_tree uuid[] := '{}';
  v_ended uuid[];
begin
  while cardinality(v_outside) > 0 loop
    -- Must use jobs_pkey and jobs_parent. Joined to the tree, all of jobs_parent is read for each of its jobs where most jobs are of one
    -- flow, and Postgres knows it: six thousand took a second of CPU, not a seventh. `offset 0` makes it a look-up for each.
    with recursive tree as (
      select id from penstock.jobs where id = any(v_outside)
      union
      select child.id
        from tree
       cross join lateral (select c.id from penstock.jobs as c where c.parent = tree.id offset 0) as child
    )
    select array_agg(id) into v_branches from tree;
    exit when v_branches is null;
    perform penstock.lock_flows(v_branches);
    perform from penstock.jobs where id = any(v_branches) order by id for update;
    v_tree := v_tree || v_branches;
    -- one of them may have called others in the moment before it was locked
    v_outside := array(
      select child.id
        from penstock.jobs as j
       cross join lateral (select c.id from penstock.jobs as c where c.parent = j.id offset 0) as child
       where j.id = any(v_branches) and j.rollup is not null
      except
      select unnest(v_tree));
  end loop;
  if cardinality(v_tree) = 0 then
    return '{}';
  end if;

  update penstock.jobs
     set cancel_requested = true
   where id = any(v_tree) and (state = 'running' or (state = 'blocked' and rollup is not null)) and not cancel_requested;
  perform pg_notify((select cancel from penstock.channels), json_build_object('lease', lease, 'id', id)::text)
     from penstock.jobs
    where id = any(v_tree) and lease is not null;

  -- A flow ends when its last child has, and when it has booked them all: in the midst of settle() some may have ended
  -- just now. `offset 0` keeps the planner from hashing all jobs to find out.
  v_ended := array(
    select j.id
      from penstock.jobs as j
     where j.id = any(v_tree) and j.state in ('blocked', 'scheduled', 'ready')
       and not (j.state = 'blocked' and j.rollup is not null
                and (exists (select from penstock.jobs as child where child.parent = j.id offset 0)
                     or (select count(*) from penstock.history as child where child.parent = j.id)
                        > (j.rollup->>'succeeded')::int + (j.rollup->>'failed')::int + (j.rollup->>'cancelled')::int))
     order by j.id);
  if cardinality(v_ended) > 0 then
    perform penstock.finish(v_ended, 'cancelled', (
      select jsonb_object_agg(id, jsonb_build_object('at', penstock.clock(), 'error', p_reason)) from unnest(v_ended) as id));
    perform penstock.note_ended(v_ended, 'cancelled');
  end if;
  return v_ended;
end
$$;
