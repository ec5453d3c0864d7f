-- How many artifacts a sweep would remove, counted up to a thousand. Cheap when there are none, however many there are: must
-- use artifacts_expires_at and artifacts_unsettled, hence the time as a constant.
create or replace function penstock.artifacts_due(p_grace double precision)
returns int
language plpgsql stable
set enable_seqscan = off
as $$
declare
  v_now timestamptz := penstock.clock();
begin
  return (
    select count(*)
      from (
        select id from penstock.artifacts where expires_at < v_now and state = 'stored'
        union all
        select a.id
          from penstock.artifacts as a
         where a.state = 'removing'
            or (a.state = 'writing' and a.created_at < v_now - make_interval(secs => p_grace) and not penstock.is_being_written(a))
        limit 1000
      ) as due);
end
$$;
