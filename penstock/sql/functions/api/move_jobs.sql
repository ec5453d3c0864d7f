-- Moves jobs that have not started to another queue, where they come to the end of the line. Returns the ids that were moved.
create or replace function penstock.move_jobs(p_ids uuid[], p_queue text)
returns uuid[]
language plpgsql
as $$
begin
  if coalesce(p_queue, '') = '' then
    raise exception 'queue: must not be empty' using errcode = 'PS001';
  end if;
  return penstock.requeue(p_ids, p_queue, null);
end
$$;
