-- Asks for a NOTIFY on penstock.job whenever this job's progress or state changes. False when it is finished or unknown.
-- A worker that looked for work in this very moment has passed over a ready job, whose row is locked here: it is told again.
create or replace function penstock.watch(p_id uuid)
returns boolean
language plpgsql
set enable_seqscan = off
as $$
declare
  v_job record;
begin
  update penstock.jobs set watched = true where id = p_id and not watched returning queue, state into v_job;
  if found then
    if v_job.state = 'ready' then
      perform penstock.wake(v_job.queue);
    end if;
    return true;
  end if;
  return exists (select from penstock.jobs where id = p_id);
end
$$;
