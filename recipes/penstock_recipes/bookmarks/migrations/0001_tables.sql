-- Bookmarks, and the messages of the queue that enriches them. Everybody sees their own: user_id is the subject of their
-- token. Messages are for the service alone.
set local search_path = pg_catalog, pg_temp;
create schema bookmarks;

create table bookmarks.bookmarks (
  id bigint generated always as identity constraint bookmarks_pkey primary key,
  user_id text not null,
  url text not null,
  title text,
  description text,
  category_id bigint,
  screenshot uuid,
  og_image uuid,
  fav_icon uuid,
  meta_data jsonb not null default '{}',
  page jsonb,
  job_id uuid,
  idempotency_key text,
  inserted_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  constraint user_id_is_not_empty check (user_id <> ''),
  constraint url_is_a_web_address check (url ~ '^https?://[^/]' and length(url) <= 2048)
);
comment on column bookmarks.bookmarks.screenshot is 'A file of Penstock''s, as og_image and fav_icon are.';
comment on column bookmarks.bookmarks.meta_data is
  'Of the picture: width, height, blurhash, ocr, img_caption. Of the page: screenshot (width, height), is_pdf, pages. Of what was to be had and was not: og_image_error, fav_icon_error.';
comment on column bookmarks.bookmarks.page is
  'Where the page said that its picture and its icon are; null until somebody has looked.';
comment on column bookmarks.bookmarks.job_id is 'What enriches it: to be followed like any other job.';
comment on column bookmarks.bookmarks.idempotency_key is 'Of the request that added it; forgotten after a day.';
create index bookmarks_user on bookmarks.bookmarks (user_id, id desc);
create unique index bookmarks_idempotency_key on bookmarks.bookmarks (user_id, idempotency_key)
  where idempotency_key is not null;

-- A job has a UUID, a message a number; and what came of it when it was last read.
create table bookmarks.messages (
  id bigint generated always as identity constraint messages_pkey primary key,
  job uuid not null constraint messages_job unique,
  bookmark_id bigint,
  screenshot_success boolean,
  remaining_data_success boolean,
  error text,
  updated_at timestamptz not null default now()
);
comment on column bookmarks.messages.bookmark_id is 'No foreign key: a message may name a bookmark that never was.';
create index messages_bookmark on bookmarks.messages (bookmark_id) where bookmark_id is not null;

-- Files of deleted bookmarks, until they are removed too.
create table bookmarks.leftovers (
  artifact uuid constraint leftovers_pkey primary key,
  bookmark_id bigint not null
);
create index leftovers_bookmark on bookmarks.leftovers (bookmark_id);

-- The queue as its monitoring knows it. A message that was given up is still there, and will not be read again by itself.
create view bookmarks.add_bookmark_url_queue with (security_invoker = true) as
  select m.id as msg_id, j.claims as read_ct, j.created_at as enqueued_at, coalesce(j.leased_until, j.run_at) as vt,
         j.args as message
    from penstock.live_jobs_view as j
    left join bookmarks.messages as m on m.job = j.id
   where j.queue = 'add-bookmark-url-queue'
  union all
  select m.id, h.claims, h.created_at, timestamptz '9999-12-31 00:00:00z', h.args
    from penstock.jobs_view as h
    left join bookmarks.messages as m on m.job = h.id
   where h.queue = 'add-bookmark-url-queue' and h.state = 'failed';

create view bookmarks.add_bookmark_url_queue_archive with (security_invoker = true) as
  select m.id as msg_id, h.claims as read_ct, h.created_at as enqueued_at, h.finished_at as archived_at, h.run_at as vt,
         h.args as message
    from bookmarks.messages as m
    join penstock.jobs_view as h on h.id = m.job
   where h.queue = 'add-bookmark-url-queue' and h.state in ('succeeded', 'cancelled');

alter table bookmarks.bookmarks enable row level security;
alter table bookmarks.messages enable row level security;
alter table bookmarks.leftovers enable row level security;
create policy users_see_their_own on bookmarks.bookmarks for select
  using (user_id = (select penstock.caller()));
create policy users_delete_their_own on bookmarks.bookmarks for delete
  using (user_id = (select penstock.caller()));

-- Puts a message into the queue, whatever it says, and returns its number. For the service.
create function bookmarks.send(p_message jsonb, p_bookmark_id bigint default null)
returns bigint
language sql
set search_path = pg_catalog, pg_temp
as $$
  insert into bookmarks.messages (bookmark_id, job)
  values (p_bookmark_id, penstock.enqueue(
    kind => 'add_bookmark_url', args => p_message, queue => 'add-bookmark-url-queue', max_attempts => 20,
    owner => nullif(p_message->>'userId', '')))
  returning id
$$;

