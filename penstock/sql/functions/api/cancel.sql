-- Cancels jobs, whole flows included. A job that has not started ends as cancelled; a running one is asked to stop.
-- Returns the ids this call reached; finished or unknown ones are not among them.
create or replace function penstock.cancel(p_ids uuid[], p_reason text default 'cancelled')
returns uuid[]
language plpgsql
set enable_seqscan = off
as $$
declare
  v_reached uuid[] := array(select id from penstock.jobs where id = any(p_ids));
begin
  perform penstock.settle(penstock.cancel_tree(v_reached, p_reason));
  return v_reached;
end
$$;
