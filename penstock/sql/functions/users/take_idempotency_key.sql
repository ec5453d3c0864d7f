-- Books an idempotency key for a job, or returns the job it already stands for. Unlike a unique key it outlives the
-- job: for a day unless asked otherwise. The same key with anything else asked for is a mistake of the caller.
create or replace function penstock.take_idempotency_key(
  p_owner text, p_of_user boolean, p_key text, p_job uuid, p_fingerprint bytea, p_ttl double precision
)
returns uuid
language plpgsql
as $$
declare
  v_now timestamptz := penstock.clock();
  v_taken penstock.idempotency_keys;
begin
  insert into penstock.idempotency_keys as k (owner, of_user, key, job, fingerprint, expires_at)
  values (p_owner, p_of_user, p_key, p_job, p_fingerprint, v_now + make_interval(secs => coalesce(p_ttl, 86400)))
      on conflict (owner, of_user, key) do update
     set job = excluded.job, fingerprint = excluded.fingerprint, expires_at = excluded.expires_at
   where k.expires_at <= v_now;
  if found then
    return null;
  end if;
  select * into v_taken from penstock.idempotency_keys where owner = p_owner and of_user = p_of_user and key = p_key;
  if v_taken.fingerprint <> p_fingerprint then
    raise exception 'idempotency_key: % was used for another job', p_key using errcode = 'PS005';
  end if;
  return v_taken.job;
end
$$;
