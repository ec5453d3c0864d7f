-- What a flow's roll-up looks like to somebody watching: the first phase that is not through, the percentage, and how
-- many of its jobs, or parts, have succeeded; with those that did not, if any, as `failed`. The percentage is within that phase's range, or over all phases when they
-- have none. A phase without jobs counts as passed. A phase is through within the precision of its jobs' weights: three
-- thirds of them are less than one.
create or replace function penstock.rollup_progress(p_rollup jsonb, p_before jsonb default null, p_message text default null)
returns jsonb
language sql immutable
as $$
  with phases as (
    select place, phase->>'name' as name, (phase->>'from')::numeric as start, (phase->>'span')::numeric as span,
           (phase->>'done')::numeric < (phase->>'weight')::numeric * 0.99999 as under_way,
           coalesce((phase->>'done')::numeric / nullif((phase->>'weight')::numeric, 0), 1) as share
      from jsonb_array_elements(p_rollup->'phases') with ordinality as p (phase, place)
  ), shown as (
    select name, start + span * share as percent
      from phases
     order by not under_way, case when under_way then place else -place end
     limit 1
  )
  select coalesce(p_before, '{}') - 'failed'
    || jsonb_strip_nulls(jsonb_build_object(
      'percent', least(100, round(coalesce(
        (select percent from shown),
        coalesce((p_rollup->>'start')::numeric, 0) + (select sum(span * share) from phases)), 2)),
      'phase', nullif((select name from shown), ''),
      'done', case when p_rollup ? 'parts'
                   then (select count(*) from jsonb_each(p_rollup->'parts') as part where part.value = '0')
                   else (p_rollup->>'succeeded')::int end,
      'failed', nullif(
        case when p_rollup ? 'parts'
             then (select count(*) from jsonb_each(p_rollup->'parts') as part where part.value < '0')
             else (p_rollup->>'failed')::int + (p_rollup->>'cancelled')::int end, 0),
      'total', case when p_rollup ? 'parts'
                    then (select count(*) from jsonb_object_keys(p_rollup->'parts'))
                    else (p_rollup->>'total')::int end,
      'message', p_message))
$$;
