-- Books an idempotency key for a job, or returns the job it already stands for. Unlike a unique key it outlives the
-- job: for a day unless asked otherwise. The same key with another kind or other arguments is a mistake of the caller.
create or replace function penstock.take_idempotency_key(p_row penstock.jobs, p_key text, p_ttl double precision)
returns uuid
language plpgsql
as $$
declare
  v_now timestamptz := penstock.clock();
  v_fingerprint bytea := sha256(convert_to(p_row.kind || ' ' || p_row.args::text, 'utf8'));
  v_taken penstock.idempotency_keys;
begin
  insert into penstock.idempotency_keys as k (owner, key, job, fingerprint, expires_at)
  values (coalesce(p_row.owner, ''), p_key, p_row.id, v_fingerprint, v_now + make_interval(secs => coalesce(p_ttl, 86400)))
      on conflict (owner, key) do update
     set job = excluded.job, fingerprint = excluded.fingerprint, expires_at = excluded.expires_at
   where k.expires_at <= v_now;
  if found then
    return null;
  end if;
  select * into v_taken from penstock.idempotency_keys where owner = coalesce(p_row.owner, '') and key = p_key;
  if v_taken.fingerprint <> v_fingerprint then
    raise exception 'idempotency_key: % was used for another job', p_key using errcode = 'PS005';
  end if;
  return v_taken.job;
end
$$;