-- A bookmark and its message: both or neither. `created` is false when the key was used before: that bookmark stands for
-- this one. For the service.
create function bookmarks.add_for(
  p_user_id text, p_url text, p_category_id bigint default null, p_fav_icon text default null, p_key text default null
)
returns table (bookmark bookmarks.bookmarks, created boolean)
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_number bigint;
begin
  loop
    insert into bookmarks.bookmarks (user_id, url, category_id, idempotency_key)
    values (p_user_id, p_url, p_category_id, p_key)
        on conflict (user_id, idempotency_key) where idempotency_key is not null do nothing
    returning * into bookmark;
    created := found;
    if not created then
      select * into bookmark from bookmarks.bookmarks where user_id = p_user_id and idempotency_key = p_key;
    end if;
    exit when found;
  end loop;
  if created then
    v_number := bookmarks.send(
      jsonb_build_object(
        'bookmarkId', bookmark.id, 'url', bookmark.url, 'userId', bookmark.user_id, 'favIcon', p_fav_icon,
        'isImage', regexp_replace(p_url, '[?#].*', '') ~* '^https?://[^/]+/.*\.(png|jpe?g|gif|webp|avif|bmp|tiff?|ico|heic)$'),
      bookmark.id);
    update bookmarks.bookmarks as b
       set job_id = (select m.job from bookmarks.messages as m where m.id = v_number)
     where b.id = bookmark.id
    returning b.* into bookmark;
  end if;
  return next;
end
$$;

-- Users add their own, and choose nothing of the message but its address and its icon.
create function bookmarks.add(
  p_url text, p_category_id bigint default null, p_fav_icon text default null, p_key text default null
)
returns table (bookmark bookmarks.bookmarks, created boolean)
language sql security definer
set search_path = pg_catalog, pg_temp
as $$
  select a.bookmark, a.created
    from bookmarks.add_for(penstock.caller_or_refuse(), p_url, p_category_id, p_fav_icon, p_key) as a
$$;

-- Whoever deletes a bookmark, and however: its message needs no reading any more, and its files are to go.
create function bookmarks.let_go()
returns trigger
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_jobs uuid[] := array(select m.job from bookmarks.messages as m where m.bookmark_id = old.id);
begin
  perform penstock.cancel(v_jobs, 'its bookmark was deleted');
  insert into bookmarks.leftovers (artifact, bookmark_id)
  select artifact, old.id
    from (select unnest(array[old.screenshot, old.og_image, old.fav_icon]) as artifact
          union
          select a.id from penstock.artifacts_view as a where a.job = any(v_jobs)) as files
   where artifact is not null
      on conflict do nothing;
  return null;
end
$$;
create trigger bookmarks_let_go after delete on bookmarks.bookmarks
  for each row execute function bookmarks.let_go();

-- What a day has made superfluous: files that came too late for bookmarks that had been deleted, numbers of messages whose
-- jobs are gone, keys of requests. An hour later than it could: whoever reads a message wants its number once it is done.
create function bookmarks.forget()
returns void
language sql
set search_path = pg_catalog, pg_temp
as $$
  insert into bookmarks.leftovers (artifact, bookmark_id)
  select a.id, m.bookmark_id
    from bookmarks.messages as m
    join penstock.artifacts_view as a on a.job = m.job
   where m.updated_at < now() - interval '1 hour'
     and not exists (select from bookmarks.bookmarks as b where b.id = m.bookmark_id)
     and m.bookmark_id is not null
      on conflict do nothing;
  delete from bookmarks.messages as m
   where m.updated_at < now() - interval '1 hour'
     and not exists (select from penstock.jobs_view as j where j.id = m.job);
  update bookmarks.bookmarks
     set idempotency_key = null
   where idempotency_key is not null and inserted_at < now() - interval '1 day';
$$;

revoke all on all functions in schema bookmarks from public;

do $$
begin
  if exists (select from pg_roles where rolname = 'authenticated') then
    grant usage on schema bookmarks to authenticated;
    grant select (id, user_id, url, title, description, category_id, screenshot, og_image, fav_icon, meta_data,
                  job_id, inserted_at, updated_at)
       on bookmarks.bookmarks to authenticated;
    grant delete on bookmarks.bookmarks to authenticated;
    grant execute on function bookmarks.add to authenticated;
  end if;
  if exists (select from pg_roles where rolname = 'service_role') then
    grant usage on schema bookmarks to service_role;
    grant all on all tables in schema bookmarks to service_role;
    grant execute on all functions in schema bookmarks to service_role;
    create policy the_service_does_everything on bookmarks.bookmarks to service_role using (true) with check (true);
    create policy the_service_does_everything on bookmarks.messages to service_role using (true) with check (true);
    create policy the_service_does_everything on bookmarks.leftovers to service_role using (true) with check (true);
  end if;
end
$$;

-- Tried again for about three days: after a minute, two, four, and so on up to six hours. Nobody's import of ten thousand
-- bookmarks keeps all others waiting.
select penstock.set_queue('add-bookmark-url-queue',
  '{"fair_by": "owner", "backoff": {"base": 60, "cap": 21600, "factor": 2, "jitter": 0.2, "shape": "exponential"}}');
