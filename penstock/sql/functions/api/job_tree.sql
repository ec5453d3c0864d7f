-- A job and everything below it in its flow, live and finished, in the order they were enqueued. Users call it too: it
-- reads only what they may, and of what they may not see nothing comes. Planned once a session, see get_job: planning for
-- all partitions of history takes 10 ms.
create or replace function penstock.job_tree(p_job uuid)
returns table (id uuid, kind text, state penstock.job_state)
language plpgsql stable
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set jit = off
set enable_hashjoin = off
set enable_mergejoin = off
as $$
#variable_conflict use_column
begin
  -- not from flow_jobs(), which is not for users, and reads for each job what this one does not show
  return query
    with recursive tree as (
      (select j.id, j.kind, j.state from penstock.jobs as j where j.id = p_job
       union all
       select h.id, h.kind, h.state from penstock.history as h where h.id = p_job)
      union
      select child.id, child.kind, child.state
        from tree
       cross join lateral (
         select c.id, c.kind, c.state from penstock.jobs as c where c.parent = tree.id
         union all
         select c.id, c.kind, c.state from penstock.history as c where c.parent = tree.id
       ) as child
    )
    select id, kind, state from tree order by id;
end
$$;
