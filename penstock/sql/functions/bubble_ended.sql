-- Books ended children in their flow's roll-up and carries the progress up.
create or replace function penstock.bubble_ended(p_flow penstock.jobs, p_amounts jsonb, p_ended jsonb)
returns void
language plpgsql
as $$
declare
  v_rollup jsonb := penstock.rollup_add(p_flow.rollup, p_amounts, p_ended);
  v_progress jsonb := penstock.rollup_progress(v_rollup, p_flow.progress);
begin
  update penstock.jobs set rollup = v_rollup, progress = v_progress where id = p_flow.id;
  if p_flow.watched then
    perform penstock.tell_watchers(array[p_flow.id]);
  end if;
  perform penstock.bubble(p_flow.parent, p_flow.phase,
    ((v_progress->>'percent')::numeric - coalesce((p_flow.progress->>'percent')::numeric, 0)) / 100
      * coalesce(p_flow.weight, 1)::numeric);
end
$$;
