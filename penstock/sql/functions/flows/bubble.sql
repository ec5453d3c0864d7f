-- Carries a child's progress up through the flows above it. p_amount is in units of the child's weight; p_speaker is the
-- child whose message it is. The caller has locked them (lock_flows).
create or replace function penstock.bubble(
  p_parent uuid, p_phase text, p_amount numeric, p_message text default null, p_speaker uuid default null
)
returns void
language plpgsql
as $$
declare
  v_flow penstock.jobs;
  v_before numeric;
  v_speaking jsonb;
  v_watched uuid[] := '{}';
begin
  while p_parent is not null and (p_amount <> 0 or p_message is not null) loop
    select * into v_flow from penstock.jobs where id = p_parent and state = 'blocked' and rollup is not null for update;
    exit when not found;
    v_before := coalesce((v_flow.progress->>'percent')::numeric, 0);
    v_flow.rollup := penstock.rollup_add(v_flow.rollup, jsonb_build_object(coalesce(p_phase, ''), p_amount));
    if p_message is not null then
      -- a few are enough to find one that still runs when the last has ended
      v_speaking := coalesce(v_flow.rollup->'speaking', '[]') - p_speaker::text || to_jsonb(p_speaker);
      v_flow.rollup := v_flow.rollup || jsonb_build_object('speaking',
        case when jsonb_array_length(v_speaking) > 16 then v_speaking - 0 else v_speaking end);
    end if;
    v_flow.progress := penstock.rollup_progress(v_flow.rollup, v_flow.progress, p_message);
    update penstock.jobs set rollup = v_flow.rollup, progress = v_flow.progress where id = p_parent;
    if v_flow.watched then
      v_watched := v_watched || v_flow.id;
    end if;
    p_amount := ((v_flow.progress->>'percent')::numeric - v_before) / 100 * coalesce(v_flow.weight, 1)::numeric;
    p_phase := v_flow.phase;
    p_parent := v_flow.parent;
    p_speaker := v_flow.id;
  end loop;
  if v_watched <> '{}' then
    perform penstock.tell_watchers(v_watched);
  end if;
end
$$;
