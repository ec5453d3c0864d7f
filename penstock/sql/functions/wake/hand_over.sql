-- Hands a job that has just become ready to an idle worker, as enqueue_plain() does a new one: it runs under that worker's lease, and
-- travels in the notification. False when it is to wait to be claimed: nobody is idle, it counts against a quota, or it is too large.
-- Not for a transaction that goes on. The caller has locked the job.
create or replace function penstock.hand_over(p_job penstock.jobs)
returns boolean
language plpgsql
set enable_seqscan = off
as $$
declare
  v_now timestamptz := penstock.clock();
  v_lease bigint;
  v_notification text;
begin
  -- of large arguments the row has none
  if p_job.quota is not null or p_job.args is null
     or not exists (select from penstock.waiting_now where queue = p_job.queue and direct) then
    return false;
  end if;
  v_lease := penstock.hand_to(p_job.queue);
  if v_lease is null then
    return false;
  end if;
  -- a claimed job, by the names of its fields
  v_notification := pg_catalog.json_build_object('lease', v_lease, 'queue', p_job.queue, 'job', pg_catalog.json_build_object(
    'id', p_job.id, 'kind', p_job.kind, 'priority', p_job.priority, 'turn', 0, 'attempt', p_job.attempt + 1,
    'max_attempts', p_job.max_attempts, 'claims', p_job.claims + 1, 'snoozes', p_job.snoozes, 'owner', p_job.owner, 'org', p_job.org,
    'parent', p_job.parent, 'created_at', p_job.created_at, 'args', p_job.args::text, 'options', p_job.options::text));
  if octet_length(v_notification) > 7900 then
    return false;
  end if;
  update penstock.jobs as j
     set state = 'running', turn = penstock.next_turn(), lease = v_lease, attempt = j.attempt + 1,
         claims = j.claims + 1 + case when j.watched then penstock.tell_it_runs(j.id) else 0 end,
         started_at = v_now, counted = false
   where j.id = p_job.id;
  perform pg_notify((select hand from penstock.channels), v_notification);
  return true;
end
$$;
