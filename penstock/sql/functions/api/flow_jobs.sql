-- A flow and the jobs below it, live and finished, with what each waits for: at most p_limit of them, from the top. Planned once a
-- session, see get_job.
create or replace function penstock.flow_jobs(p_job uuid, p_limit int default 1000)
returns table (
  id uuid, parent uuid, kind text, phase text, name text, state penstock.job_state, percent float8, calls boolean, waits_for uuid[]
)
language plpgsql stable
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set jit = off
set enable_hashjoin = off
set enable_mergejoin = off
as $$
#variable_conflict use_column
begin
  return query
    with recursive tree as (
      (select j.id, j.parent, j.kind, j.phase, j.options, j.state, j.progress, j.rollup from penstock.jobs as j where j.id = p_job
       union all
       select h.id, h.parent, h.kind, h.phase, h.options, h.state, h.progress, h.rollup from penstock.history as h where h.id = p_job)
      union all
      select child.*
        from tree
       cross join lateral (
         select c.id, c.parent, c.kind, c.phase, c.options, c.state, c.progress, c.rollup from penstock.jobs as c where c.parent = tree.id
         union all
         select c.id, c.parent, c.kind, c.phase, c.options, c.state, c.progress, c.rollup from penstock.history as c where c.parent = tree.id
       ) as child
    ), first as (
      select * from tree limit p_limit
    )
    select f.id, f.parent, f.kind, f.phase, f.options->>'name', f.state,
           case when f.state = 'succeeded' then 100 else coalesce((f.progress->>'percent')::float8, 0) end,
           coalesce(f.rollup ? 'calls', false),
           array(select e.waits_for from penstock.edges as e where e.job = f.id)
      from first as f;
end
$$;
