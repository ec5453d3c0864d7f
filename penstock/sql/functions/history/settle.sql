-- Something waited for these finished jobs: let it go on, or end it too. Works in rounds, because what ends here may
-- itself be waited for.
--   A job that waited for a job is freed when the last of them succeeded, and cancelled when one did not.
--   A flow whose last child ended becomes ready, or ends by itself when it has no handler of its own.
--   When a child fails, the flow's policy cancels the rest or goes on.
create or replace function penstock.settle(p_finished uuid[])
returns void
language plpgsql
set enable_seqscan = off
set jit = off
set enable_bitmapscan = off
as $$
declare
  v_round uuid[] := p_finished;
  v_next uuid[];
  v_doomed uuid[];
  v_job record;
  v_flow penstock.jobs;
begin
  while cardinality(v_round) > 0 loop
    v_next := '{}';

    -- history is looked up in a subquery: in a join the planner reads all of it when it believes it small
    for v_job in
      select e.job, count(*)::int as freed
        from penstock.edges as e
       where e.waits_for = any(v_round)
         and (select h.state from penstock.history as h where h.id = e.waits_for) = 'succeeded'
       group by e.job
       order by e.job
    loop
      update penstock.jobs
         set waiting_on = waiting_on - v_job.freed
       where id = v_job.job and state = 'blocked'
      returning * into v_flow;
      if found and v_flow.waiting_on = 0 then
        v_next := v_next || penstock.unblock(v_flow);
      end if;
    end loop;

    v_doomed := array(
      select j.id
        from penstock.jobs as j
       where j.state = 'blocked'
         and j.id = any(array(
           select e.job
             from penstock.edges as e
            where e.waits_for = any(v_round)
              and (select h.state from penstock.history as h where h.id = e.waits_for) in ('failed', 'cancelled'))));
    if cardinality(v_doomed) > 0 then
      v_next := v_next || penstock.cancel_tree(v_doomed, 'a job it waited for did not succeed');
    end if;

    for v_job in
      select parent, sum(children)::int as children, jsonb_object_agg(phase, passed) as passed,
             jsonb_object_agg(phase, earned) as earned,
             jsonb_build_object('succeeded', sum(succeeded), 'failed', sum(failed), 'cancelled', sum(cancelled)) as ended
        from (select h.parent, coalesce(h.phase, '') as phase, count(*) as children,
                     sum(coalesce(h.weight, 1)::numeric * (1 - reached.share)) as passed,
                     sum(coalesce(h.weight, 1)::numeric
                         * (case when h.state = 'succeeded' then 1 else 0 end - reached.share)) as earned,
                     count(*) filter (where h.state = 'succeeded') as succeeded,
                     count(*) filter (where h.state = 'failed') as failed,
                     count(*) filter (where h.state = 'cancelled') as cancelled
                from penstock.history as h
               cross join lateral (
                 select least(100, coalesce((h.progress->>'percent')::numeric, 0)) / 100 as share) as reached
               where h.id = any(v_round)
               group by h.parent, coalesce(h.phase, '')) as by_phase
       group by parent
       order by parent
    loop
      select * into v_flow from penstock.jobs where id = v_job.parent and state = 'blocked' for update;
      continue when not found;
      if v_flow.rollup ? 'parts' then
        v_job.ended := v_job.ended || (
          select jsonb_build_object('parts', jsonb_object_agg(part, succeeded),
                                    'lost', jsonb_agg(part) filter (where succeeded < ended))
            from (select h.options->>'part' as part, count(*) as ended,
                         count(*) filter (where h.state = 'succeeded') as succeeded
                    from penstock.history as h
                   where h.id = any(v_round) and h.parent = v_flow.id and h.options ? 'part'
                   group by 1) as by_part);
      end if;
      -- a flow that goes on has passed what failed; otherwise only what succeeded takes it further
      perform penstock.bubble_ended(v_flow,
        case when v_flow.rollup->>'policy' = 'continue' and not v_flow.cancel_requested then v_job.passed else v_job.earned end,
        v_job.ended, v_round);
      update penstock.jobs
         set waiting_on = waiting_on - v_job.children
       where id = v_flow.id
      returning * into v_flow;
      if v_flow.rollup->>'policy' = 'cancel'
         and not v_flow.cancel_requested
         and (v_flow.rollup->>'failed')::int + (v_flow.rollup->>'cancelled')::int > 0
      then
        update penstock.jobs set cancel_requested = true where id = v_flow.id returning * into v_flow;
        v_next := v_next || penstock.cancel_tree(
          array(select id from penstock.jobs where parent = v_flow.id), 'another job of its flow did not succeed');
      end if;
      -- children that were cancelled just above are booked in the next round, which looks here again
      if v_flow.waiting_on = 0
         or (v_flow.cancel_requested
             and not exists (select from penstock.jobs where parent = v_flow.id)
             and not exists (select from penstock.history where id = any(v_next) and parent = v_flow.id))
      then
        v_next := v_next || penstock.unblock(v_flow);
      end if;
    end loop;

    v_round := array(select distinct unnest(v_next));
  end loop;
end
$$;
