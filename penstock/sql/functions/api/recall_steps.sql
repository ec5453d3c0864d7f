-- What earlier runs of a job did and wait for, for its holder, in order; not what others told it. Raises PS004 for anybody else. Of a wait, `waits` tells whether
-- what it waits for is not there yet; of a call, the output has its jobs: [{"id", "kind", "state", "output", "error", "type"}]. One that is gone
-- has no more than its id: nobody waits for it.
create or replace function penstock.recall_steps(p_lease bigint, p_id uuid, p_claims int)
returns table (name text, output jsonb, kind text, number int, version int, waits boolean)
language plpgsql stable
set enable_seqscan = off
set jit = off
as $$
#variable_conflict use_column
declare
  v_now timestamptz := penstock.clock();
begin
  perform penstock.refuse_others(p_lease, p_id, p_claims);
  return query
  select s.name, case when s.kind = 'call' then s.output || jsonb_build_object('jobs', called.jobs) else s.output end, s.kind,
         s.number, s.version,
         case when s.kind = 'sleep' then (s.output->>'until')::timestamptz > v_now
              when s.kind = 'call' then called.unfinished > 0
              when s.kind in ('event', 'approval') then not s.output ?| '{emitted_at,timed_out}'
              else false end
    from penstock.steps as s
    left join lateral (
      select jsonb_agg(jsonb_build_object(
               'id', i.id, 'kind', c.kind, 'state', c.state, 'output', c.output,
               'error', c.failure->>'error', 'type', c.failure->>'type') order by i.place) as jobs,
             count(*) filter (where c.id is not null and c.finished_at is null) as unfinished
        from jsonb_array_elements_text(s.output->'ids') with ordinality as i (id, place)
        -- `offset 0` makes it a look-up for each: joined, the planner reads all jobs when it believes them few
        left join lateral (
          select a.id, a.kind, a.state, a.output, a.finished_at,
                 case when a.state in ('failed', 'cancelled') then a.errors->-1 end as failure
            from penstock.all_jobs as a
           where a.id = i.id::uuid
          offset 0) as c on true
    ) as called on s.kind = 'call'
   where s.job = p_id and s.kind <> 'callback'
   order by s.number, s.done_at, s.name;
end
$$;
