-- A key stands for all that was asked for; a user's and the service's have nothing to do with each other, or a user could
-- take the one that the back end will use on their behalf.
alter table bookmarks.bookmarks add column asked jsonb;
comment on column bookmarks.bookmarks.asked is 'What the key stands for: url, category_id and fav_icon; null of one that is older than this column.';
-- whose key it was is not known of those that are there: most are users'
update bookmarks.bookmarks set idempotency_key = 'user ' || idempotency_key where idempotency_key is not null;

-- A bookmark and its message: both or neither. `created` is false when the key was used before: that bookmark stands for
-- this one.
create function bookmarks.add_once(p_user_id text, p_url text, p_category_id bigint, p_fav_icon text, p_key text)
returns table (bookmark bookmarks.bookmarks, created boolean)
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_number bigint;
begin
  loop
    insert into bookmarks.bookmarks (user_id, url, category_id, idempotency_key, asked)
    values (p_user_id, p_url, p_category_id, p_key,
            case when p_key is not null then jsonb_build_array(p_url, p_category_id, p_fav_icon) end)
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

-- For the service.
create or replace function bookmarks.add_for(
  p_user_id text, p_url text, p_category_id bigint default null, p_fav_icon text default null, p_key text default null
)
returns table (bookmark bookmarks.bookmarks, created boolean)
language sql
set search_path = pg_catalog, pg_temp
as $$
  select a.bookmark, a.created
    from bookmarks.add_once(p_user_id, p_url, p_category_id, p_fav_icon, 'service ' || p_key) as a
$$;

create or replace function bookmarks.add(
  p_url text, p_category_id bigint default null, p_fav_icon text default null, p_key text default null
)
returns table (bookmark bookmarks.bookmarks, created boolean)
language sql security definer
set search_path = pg_catalog, pg_temp
as $$
  select a.bookmark, a.created
    from bookmarks.add_once(penstock.caller_or_refuse(), p_url, p_category_id, p_fav_icon, 'user ' || p_key) as a
$$;

revoke all on function bookmarks.add_once from public;
do $$
begin
  if exists (select from pg_roles where rolname = 'service_role') then
    grant execute on function bookmarks.add_once to service_role;
  end if;
end
$$;
