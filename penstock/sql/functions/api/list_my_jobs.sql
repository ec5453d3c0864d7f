-- The jobs that the caller may see, newest first, one page at a time; filters as of list_jobs.
-- By owner or organisation it must use jobs_owner, jobs_org and theirs of history, which give the order by id too. The policy's
-- "or" would have the planner read both, all of the owner's jobs, to sort them: 540 blocks instead of 60 for a page.
create or replace function penstock.list_my_jobs(
  p_filter jsonb default '{}', p_before uuid default null, p_limit int default 50
)
returns setof penstock.my_jobs
language plpgsql stable
set jit = off
set enable_bitmapscan = on
as $$
declare
  v_where text := penstock.filter_text(p_filter);
begin
  if p_filter ?| '{unique_key,error}' then
    raise exception '%: no such filter of jobs', case when p_filter ? 'error' then 'error' else 'unique_key' end
      using errcode = 'PS001';
  end if;
  if jsonb_typeof(p_filter->'owner') = 'string' or jsonb_typeof(p_filter->'org') = 'string' then
    -- ends with the function, because it sets this itself
    perform set_config('enable_bitmapscan', 'off', true);
  end if;
  return query execute
    format('select * from penstock.my_jobs where %s and ($2 is null or id < $2) order by id desc limit $3', v_where)
    using p_filter, p_before, p_limit;
end
$$;
