-- Gives jobs that have not started another priority, of which they come to the end of the line. Returns the ids that had another.
create or replace function penstock.set_priority(p_ids uuid[], p_priority int)
returns uuid[]
language plpgsql
as $$
begin
  if p_priority is null then
    raise exception 'priority: must be a whole number' using errcode = 'PS001';
  end if;
  return penstock.requeue(p_ids, null, p_priority);
end
$$;
