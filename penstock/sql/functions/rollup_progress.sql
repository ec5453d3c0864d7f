-- What a flow's roll-up looks like to somebody watching: the percentage over all phases, the first phase that is not
-- through, and how many of its jobs have ended.
create or replace function penstock.rollup_progress(p_rollup jsonb, p_before jsonb default null, p_message text default null)
returns jsonb
language sql immutable
as $$
  select coalesce(p_before, '{}')
    || jsonb_strip_nulls(jsonb_build_object(
      'percent', (
        select round(coalesce((p_rollup->>'start')::numeric, 0) + coalesce(sum((phase->>'span')::numeric * (phase->>'done')::numeric / (phase->>'weight')::numeric), 0), 2)
          from jsonb_array_elements(p_rollup->'phases') as phase
         where (phase->>'weight')::numeric > 0),
      'phase', nullif(coalesce(
        (select phase->>'name'
           from jsonb_array_elements(p_rollup->'phases') with ordinality as p (phase, place)
          where (phase->>'done')::numeric < (phase->>'weight')::numeric
          order by place
          limit 1),
        p_rollup->'phases'->-1->>'name'), ''),
      'done', (p_rollup->>'succeeded')::int + (p_rollup->>'failed')::int + (p_rollup->>'cancelled')::int,
      'total', (p_rollup->>'total')::int,
      'message', p_message))
$$;
