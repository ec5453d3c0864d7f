-- Adds finished work to a flow's roll-up: a pure function. p_amounts maps a phase to the weight to add, p_ended
-- counts the children that ended, by state, under "parts" those that succeeded by the part they belong to, and under "lost"
-- names the parts of those that did not. A roll-up is
--   {"policy": "cancel"|"continue", "hollow": bool, "total": n, "succeeded": n, "failed": n, "cancelled": n, "start": percent,
--    "phases": [{"name": ..., "from": percent, "span": percentage points, "weight": w, "done": w}, ...],
--    "parts": {part: children of it that have not succeeded, or -1 when one of them ended otherwise, ...},
--    "speaking": [the children whose messages it showed last, the latest at the end]}
-- where "from" is missing if the phases have no ranges, "parts" if none was named, and "speaking" while nobody has spoken.
create or replace function penstock.rollup_add(p_rollup jsonb, p_amounts jsonb, p_ended jsonb default '{}')
returns jsonb
language sql immutable
as $$
  select p_rollup || jsonb_build_object(
    'succeeded', (p_rollup->>'succeeded')::int + coalesce((p_ended->>'succeeded')::int, 0),
    'failed', (p_rollup->>'failed')::int + coalesce((p_ended->>'failed')::int, 0),
    'cancelled', (p_rollup->>'cancelled')::int + coalesce((p_ended->>'cancelled')::int, 0),
    'phases', (
      select jsonb_agg(
        phase || jsonb_build_object('done',
          least((phase->>'weight')::numeric,
                greatest(0, (phase->>'done')::numeric + coalesce((p_amounts->>(phase->>'name'))::numeric, 0))))
        order by place)
        from jsonb_array_elements(p_rollup->'phases') with ordinality as p (phase, place)))
    || case when p_rollup ? 'parts' then jsonb_build_object('parts', (
      select jsonb_object_agg(part.key, case
               when part.value < '0' or p_ended->'lost' ? part.key then -1
               else part.value::int - coalesce((p_ended->'parts'->>part.key)::int, 0) end)
        from jsonb_each(p_rollup->'parts') as part)) else '{}' end
$$;
