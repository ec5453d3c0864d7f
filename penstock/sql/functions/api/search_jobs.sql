-- A page of jobs, live and finished, newest first, by a filter (see list_jobs) that need have no index: walks from p_before back by
-- the order of ids and stops when the page is full, when p_most rows were looked at or when p_ms are over, so that it takes no
-- longer over ten million jobs than over a few. `next` is where to go on, null when all was looked through; `back_to` says how far
-- it came. With p_after it walks from there on, oldest first.
--   What has an index that is ordered by id is walked by that: owner, org, failures of a queue. Failures of all queues, and what
--   an error says, along the errors. Running, scheduled and blocked jobs, and those of a flow, are taken as they are when they are
--   few: they may be the oldest of a million.
create or replace function penstock.search_jobs(
  p_filter jsonb default '{}', p_before uuid default null, p_limit int default 50, p_most int default 20000, p_ms int default 50,
  p_after uuid default null
)
returns table (ids uuid[], next uuid, back_to timestamptz)
language plpgsql stable
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
set enable_hashagg = off
set jit = off
as $$
declare
  c_few constant int := 5000;
  -- ids tell the time of whoever made them, whose clock need not be ours
  c_slack constant interval := '1 minute';
  v_until timestamptz := clock_timestamp() + make_interval(secs => p_ms / 1000.0);
  v_states text[] := case when p_filter ? 'state' then penstock.as_array(p_filter->'state') end;
  v_queue text;
  v_below uuid := least(p_before, penstock.uuid7_floor((p_filter->>'created_before')::timestamptz + c_slack));
  v_from uuid := coalesce(penstock.uuid7_floor((p_filter->>'created_after')::timestamptz - c_slack),
                          '00000000-0000-0000-0000-000000000000');
  v_indexed text[] := '{ids,id}';
  v_by jsonb;
  v_fits text;
  v_where text;
  v_range text;
  v_order text := case when p_after is null then 'desc' else 'asc' end;
  v_few uuid[];
  v_source text;
  v_row record;
  v_looked int := 0;
begin
  ids := '{}';
  -- one value each: of several the index would not give the order
  select coalesce(jsonb_object_agg(key, case when jsonb_typeof(value) = 'array' and jsonb_array_length(value) = 1 and key <> 'ids'
                                             then value->0 else value end), '{}')
    into p_filter
    from jsonb_each(p_filter);
  v_queue := case when jsonb_typeof(p_filter->'queue') = 'string' then p_filter->>'queue' end;
  if jsonb_typeof(p_filter->'owner') = 'string' then
    v_indexed := v_indexed || 'owner'::text;
  elsif jsonb_typeof(p_filter->'org') = 'string' then
    v_indexed := v_indexed || 'org'::text;
  elsif v_states = '{failed}' and v_queue is not null and not p_filter ? 'error' then
    v_indexed := v_indexed || '{state,queue}'::text[];
  end if;
  select coalesce(jsonb_object_agg(key, value), '{}') into v_by from jsonb_each(p_filter) where key = any(v_indexed);
  v_fits := penstock.filter_text(p_filter - v_indexed);
  v_where := penstock.filter_text(v_by)
    || case when v_states <@ '{succeeded,failed,cancelled}' then ' and finished_at is not null'
            when not v_states && '{succeeded,failed,cancelled}' then ' and finished_at is null'
            else '' end;
  v_range := concat(format('id >= %L', v_from), ' and id < ' || quote_literal(v_below), ' and id > ' || quote_literal(p_after));

  if p_filter ? 'parent' then
    v_few := array(
      (select id from penstock.jobs where parent = any(penstock.as_array(p_filter->'parent')::uuid[]) limit c_few + 1)
      union all
      (select id from penstock.history where parent = any(penstock.as_array(p_filter->'parent')::uuid[]) limit c_few + 1));
  elsif v_states <@ '{running,scheduled,blocked}' then
    v_few := array(
      (select id from penstock.running_jobs(v_queue) where 'running' = any(v_states) limit c_few + 1)
      union all
      (select id from penstock.jobs
        where 'scheduled' = any(v_states) and state = 'scheduled' and run_at >= (select (penstock.time_floor()).due_since)
        limit c_few + 1)
      union all
      (select id from penstock.jobs where 'blocked' = any(v_states) and waiting_on > 0 limit c_few + 1));
  end if;
  if cardinality(v_few) <= c_few then
    v_where := v_where || ' and id = any($2)';
  end if;

  if v_by = '{}' and v_few is null and (p_filter ? 'error' or v_states = '{failed}') then
    v_source := format(
      'select e.id, %s and coalesce((select %s from penstock.all_jobs where id = e.id), false) as fits
         from penstock.errors as e
        where %s
        group by e.id
        order by e.id %s',
      case when p_filter ? 'error' then 'bool_or(position(lower($1->>''error'') in lower(e.error->>''error'')) > 0)' else 'true' end,
      penstock.filter_text(p_filter - 'error'), v_range, v_order);
  else
    v_source := format('select id, %s as fits from penstock.all_jobs where %s and %s order by id %s', v_fits, v_where, v_range, v_order);
  end if;

  for v_row in execute v_source || ' limit $3' using p_filter, v_few, p_most + 1 loop
    v_looked := v_looked + 1;
    if v_row.fits then
      if cardinality(ids) = p_limit then
        next := ids[p_limit];
        exit;
      end if;
      ids := ids || v_row.id;
    end if;
    if v_looked > p_most or (v_looked % 128 = 0 and clock_timestamp() > v_until) then
      next := v_row.id;
      exit;
    end if;
  end loop;
  if next is not null then
    back_to := penstock.time_of_uuid7(next);
  end if;
  return next;
end
$$;
