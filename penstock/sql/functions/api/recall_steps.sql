-- The steps that earlier attempts of a job finished, for its holder. Raises PS004 for anybody else.
create or replace function penstock.recall_steps(p_lease bigint, p_id uuid, p_claims int)
returns table (name text, output jsonb)
language plpgsql stable
as $$
#variable_conflict use_column
begin
  perform penstock.refuse_others(p_lease, p_id, p_claims);
  return query select name, output from penstock.steps where job = p_id order by done_at, name;
end
$$;
