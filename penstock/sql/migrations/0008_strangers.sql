-- Against strangers: logins of the same database without a grant, who may do what Postgres lets everybody do.

-- Anybody may NOTIFY and LISTEN to a channel whose name they know, so the names hold a secret of this schema.
create table penstock.channels (
  only_row boolean not null default true constraint channels_pkey primary key,
  secret uuid not null default gen_random_uuid(),
  wake text not null generated always as ('penstock.' || secret::text || '.wake') stored,
  hand text not null generated always as ('penstock.' || secret::text || '.hand') stored,
  cancel text not null generated always as ('penstock.' || secret::text || '.cancel') stored,
  job text not null generated always as ('penstock.' || secret::text || '.job') stored,
  constraint there_is_one_secret check (only_row)
);
insert into penstock.channels default values;

-- Anybody may take any advisory lock, and see in pg_locks which are held; locks on rows are for those who may write them.
-- Unlogged: a transaction that has locked, and written nothing, need not wait for the disk. maintain() puts back
-- what a crash takes away.
create unlogged table penstock.locks (
  name text constraint locks_pkey primary key
);

-- Tenants never meet in a unique key, whatever its text says.
drop index penstock.jobs_unique;
create unique index jobs_unique on penstock.jobs (kind, unique_key, coalesce(owner, ''), coalesce(org, ''))
  where unique_key is not null;

-- A user's own keys, and those of whoever starts jobs on their behalf, have nothing to do with each other.
alter table penstock.idempotency_keys
  add column of_user boolean not null default false,
  drop constraint idempotency_keys_pkey,
  add constraint idempotency_keys_pkey primary key (owner, of_user, key);
drop function if exists penstock.take_idempotency_key(penstock.jobs, text, double precision);
drop function if exists penstock.enqueue_one(penstock.jobs, jsonb);
drop function if exists penstock.start_for(text, text, jsonb);

-- What else the application had handlers of that opened the kind: by that it is known again when it has dropped this one.
alter table penstock.kinds add column declared_with text[] not null default '{}';
