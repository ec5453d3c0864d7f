-- A message that was given up can be archived by hand. And a part that has failed is remembered until the message has
-- been read to its end: whoever goes on with it does not wait for the same site again.
alter table bookmarks.messages add column screenshot_error text;
alter table bookmarks.messages add column archived_at timestamptz;
comment on column bookmarks.messages.screenshot_error is 'Of a reading that was broken off after the first part had failed.';
comment on column bookmarks.messages.archived_at is 'When somebody archived it by hand, after it was given up.';

create or replace view bookmarks.add_bookmark_url_queue with (security_invoker = true) as
  select m.id as msg_id, j.claims as read_ct, j.created_at as enqueued_at, coalesce(j.leased_until, j.run_at) as vt,
         j.args as message
    from penstock.live_jobs_view as j
    left join bookmarks.messages as m on m.job = j.id
   where j.queue = 'add-bookmark-url-queue'
  union all
  select m.id, h.claims, h.created_at, timestamptz '9999-12-31 00:00:00z', h.args
    from penstock.jobs_view as h
    left join bookmarks.messages as m on m.job = h.id
   where h.queue = 'add-bookmark-url-queue' and h.state = 'failed' and m.archived_at is null;

create or replace view bookmarks.add_bookmark_url_queue_archive with (security_invoker = true) as
  select m.id as msg_id, h.claims as read_ct, h.created_at as enqueued_at, coalesce(m.archived_at, h.finished_at) as archived_at,
         h.run_at as vt, h.args as message
    from bookmarks.messages as m
    join penstock.jobs_view as h on h.id = m.job
   where h.queue = 'add-bookmark-url-queue'
     and (h.state in ('succeeded', 'cancelled') or (h.state = 'failed' and m.archived_at is not null));

-- Takes a message out of the queue, whatever has become of it; false if there is no such message. For the service.
create function bookmarks.archive(p_message_id bigint)
returns boolean
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_job uuid := (select m.job from bookmarks.messages as m where m.id = p_message_id);
begin
  -- one that would be read again is not; one that is being read ends
  perform penstock.cancel(array[v_job], 'archived by hand');
  update bookmarks.messages as m
     set archived_at = coalesce(m.archived_at, clock_timestamp())
   where m.id = p_message_id
     and exists (select from penstock.jobs_view as h where h.id = v_job and h.state = 'failed');
  return v_job is not null;
end
$$;

revoke all on function bookmarks.archive from public;
do $$
begin
  if exists (select from pg_roles where rolname = 'service_role') then
    grant execute on function bookmarks.archive to service_role;
  end if;
end
$$;
