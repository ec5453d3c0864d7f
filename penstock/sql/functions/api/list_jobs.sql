-- Jobs, live and finished, newest first, one page at a time: p_before is the last id of the page before.
-- p_filter may hold queue, kind, state, owner, org, parent, unique_key, ids (arrays allowed for all), args (contained),
-- id (how it begins), error (what one of its attempts has said), created_after, created_before.
-- Built as text so that the planner knows which filters are there and takes the index that fits.
create or replace function penstock.list_jobs(p_filter jsonb default '{}', p_before uuid default null, p_limit int default 50)
returns setof penstock.all_jobs
language plpgsql stable
set jit = off
as $$
declare
  v_where text := penstock.filter_text(p_filter);
begin
  return query execute
    format('select * from penstock.all_jobs where %s and ($2 is null or id < $2) order by id desc limit $3', v_where)
    using p_filter, p_before, p_limit;
end
$$;
