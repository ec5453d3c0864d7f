-- One round of everything periodic, for a worker's maintenance loop or one line of pg_cron:
--   select cron.schedule('penstock', '10 seconds', 'select penstock.maintain()');
-- Any number of callers may run it: whoever comes while another is at it returns null at once.
create or replace function penstock.maintain()
returns jsonb
language plpgsql
as $$
declare
  v_now timestamptz := penstock.clock();
  v_report jsonb;
begin
  if not penstock.try_lock('maintain') then
    if exists (select from penstock.locks where name = 'maintain') then
      return null;
    end if;
    perform penstock.add_locks(); -- a crash has emptied the table
  end if;
  v_report := jsonb_build_object(
    'promoted', penstock.promote(10000, p_everywhere => true),
    'reclaimed', penstock.reclaim(p_everywhere => true),
    'floors_lowered', penstock.lower_floors(),
    'usage_folded', penstock.fold_usage(),
    'events_forgotten', penstock.forget_events(),
    'reports_folded', penstock.fold_statistics());
  -- nobody has asked for a day
  delete from penstock.lost_jobs where at < v_now - interval '1 day';
  v_report := v_report || jsonb_build_object('lost', (select count(*) from penstock.lost_jobs));
  perform penstock.note_depths();
  -- for where nobody leads; whoever does goes on with it all the time
  perform penstock.continue_operation();
  delete from penstock.operations where finished_at < v_now - (select audit_kept from penstock.settings);
  delete from penstock.audit where at < v_now - (select audit_kept from penstock.settings);
  -- what somebody's open transaction has touched is left for the next round: waiting for it would hold up everything
  delete from penstock.idempotency_keys as k
   using (select owner, of_user, key
            from penstock.idempotency_keys
           where expires_at < v_now
             for update skip locked) as old
   where old.owner = k.owner and old.of_user = k.of_user and old.key = k.key;
  delete from penstock.quota_use where day < (v_now at time zone 'utc')::date - 1;
  delete from penstock.waiting as w where not exists (select from penstock.leases as l where l.id = w.lease);
  delete from penstock.starts as s
   where not exists (select from penstock.queues as q
                      where q.name = s.queue and s.bucket > v_now - 2 * q.rate_period);
  -- a key behind its queue's clock starts from the clock anyway
  delete from penstock.turns as t
   using (select behind.queue, behind.key
            from penstock.turns as behind
            join penstock.turns as served on served.queue = behind.queue and served.key = ''
           where behind.key <> '' and behind.turn < served.turn
             for update of behind skip locked) as old
   where old.queue = t.queue and old.key = t.key;
  -- last: whoever reads history waits from there on until all of this is committed
  return v_report || jsonb_build_object(
    'partitions_dropped', penstock.drop_old_history(),
    'partitions_added', penstock.add_partitions());
end
$$;
