-- A user starts a job: SELECT * FROM penstock.start('export_pdf', '{"document_id": "d1"}'). Only declared kinds, on the caller's
-- own name, within their quota. Returns the job's id and whether this call created it.
create or replace function penstock.start(
  p_kind text, p_args jsonb default '{}', p_org text default null, p_idempotency_key text default null
)
returns table (id uuid, created boolean)
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_caller text := penstock.caller_or_refuse(p_org);
  v_job jsonb := penstock.job_of_user(p_kind, p_args, v_caller, p_org);
begin
  if p_idempotency_key is not null then
    v_job := v_job || jsonb_build_object(
      'idempotency_key', p_idempotency_key, 'key_of_user', true,
      'fingerprint', jsonb_build_array(p_kind, coalesce(p_args, '{}'), p_org));
  end if;
  select e.id, e.created into id, created from penstock.enqueue_jobs(jsonb_build_array(v_job)) as e;
  if created then
    perform penstock.take_quota(v_caller, k.quota, 1) from penstock.kinds as k where k.kind = p_kind and k.quota is not null;
  end if;
  return next;
end
$$;
