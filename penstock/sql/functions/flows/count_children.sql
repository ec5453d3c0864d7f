-- A flow's roll-up counted anew from its children. p_going_on: what failed counts as passed, see settle().
create or replace function penstock.count_children(p_flow penstock.jobs, p_going_on boolean)
returns jsonb
language plpgsql
set enable_seqscan = off
set jit = off
as $$
declare
  v_rollup jsonb := p_flow.rollup;
  v_ended jsonb;
  v_done jsonb;
begin
  select jsonb_build_object(
           'succeeded', count(*) filter (where state = 'succeeded'),
           'failed', count(*) filter (where state = 'failed'),
           'cancelled', count(*) filter (where state = 'cancelled'))
    into v_ended
    from penstock.all_jobs
   where parent = p_flow.id;
  select jsonb_object_agg(phase, done)
    into v_done
    from (select coalesce(phase, '') as phase,
                 sum(coalesce(weight, 1)::numeric
                     * case when state = 'succeeded' or (finished_at is not null and p_going_on) then 1
                            when finished_at is not null then 0
                            else coalesce((progress->>'percent')::numeric, 0) / 100 end) as done
            from penstock.all_jobs
           where parent = p_flow.id
           group by 1) as by_phase;
  if v_rollup ? 'parts' then
    v_rollup := v_rollup || jsonb_build_object('parts', (
      select jsonb_object_agg(part, case when lost > 0 then -1 else missing end)
        from (select options->>'part' as part,
                     count(*) filter (where state <> 'succeeded') as missing,
                     count(*) filter (where state in ('failed', 'cancelled')) as lost
                from penstock.all_jobs
               where parent = p_flow.id and options ? 'part'
               group by 1) as by_part));
  end if;
  return penstock.rollup_add(
    v_rollup
      || '{"succeeded": 0, "failed": 0, "cancelled": 0}'
      || jsonb_build_object('phases', (
           select jsonb_agg(phase || '{"done": 0}' order by place)
             from jsonb_array_elements(v_rollup->'phases') with ordinality as p (phase, place))),
    v_done, v_ended);
end
$$;
