-- Retries finished jobs by filter (see list_jobs): those that failed, unless the filter names another state.
-- Jobs that cannot come back because another job holds their unique key, or that of their flow, are left as they are.
-- Returns the revived ids.
create or replace function penstock.retry_where(p_filter jsonb default '{}', p_queue text default null)
returns uuid[]
language plpgsql
as $$
declare
  v_filter jsonb := '{"state": "failed"}'::jsonb || p_filter;
  v_ids uuid[];
  v_id uuid;
  v_revived uuid[] := '{}';
begin
  execute format(
    'select array_agg(id) from (
       select distinct on (kind, unique_key, owner, org, case when unique_key is null then id end) id
         from penstock.history as h
        where %s
          and not exists (
            select from penstock.jobs as j
             where j.kind = h.kind and j.unique_key = h.unique_key
               and coalesce(j.owner, '''') = coalesce(h.owner, '''') and coalesce(j.org, '''') = coalesce(h.org, ''''))
        order by kind, unique_key, owner, org, case when unique_key is null then id end, id desc) as failed',
    penstock.filter_text(v_filter))
    into v_ids using v_filter;
  begin
    return penstock.retry(v_ids, p_queue);
  exception when sqlstate 'PS006' then
    null;
  end;
  -- one of them, or what it brings with it, cannot: find out which
  foreach v_id in array v_ids loop
    begin
      v_revived := v_revived || penstock.retry(array[v_id], p_queue);
    exception when sqlstate 'PS006' then
      null;
    end;
  end loop;
  return v_revived;
end
$$;
