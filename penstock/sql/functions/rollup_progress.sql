-- What a flow's roll-up looks like to somebody watching: the percentage over all phases, the first phase that is not
-- through, and how many of its jobs have ended. A phase without jobs counts as passed. A phase is through within the
-- precision of its jobs' weights: three thirds of them are less than one.
create or replace function penstock.rollup_progress(p_rollup jsonb, p_before jsonb default null, p_message text default null)
returns jsonb
language sql immutable
as $$
  select coalesce(p_before, '{}')
    || jsonb_strip_nulls(jsonb_build_object(
      'percent', (
        select least(100, round(coalesce((p_rollup->>'start')::numeric, 0) + sum((phase->>'span')::numeric
                 * coalesce((phase->>'done')::numeric / nullif((phase->>'weight')::numeric, 0), 1)), 2))
          from jsonb_array_elements(p_rollup->'phases') as phase),
      'phase', nullif(coalesce(
        (select phase->>'name'
           from jsonb_array_elements(p_rollup->'phases') with ordinality as p (phase, place)
          where (phase->>'done')::numeric < (phase->>'weight')::numeric * 0.99999
          order by place
          limit 1),
        p_rollup->'phases'->-1->>'name'), ''),
      'done', (p_rollup->>'succeeded')::int + (p_rollup->>'failed')::int + (p_rollup->>'cancelled')::int,
      'total', (p_rollup->>'total')::int,
      'message', p_message))
$$;
