-- Asks for a NOTIFY on penstock.job whenever this job's progress or state changes. False when it is finished or unknown.
create or replace function penstock.watch(p_id uuid)
returns boolean
language plpgsql
set enable_seqscan = off
as $$
begin
  update penstock.jobs set watched = true where id = p_id and not watched;
  return found or exists (select from penstock.jobs where id = p_id);
end
$$;
