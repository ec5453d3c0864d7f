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
begin
  select * into v_flow from penstock.jobs where id = p_flow and state = 'blocked' for update;
  if not found then
    return;
  end if;
  v_live := (select count(*) from penstock.jobs where parent = p_flow);
  v_flow.rollup := penstock.count_children(v_flow, v_flow.rollup->>'policy' = 'continue' and not v_flow.cancel_requested);
  update penstock.jobs
     set rollup = v_flow.rollup,
         progress = penstock.rollup_progress(v_flow.rollup, v_flow.progress),
         waiting_on = v_live + (select count(*)
                                  from penstock.edges as e
                                  join penstock.jobs as j on j.id = e.waits_for
                                 where e.job = p_flow)
                        + (select count(*) from penstock.waits where job = p_flow)
   where id = p_flow;
end
$$;
