-- Remembers the result of a durable step, so that a retry does not repeat it. False when the job is no longer the caller's.
create or replace function penstock.remember_step(
  p_lease bigint, p_id uuid, p_claims int, p_name text, p_output jsonb,
  p_kind text default 'step', p_number int default null, p_version int default null
)
returns boolean
language plpgsql
set enable_seqscan = off
as $$
begin
  if pg_column_size(p_output) > 1048576 then
    raise exception 'step %: its result is over 1 MiB; put the bytes into an artifact and return its path', p_name
      using errcode = 'PS003';
  -- those that ran beside each other have no number, and are counted
  elsif p_number > 10000
        or p_number is null and (select count(*) from (select from penstock.steps where job = p_id limit 10000) as s) = 10000 then
    raise exception 'step %: is the %th of its job; call jobs instead of so many steps', p_name, coalesce(p_number, 10001)
      using errcode = 'PS001';
  end if;
  perform from penstock.jobs where id = p_id and claims = p_claims and lease = p_lease for share;
  if not found then
    return false;
  end if;
  insert into penstock.steps (job, name, kind, number, version, output, done_at)
  values (p_id, p_name, p_kind, p_number, p_version, p_output, penstock.clock())
      on conflict (job, name) do update set output = excluded.output, done_at = excluded.done_at;
  return true;
end
$$;
