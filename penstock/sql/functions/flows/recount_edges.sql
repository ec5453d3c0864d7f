-- Counts anew what a blocked job without children waits for. Its row is locked before the snapshot that counts: a
-- completion that is under way has been counted off by then, or will find the new count.
create or replace function penstock.recount_edges(p_id uuid)
returns void
language plpgsql
as $$
begin
  perform from penstock.jobs where id = p_id and state = 'blocked' for update;
  if found then
    update penstock.jobs
       set waiting_on = (select count(*)
                           from penstock.edges as e
                           join penstock.jobs as j on j.id = e.waits_for
                          where e.job = p_id)
     where id = p_id;
  end if;
end
$$;
