-- An attempt at a task has failed: with attempts left it is pending again, at once unless it or its queue has a backoff of its own.
-- False when it is no longer this worker's.
create or replace function public.fail_task(p_task_id uuid, p_worker_id text, p_error text default null)
returns boolean
language plpgsql
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
declare
  v_claim record;
  -- an exception's text, as far as anybody knows: with a traceback it is not shown to users
  v_error jsonb := jsonb_build_object('error', coalesce(nullif(p_error, ''), 'it failed'), 'traceback', '');
begin
  select * into v_claim from penstock.task_claim(p_task_id, p_worker_id);
  if not found then
    return false;
  end if;
  if not exists (
       select from penstock.jobs as j
         left join penstock.queues as q on q.name = j.queue
        where j.id = p_task_id and (j.options ? 'backoff' or q.backoff is not null)) then
    v_error := v_error || '{"retry_in": 0}';
  end if;
  perform from penstock.fail(v_claim.lease, array[p_task_id], array[v_claim.claims], jsonb_build_array(v_error));
  if not found then
    return false;
  end if;
  delete from penstock.leases where id = v_claim.lease;
  return true;
end
$$;
