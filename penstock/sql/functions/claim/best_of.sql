-- Of these jobs the first p_limit in their order.
create or replace function penstock.best_of(p_ids uuid[], p_limit int)
returns uuid[]
language plpgsql stable
set enable_seqscan = off
set jit = off
set enable_bitmapscan = off
as $$
begin
  if cardinality(p_ids) <= p_limit then
    return p_ids;
  end if;
  return array(select id from penstock.jobs where id = any(p_ids) order by priority desc, turn, id limit p_limit);
end
$$;
