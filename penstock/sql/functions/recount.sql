-- Counts anew what a flow waits for and how far it is, from its children: after some of them came back to life.
create or replace function penstock.recount(p_flow uuid)
returns void
language plpgsql
set enable_seqscan = off
set jit = off
as $$
declare
  v_flow penstock.jobs;
  v_live int;
  v_ended jsonb;
  v_done jsonb;
begin
  select * into v_flow from penstock.jobs where id = p_flow and state = 'blocked' for update;
  if not found then
    return;
  end if;
  select count(*) filter (where finished_at is null),
         jsonb_build_object(
           'succeeded', count(*) filter (where state = 'succeeded'),
           'failed', count(*) filter (where state = 'failed'),
           'cancelled', count(*) filter (where state = 'cancelled'))
    into v_live, v_ended
    from penstock.all_jobs
   where parent = p_flow;
  select jsonb_object_agg(phase, done)
    into v_done
    from (select coalesce(phase, '') as phase,
                 sum(coalesce(weight, 1)::numeric
                     * case when finished_at is not null then 1
                            else coalesce((progress->>'percent')::numeric, 0) / 100 end) as done
            from penstock.all_jobs
           where parent = p_flow
           group by 1) as by_phase;
  if v_flow.rollup ? 'parts' then
    v_flow.rollup := v_flow.rollup || jsonb_build_object('parts', (
      select jsonb_object_agg(part, live)
        from (select options->>'part' as part, count(*) filter (where finished_at is null) as live
                from penstock.all_jobs
               where parent = p_flow and options ? 'part'
               group by 1) as by_part));
  end if;
  v_flow.rollup := penstock.rollup_add(
    v_flow.rollup
      || '{"succeeded": 0, "failed": 0, "cancelled": 0}'
      || jsonb_build_object('phases', (
           select jsonb_agg(phase || '{"done": 0}' order by place)
             from jsonb_array_elements(v_flow.rollup->'phases') with ordinality as p (phase, place))),
    v_done, v_ended);
  update penstock.jobs
     set rollup = v_flow.rollup,
         progress = penstock.rollup_progress(v_flow.rollup, v_flow.progress),
         waiting_on = v_live + (select count(*)
                                  from penstock.edges as e
                                  join penstock.jobs as j on j.id = e.waits_for
                                 where e.job = p_flow)
   where id = p_flow;
end
$$;
