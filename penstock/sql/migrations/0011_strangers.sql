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
