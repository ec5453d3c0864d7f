-- What a job has done and waits for so far, in its order, for whoever looks at it. `waits`: what it waits for is not there yet; `until`:
-- when it gives up, or wakes. Of a call, `jobs` are those it called. While it waits for an event, `output` is which: {event, key}; for
-- an approval, what was asked.
create or replace function penstock.steps_of(p_job uuid)
returns table (name text, output jsonb, done_at timestamptz, kind text, waits boolean, until timestamptz, jobs jsonb)
language sql stable
as $$
  select case when s.kind = 'callback' then regexp_replace(s.name, '^penstock[.]callback ', '') else s.name end,
         case when s.kind in ('event', 'approval') and s.output ?| '{emitted_at,timed_out}' then s.output->'payload'
              when s.kind = 'event' then jsonb_build_object('event', s.output->'event', 'key', coalesce(s.output->>'key', ''))
              when s.kind = 'approval' then s.output->'about'
              when s.kind in ('sleep', 'call') then null
              else s.output end,
         s.done_at, s.kind,
         case s.kind when 'sleep' then (s.output->>'until')::timestamptz > penstock.clock()
                     when 'call' then coalesce(called.unfinished > 0, false)
                     when 'event' then not s.output ?| '{emitted_at,timed_out}'
                     when 'approval' then not s.output ?| '{emitted_at,timed_out}'
                     else false end,
         case when s.kind in ('sleep', 'event', 'approval') then (s.output->>'until')::timestamptz end,
         called.jobs
    from penstock.steps as s
    left join lateral (
      select jsonb_agg(jsonb_build_object('id', c.id, 'kind', c.kind, 'state', c.state) order by i.place) filter (where i.place <= 20)
               as jobs,
             count(*) filter (where c.finished_at is null) as unfinished
        from jsonb_array_elements_text(s.output->'ids') with ordinality as i (id, place)
        -- `offset 0`: a look-up for each, as in penstock.recall_steps()
        cross join lateral (
          select a.id, a.kind, a.state, a.finished_at from penstock.all_jobs as a where a.id = i.id::uuid offset 0) as c
    ) as called on s.kind = 'call'
   where s.job = p_job
   order by s.number, s.done_at, s.name
$$;
