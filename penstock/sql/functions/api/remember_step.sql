-- Remembers the result of a durable step, so that a retry does not repeat it. False when the job is no longer the caller's.
create or replace function penstock.remember_step(p_lease bigint, p_id uuid, p_claims int, p_name text, p_output jsonb)
returns boolean
language plpgsql
set enable_seqscan = off
as $$
begin
  perform from penstock.jobs where id = p_id and claims = p_claims and lease = p_lease for share;
  if not found then
    return false;
  end if;
  insert into penstock.steps (job, name, output, done_at)
  values (p_id, p_name, p_output, penstock.clock())
      on conflict (job, name) do update set output = excluded.output, done_at = excluded.done_at;
  return true;
end
$$;
