-- How the engine keeps its tables.
create table penstock.settings (
  only_row boolean not null default true constraint settings_pkey primary key,
  history_kept interval not null default '30 days',
  partition_length interval not null default '1 day',
  partitions_ahead int not null default 3,
  constraint there_is_one_row check (only_row),
  constraint history_kept_is_positive check (history_kept > interval '0'),
  constraint partition_length_is_whole_days check (
    partition_length >= interval '1 day' and extract(epoch from partition_length)::bigint % 86400 = 0)
);
insert into penstock.settings default values;

-- Migrations of applications that keep tables of their own in this database.
create table penstock.application_migrations (
  application text not null,
  number int not null,
  name text not null,
  applied_at timestamptz not null default now(),
  constraint application_migrations_pkey primary key (application, number)
);
