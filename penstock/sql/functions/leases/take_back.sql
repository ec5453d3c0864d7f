-- A flow is about to end without success: what it shows from here on is what succeeded, not how far its last step was or
-- what failed on the way. The flows above it, whose caller has locked them, hear of the difference.
create or replace function penstock.take_back(p_flow penstock.jobs)
returns void
language plpgsql
set enable_seqscan = off
as $$
declare
  v_progress jsonb;
begin
  if p_flow.rollup->>'policy' = 'continue' and (p_flow.rollup->>'failed')::int + (p_flow.rollup->>'cancelled')::int > 0 then
    p_flow.rollup := penstock.count_children(p_flow, false);
  end if;
  v_progress := penstock.rollup_progress(p_flow.rollup, p_flow.progress);
  update penstock.jobs set rollup = p_flow.rollup, progress = v_progress where id = p_flow.id;
  perform penstock.bubble(p_flow.parent, p_flow.phase,
    ((v_progress->>'percent')::numeric - coalesce((p_flow.progress->>'percent')::numeric, 0)) / 100
      * coalesce(p_flow.weight, 1)::numeric);
end
$$;
