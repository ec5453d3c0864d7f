-- A key is a row of its own, there before anything is started: the batch may be one that was asked for without it.
set local search_path = pg_catalog, pg_temp;
create table exports.batch_keys (
  user_id text not null default penstock.caller(),
  by_service boolean not null default false,
  key text not null,
  asked text not null,
  batch uuid constraint batch_keys_batch references exports.batches on delete cascade,
  created_at timestamptz not null default now(),
  constraint batch_keys_pkey primary key (user_id, by_service, key)
);
comment on column exports.batch_keys.by_service is 'Keys that the service uses for somebody are not theirs to take.';
comment on column exports.batch_keys.asked is 'A digest of the request, by which a key that is used again is known to be.';
comment on column exports.batch_keys.batch is 'None until its exports are started.';
create index batch_keys_batch on exports.batch_keys (batch);
create index batch_keys_created_at on exports.batch_keys (created_at);
alter table exports.batches drop column idempotency_key, drop column asked;

alter table exports.batch_keys enable row level security;
create policy users_have_their_own on exports.batch_keys
  using (user_id = (select penstock.caller()) and not by_service)
  with check (user_id = (select penstock.caller()) and not by_service);

do $$
begin
  if exists (select from pg_roles where rolname = 'authenticated') then
    grant select, delete on exports.batch_keys to authenticated;
    grant insert (key, asked) on exports.batch_keys to authenticated;
    grant update (batch) on exports.batch_keys to authenticated;
  end if;
  if exists (select from pg_roles where rolname = 'service_role') then
    grant all on exports.batch_keys to service_role;
    create policy the_service_does_everything on exports.batch_keys to service_role using (true) with check (true);
  end if;
end
$$;
