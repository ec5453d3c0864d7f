-- What a job of the caller's asks its owner, who is the caller: what `approve_mine` would let them answer.
create or replace function penstock.asked_of_mine(p_job uuid)
returns table (
  job uuid, kind text, queue text, owner text, org text, step text, question text, details jsonb, by text, since timestamptz,
  until timestamptz, cursor text
)
language sql stable security definer
set search_path = pg_catalog, pg_temp
as $$
  select a.* from penstock.asked_of_job(p_job) as a where a.by = 'owner' and a.owner = penstock.caller()
$$;
