-- Jobs that an earlier report of this lease's has failed or put back: its answer was lost, and it is made again. They are known by
-- the error that it left, of which p_errors has the beginning, in the order of p_ids: what was taken back with its lease has another.
create or replace function penstock.reported_before(p_lease bigint, p_ids uuid[], p_claims int[], p_errors text[])
returns table (id uuid, state penstock.job_state, run_at timestamptz)
language plpgsql stable
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
#variable_conflict use_column
begin
  return query
    select d.id, ended.state, ended.run_at
      from unnest(p_ids, p_claims, p_errors) as d (id, claims, error)
     cross join lateral (
       select j.state, j.run_at
         from penstock.jobs as j
        where j.id = d.id and j.claims = d.claims and j.state in ('scheduled', 'ready')
       union all
       select h.state, null
         from penstock.history as h
        where h.id = d.id and h.claims = d.claims and h.lease = p_lease and h.state = 'failed') as ended
     where starts_with(penstock.errors_of(d.id)->-1->>'error', d.error);
end
$$;
