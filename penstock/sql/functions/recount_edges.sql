-- Counts anew what a job without children waits for.
create or replace function penstock.recount_edges(p_id uuid)
returns void
language sql
as $$
  update penstock.jobs
     set waiting_on = (select count(*)
                         from penstock.edges as e
                         join penstock.jobs as j on j.id = e.waits_for
                        where e.job = p_id)
   where id = p_id
$$;
