-- Retries finished jobs by filter (see list_jobs): those that failed, unless the filter names another state.
-- Jobs whose unique key another job holds are left as they are. Returns the revived ids.
create or replace function penstock.retry_where(p_filter jsonb default '{}', p_queue text default null)
returns uuid[]
language plpgsql
as $$
declare
  v_filter jsonb := '{"state": "failed"}'::jsonb || p_filter;
  v_ids uuid[];
begin
  execute format(
    'select array_agg(id) from (
       select distinct on (coalesce(kind || '' '' || unique_key, id::text)) id
         from penstock.history as h
        where %s
          and not exists (select from penstock.jobs as j where j.kind = h.kind and j.unique_key = h.unique_key)
        order by coalesce(kind || '' '' || unique_key, id::text), id desc) as failed',
    penstock.filter_text(v_filter))
    into v_ids using v_filter;
  return penstock.retry(v_ids, p_queue);
end
$$;
