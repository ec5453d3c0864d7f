-- Marks what a sweep is to remove, and returns it, a page at a time by id: what has expired, what was announced and is
-- not written any more, when it is older than a time of grace, and what somebody began to remove.
create or replace function penstock.stale_artifacts(p_grace double precision, p_after uuid, p_limit int)
returns setof uuid
language plpgsql
as $$
declare
  v_now timestamptz := penstock.clock();
  v_ids uuid[];
begin
  v_ids := array(
    select a.id
      from penstock.artifacts as a
     where (p_after is null or a.id > p_after)
       and ((a.state = 'stored' and a.expires_at < v_now)
            or a.state = 'removing'
            or (a.state = 'writing' and a.created_at < v_now - make_interval(secs => p_grace) and not penstock.is_being_written(a)))
     order by a.id
     limit p_limit
       for update skip locked);
  update penstock.artifacts set state = 'removing' where id = any(v_ids) and state <> 'removing';
  return query select unnest(v_ids);
end
$$;
