-- Deletes finished jobs by filter (see list_jobs): those that failed, unless the filter names another state.
-- What a live job waited for, or counts among its children, stays until that one has finished. Returns how many.
create or replace function penstock.purge_where(p_filter jsonb default '{}')
returns int
language plpgsql
as $$
declare
  v_filter jsonb := '{"state": "failed"}'::jsonb || p_filter;
  v_purged uuid[];
begin
  execute format(
    'with purged as (
       delete from penstock.history as h
        where %s
          and not exists (select from penstock.jobs as flow where flow.id = h.parent)
          and not (awaited and exists (
                select from penstock.edges as e
                  join penstock.jobs as waiter on waiter.id = e.job
                 where e.waits_for = h.id))
       returning id)
     select array_agg(id) from purged',
    penstock.filter_text(v_filter))
    into v_purged using v_filter;
  if v_purged is not null then
    perform penstock.forget(v_purged);
    with gone as (
      delete from penstock.steps where job = any(v_purged) returning job, kind
    )
    delete from penstock.events as e using gone as g where g.kind = 'callback' and e.key = g.job::text;
    delete from penstock.edges where job = any(v_purged);
  end if;
  return coalesce(cardinality(v_purged), 0);
end
$$;
